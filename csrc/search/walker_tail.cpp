// Counting trailing levels in closed form: see search/tail.hpp.
#include <algorithm>

#include "search/walker.hpp"

namespace motiflux::search {

bool Walker::count_tail() {
  if (native_plan_.tail.nested() || native_plan_.tail.blocks[0].kept) return count_nested_tail();
  Total embeddings = 1;
  bool overflow = false;
  for (const TailComponent& component : native_plan_.tail.blocks[0].components) {
    const std::optional<Total> ways = count_component(component);
    if (ways == Total{0}) {
      failing_ = 0;
      for (int level : component.levels) failing_ |= jumps() ? why_uncounted(level) : 0;
      return spend(1);
    }
    overflow = overflow || !ways || __builtin_mul_overflow(embeddings, *ways, &embeddings);
  }
  if (overflow) return count_nested_tail();
  found(embeddings);
  return spend(native_plan_.tail.blocks[0].components.size());
}

bool Walker::count_nested_tail() {
  if (!nested_tail_) nested_tail_ = std::make_unique<NestedTailCounter>(*this);
  try {
    failing_ = nested_tail_->count() ? kAllLevels : tail_reads_;
  } catch (const Stopped&) {
    return false;  // left_off_ has the share of the tail done
  }
  return spend(1);
}

std::optional<Total> Walker::count_component(const TailComponent& component) {
  if (component.levels.size() == 1) return count_level(component.levels[0]);
  if (component.levels.size() == 2 && component.set_of[1] != 0)
    return count_pairs(component.levels[0], component.levels[1]);
  if (component.sets() == 1)
    return falling_factorial(count_level(component.levels[0]), component.levels.size(), component.chains);
  fill_common(component);
  std::optional<Total> ways = distinct_choices(component, common_);
  if (ways) divide_by_orders(*ways, component.chains);
  return ways;
}

// The number of ways to take two different vertices for two levels whose sets differ.
Total Walker::count_pairs(int a, int b) {
  const Span first = vertices_of(a, shared_[1]);
  if (first.size() == 0) return 0;
  const Span second = vertices_of(b, shared_[2]);
  if (second.size() == 0) return 0;
  charge(first, second);
  const std::uint32_t apart = matched_of(a), others = matched_of(b);
  const Total pairs = Total{first.size() - count_matched(apart, first, first)} *
                      (second.size() - count_matched(others, second, second));
  const std::size_t common = sets::count_common(first, second, native_plan_.sets);
  return pairs - (common - count_matched(apart | others, first, second));
}

// Fills common_ for each subset of the sets of `component`, without the vertices that its levels must differ
// from.
void Walker::fill_common(const TailComponent& component) {
  std::array<std::uint32_t, 1 << kMostTailSets> apart;
  std::array<Span, 1 << kMostTailSets> of;
  std::uint32_t end = 1;  // subsets of the sets so far
  for (std::size_t at = 0; at < component.levels.size(); ++at) {
    if (std::uint32_t{1} << component.set_of[at] != end) continue;  // not the first level of its set
    const int level = component.levels[at];
    of[end] = vertices_of(level, shared_[end]);
    apart[end] = matched_of(level);
    common_[end] = of[end].size() - count_matched(apart[end], of[end], of[end]);
    end *= 2;
  }
  for (std::uint32_t mask = 1; mask < end; ++mask) {
    const std::uint32_t lowest = mask & -mask, others = mask ^ lowest;
    if (others == 0) continue;
    apart[mask] = apart[lowest] | apart[others];
    charge(of[lowest], of[others]);
    std::size_t size;
    if (lowest == 1) {  // no larger subset is made from this one
      size = sets::count_common(of[lowest], of[others], native_plan_.sets);
    } else {
      std::vector<Vertex>& vertices = shared_[mask];
      const std::size_t most = std::min(of[lowest].size(), of[others].size());
      if (vertices.size() < most) vertices.resize(most);
      size = sets::intersect(of[lowest], of[others], vertices.data(), native_plan_.sets);
      of[mask] = {vertices.data(), vertices.data() + size};
    }
    common_[mask] = size - count_matched(apart[mask], of[lowest], of[others]);
  }
}

// The data vertices that `level` may take, copied into `buffer` if its values are positions.
Walker::Span Walker::vertices_of(int level, std::vector<Vertex>& buffer) {
  const Span values = clipped(level);
  if (native_plan_.members.empty()) return values;
  const Vertex* members = native_plan_.members[static_cast<std::size_t>(level)];
  if (buffer.size() < values.size()) buffer.resize(values.size());
  std::transform(values.first, values.last, buffer.begin(), [&](Vertex value) { return members[value]; });
  return {buffer.data(), buffer.data() + values.size()};
}

// The number of `levels` whose vertex is in both sets of data vertices.
std::uint64_t Walker::count_matched(std::uint32_t levels, Span a, Span b) const {
  std::uint64_t found = 0;
  for_each_bit(levels, [&](std::uint32_t l) {
    const Vertex vertex = compare_.vertex(l, value_[l]);
    const bool same = a.first == b.first && a.last == b.last;
    found += sets::contains(a, vertex) && (same || sets::contains(b, vertex)) && is_first(levels, l);
  });
  return found;
}

}  // namespace motiflux::search
