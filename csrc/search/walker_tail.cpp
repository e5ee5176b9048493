// Counting trailing levels in closed form: see search/tail.hpp.
#include <algorithm>

#include "search/walker.hpp"

namespace motiflux::search {

bool Walker::count_tail() {
  if (problem_.tail.nested() || problem_.tail.blocks[0].kept) return count_parts();
  Total embeddings = 1;
  bool beyond = false;
  for (const TailComponent& component : problem_.tail.blocks[0].components) {
    const std::optional<Total> ways = count_component(component);
    if (ways == Total{0}) {
      failing_ = 0;
      for (int level : component.levels) failing_ |= jumps() ? why_uncounted(level) : 0;
      return spend(1);
    }
    beyond = beyond || !ways || __builtin_mul_overflow(embeddings, *ways, &embeddings);
  }
  if (beyond) return count_parts();
  found(embeddings);
  return spend(problem_.tail.blocks[0].components.size());
}

bool Walker::count_parts() {
  if (!parts_) parts_ = std::make_unique<PartCounter>(*this);
  failing_ = tail_reads_;
  try {
    try {
      if (const Total ways = parts_->whole<Total>()) found(ways);
    } catch (const Beyond&) {
      failing_ = kAllLevels;
      visitor_.count_wide(parts_->whole<Wide>());
    }
  } catch (const Stopped&) {
    return false;  // progress_ says how much of the tail was done
  }
  return spend(1);
}

std::optional<Total> Walker::count_component(const TailComponent& component) {
  if (component.levels.size() == 1) return count_level(component.levels[0]);
  if (component.sets() == 1)
    return falling_factorial(count_level(component.levels[0]), component.levels.size(), component.chains);
  fill_common(component);
  std::optional<Total> ways = distinct_choices(component, common_);
  if (ways) divide_by_orders(*ways, component.chains);
  return ways;
}

// Fills common_ for each subset of the sets of `component`, less the vertices that its levels must differ
// from.
void Walker::fill_common(const TailComponent& component) {
  const auto sets = static_cast<std::uint32_t>(component.sets());
  std::array<std::uint32_t, 1 << kMostTailSets> apart{};
  for (std::uint32_t set = 0; set < sets; ++set) {
    const auto first = std::find(component.set_of.begin(), component.set_of.end(), static_cast<int>(set));
    const int level = component.levels[static_cast<std::size_t>(first - component.set_of.begin())];
    std::vector<Vertex>& vertices = shared_[std::size_t{1} << set];
    vertices.clear();
    for (Vertex value : clipped(level))
      vertices.push_back(compare_.vertex(static_cast<std::size_t>(level), value));
    apart[std::size_t{1} << set] = matched_of(level);
  }
  for (std::uint32_t mask = 1; mask < std::uint32_t{1} << sets; ++mask) {
    std::vector<Vertex>& vertices = shared_[mask];
    const std::uint32_t lowest = mask & -mask;
    if (mask != lowest) {
      apart[mask] = apart[lowest] | apart[mask ^ lowest];
      const std::vector<Vertex>&a = shared_[lowest], &b = shared_[mask ^ lowest];
      vertices.resize(std::min(a.size(), b.size()));
      const Span left{a.data(), a.data() + a.size()}, right{b.data(), b.data() + b.size()};
      charge(left, right);
      vertices.resize(sets::intersect(left, right, vertices.data(), problem_.sets));
    }
    common_[mask] = vertices.size();
    for_each_bit(apart[mask], [&](std::uint32_t l) {
      common_[mask] -= std::binary_search(vertices.begin(), vertices.end(), compare_.vertex(l, value_[l])) &&
                       is_first(apart[mask], l);
    });
  }
}

}  // namespace motiflux::search
