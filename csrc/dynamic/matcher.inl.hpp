#pragma once

#include <algorithm>
#include <bit>

#include "dynamic/matcher.hpp"
#include "motiflux/bits.hpp"

namespace motiflux::dynamic {

template <class View>
Total Matcher<View>::count(const Plan& plan, const View& view, const Edge& edge, Vertex first,
                           Vertex second) {
  if (!begin(plan, view, edge, first, second)) return 0;
  return multiplied(plan.levels() == 2 ? 1 : count_from(2));
}

template <class View>
Total Matcher<View>::count_part(std::size_t first, std::size_t last) {
  const sets::Span all = clipped(2);
  return multiplied(count_over(2, {all.first + first, all.first + last}));
}

template <class View>
Total Matcher<View>::multiplied(Total found) const {
  if (__builtin_mul_overflow(found, Total{plan_->multiplier}, &found))
    throw std::overflow_error("the count exceeds 2^128 - 1");
  return found;
}

template <class View>
template <class Emit>
void Matcher<View>::list(const Plan& plan, const View& view, const Edge& edge, Vertex first, Vertex second,
                         Emit&& emit) {
  if (begin(plan, view, edge, first, second)) list_from(2, emit);
}

template <class View>
bool Matcher<View>::begin(const Plan& plan, const View& view, const Edge& edge, Vertex first, Vertex second) {
  plan_ = &plan;
  view_ = &view;
  edge_ = edge;
  spend(1);
  if (!view.serves(first, plan.needs[0]) || !view.serves(second, plan.needs[1])) return false;
  made_.fill(0);
  assign(0, first);
  assign(1, second);
  return has_label_and_place(0) && has_label_and_place(1) && changes();
}

// Whether the two vertices satisfy all query edges between them only with the changed edge.
template <class View>
bool Matcher<View>::changes() const {
  if (plan_->pair.size() == 1 && view_->one_witness(plan_->pair[0].relation)) return true;
  bool without = true;
  for (const PairEdge& asked : plan_->pair) {
    if (!view_->witnessed(value_[0], value_[1], asked.way, asked.relation, nullptr)) return false;
    without = without && view_->witnessed(value_[0], value_[1], asked.way, asked.relation, &edge_);
  }
  return !without;
}

template <class View>
bool Matcher<View>::has_label_and_place(int level) const {
  const Step& step = plan_->steps[static_cast<std::size_t>(level)];
  const Vertex vertex = value_[static_cast<std::size_t>(level)];
  if (step.allowed != kNone) {
    const auto& list = allowed_[static_cast<std::size_t>(step.allowed)];
    if (!std::binary_search(list.begin(), list.end(), vertex)) return false;
  }
  return true;
}

// The intersection of the sources of a level.
template <class View>
sets::Span Matcher<View>::whole_set(int level) {
  const auto at = static_cast<std::size_t>(level);
  const std::uint64_t stamp = stamp_[static_cast<std::size_t>(plan_->steps[at].anchor)];
  if (made_[at] != stamp) {
    set_[at] = made_set(level);
    made_[at] = stamp;
  }
  return set_[at];
}

template <class View>
sets::Span Matcher<View>::made_set(int level) {
  const auto at = static_cast<std::size_t>(level);
  const Step& step = plan_->steps[at];
  const sets::Span reused = step.reuse == kNone ? sets::Span{} : whole_set(step.reuse);
  spans_.clear();
  if (step.reuse != kNone) spans_.push_back(reused);
  if (rows_.size() < step.sources.size()) rows_.resize(step.sources.size());
  bool hidden = false;
  for (std::size_t source = 0; source < step.sources.size(); ++source) {
    const Source& from = step.sources[source];
    hidden |= from.before_change;
    const sets::Span row =
        view_->neighbors(value_[static_cast<std::size_t>(from.level)], from.way, from.target, rows_[source]);
    if (row.size() == 0) {
      holes_[at].clear();
      return {};
    }
    spans_.push_back(row);
  }
  if (step.allowed != kNone) {
    const auto& list = allowed_[static_cast<std::size_t>(step.allowed)];
    spans_.push_back({list.data(), list.data() + list.size()});
  }
  std::sort(spans_.begin(), spans_.end(), [](sets::Span a, sets::Span b) { return a.size() < b.size(); });
  sets::Span set = spans_[0];
  auto& buffer = buffers_[at];
  for (std::size_t span = 1; span < spans_.size() && set.size() > 0; ++span) {
    spend(1 + set.size());
    if (buffer.size() < set.size()) buffer.resize(std::max(set.size(), 2 * buffer.size()));
    const std::size_t size = sets::intersect(set, spans_[span], buffer.data(), policy_);
    set = {buffer.data(), buffer.data() + size};
  }
  // A row in scratch memory would be overwritten by the row of another level.
  if (spans_.size() == 1 && !step.sources.empty() && set.first == rows_[0].data()) set = copied(set, level);
  if constexpr (View::kHoles) find_holes(level, set);
  return hidden ? without_change(set, level) : set;
}

// Rows may have neighbours absent at this moment: the holes of the set.
template <class View>
void Matcher<View>::find_holes(int level, sets::Span set) {
  const Step& step = plan_->steps[static_cast<std::size_t>(level)];
  auto& holes = holes_[static_cast<std::size_t>(level)];
  holes.clear();
  const auto merge = [&](std::size_t before) {
    if (before == 0 || before == holes.size()) return;
    std::inplace_merge(holes.begin(), holes.begin() + static_cast<std::ptrdiff_t>(before), holes.end());
    holes.erase(std::unique(holes.begin(), holes.end()), holes.end());
  };
  if (set.size() == 0) return;
  for (const Source& from : step.sources) {
    const std::size_t before = holes.size();
    view_->add_holes(value_[static_cast<std::size_t>(from.level)], from.way, from.target, set, holes);
    merge(before);
  }
  if (step.reuse == kNone) return;
  const std::size_t before = holes.size();
  for (Vertex vertex : holes_[static_cast<std::size_t>(step.reuse)])
    if (sets::contains(set, vertex)) holes.push_back(vertex);
  merge(before);
}

template <class View>
sets::Span Matcher<View>::copied(sets::Span set, int level) {
  auto& buffer = buffers_[static_cast<std::size_t>(level)];
  if (set.first != buffer.data()) buffer.assign(set.begin(), set.end());
  return {buffer.data(), buffer.data() + set.size()};
}

// Removes the ends of the changed edge where a query edge that must not see it has no other witness.
template <class View>
sets::Span Matcher<View>::without_change(sets::Span set, int level) {
  for (const Source& from : plan_->steps[static_cast<std::size_t>(level)].sources) {
    const Vertex vertex = value_[static_cast<std::size_t>(from.level)];
    if (!from.before_change || (vertex != edge_.source && vertex != edge_.target)) continue;
    const Vertex other = vertex == edge_.source ? edge_.target : edge_.source;
    if (!sets::contains(set, other) || is_hole(level, other) ||
        view_->witnessed(vertex, other, from.way, from.relation, &edge_))
      continue;
    set = copied(set, level);
    auto& buffer = buffers_[static_cast<std::size_t>(level)];
    const auto end = buffer.begin() + static_cast<std::ptrdiff_t>(set.size());
    std::move(std::lower_bound(buffer.begin(), end, other) + 1, end,
              std::lower_bound(buffer.begin(), end, other));
    --set.last;
  }
  return set;
}

template <class View>
sets::Span Matcher<View>::clipped(int level) {
  const Step& step = plan_->steps[static_cast<std::size_t>(level)];
  std::uint64_t first = 0, end = std::uint64_t{UINT32_MAX} + 1;
  for_each_bit(step.after,
               [&](std::uint32_t other) { first = std::max(first, std::uint64_t{value_[other]} + 1); });
  for_each_bit(step.before, [&](std::uint32_t other) { end = std::min<std::uint64_t>(end, value_[other]); });
  const sets::Span set = whole_set(level);
  return first < end ? sets::clip(set, first, end) : sets::Span{set.first, set.first};
}

// The number of holes of a level in a part of its set.
template <class View>
std::size_t Matcher<View>::holes_within(int level, sets::Span part) const {
  const auto& holes = holes_[static_cast<std::size_t>(level)];
  if (holes.empty() || part.size() == 0) return 0;
  const sets::Span all{holes.data(), holes.data() + holes.size()};
  return sets::clip(all, *part.first, std::uint64_t{part.last[-1]} + 1).size();
}

template <class View>
bool Matcher<View>::excluded(int level, Vertex vertex) const {
  bool found = false;
  for_each_bit(plan_->steps[static_cast<std::size_t>(level)].distinct,
               [&](std::uint32_t other) { found |= value_[other] == vertex; });
  return found;
}

// The number of vertices that a level may take, with the levels `distinct` matched.
template <class View>
std::uint64_t Matcher<View>::count_level(int level, std::uint32_t distinct) {
  const sets::Span set = clipped(level);
  std::uint64_t size = set.size();
  if constexpr (View::kHoles) size -= holes_within(level, set);
  std::uint32_t counted = 0;
  for_each_bit(plan_->steps[static_cast<std::size_t>(level)].distinct & distinct, [&](std::uint32_t other) {
    bool repeated = false;  // two levels that need not differ may have the same vertex
    for_each_bit(counted, [&](std::uint32_t seen) { repeated |= value_[seen] == value_[other]; });
    if (!repeated && sets::contains(set, value_[other]) && !is_hole(level, value_[other])) --size;
    counted |= std::uint32_t{1} << other;
  });
  return size;
}

template <class View>
void Matcher<View>::fill(int level, std::uint32_t distinct, std::vector<Vertex>& list) {
  const sets::Span set = clipped(level);
  spend(1 + set.size() / 4);
  list.assign(set.begin(), set.end());
  if constexpr (View::kHoles)
    if (!holes_[static_cast<std::size_t>(level)].empty())
      std::erase_if(list, [&](Vertex vertex) { return is_hole(level, vertex); });
  for_each_bit(plan_->steps[static_cast<std::size_t>(level)].distinct & distinct, [&](std::uint32_t other) {
    const auto at = std::lower_bound(list.begin(), list.end(), value_[other]);
    if (at != list.end() && *at == value_[other]) list.erase(at);
  });
}

template <class View>
Total Matcher<View>::count_from(int level) {
  if (level == plan_->tail.start) return count_tail();
  if (level + 1 == plan_->levels()) return count_level(level, ~std::uint32_t{0});
  return count_over(level, clipped(level));
}

template <class View>
Total Matcher<View>::count_over(int level, sets::Span candidates) {
  const Needs needs = plan_->needs[static_cast<std::size_t>(level)];
  spend(1 + candidates.size());
  Total total = 0;
  for (Vertex vertex : candidates) {
    if (!view_->serves(vertex, needs) || is_hole(level, vertex) || excluded(level, vertex)) continue;
    assign(level, vertex);
    add_checked(total, count_from(level + 1));
  }
  return total;
}

template <class View>
Total Matcher<View>::count_tail() {
  Total product = 1;
  for (const search::TailComponent& component : plan_->tail.blocks[0].components) {
    const Total ways = count_component(component);
    if (ways == 0) return 0;
    if (__builtin_mul_overflow(product, ways, &product))
      throw std::overflow_error("the count exceeds 2^128 - 1");
  }
  return product;
}

template <class View>
Total Matcher<View>::count_component(const search::TailComponent& component) {
  const std::uint32_t matched = bits_below(static_cast<std::uint32_t>(plan_->tail.start));
  const auto sets = static_cast<std::size_t>(component.sets());
  if (sets == 1) {
    const auto ways = search::falling_factorial(count_level(component.levels[0], matched),
                                                component.levels.size(), component.chains);
    if (!ways) throw std::overflow_error("the count exceeds 2^123");
    return *ways;
  }
  for (std::size_t set = 0; set < sets; ++set) {
    const auto first = std::find(component.set_of.begin(), component.set_of.end(), static_cast<int>(set));
    fill(component.levels[static_cast<std::size_t>(first - component.set_of.begin())], matched,
         tail_sets_[set]);
    if (tail_sets_[set].empty()) return 0;
  }
  std::array<std::uint64_t, std::size_t{1} << search::kMostTailSets> common{};
  for (std::size_t mask = 1; mask < std::size_t{1} << sets; ++mask) {
    const auto top = static_cast<std::size_t>(std::bit_width(mask) - 1);
    const std::size_t rest = mask ^ (std::size_t{1} << top);
    auto& intersection = intersections_[mask];
    if (rest == 0) {
      intersection = tail_sets_[top];
    } else {
      const auto& other = intersections_[rest];
      intersection.resize(std::min(other.size(), tail_sets_[top].size()));
      spend(intersection.size());
      intersection.resize(
          sets::intersect({other.data(), other.data() + other.size()},
                          {tail_sets_[top].data(), tail_sets_[top].data() + tail_sets_[top].size()},
                          intersection.data(), policy_));
    }
    common[mask] = intersection.size();
  }
  auto ways = search::distinct_choices(component, common);
  if (!ways) throw std::overflow_error("the count exceeds 2^126");
  search::divide_by_orders(*ways, component.chains);
  return *ways;
}

template <class View>
void Matcher<View>::make_canonical() {
  for (const Orbit& orbit : plan_->orbits) {
    const auto least = std::min_element(
        orbit.images.begin(), orbit.images.end(),
        [&](const Orbit::Image& a, const Orbit::Image& b) { return row_[a.vertex] < row_[b.vertex]; });
    if (least->vertex == orbit.point) continue;
    moved_.resize(row_.size());
    for (std::size_t query = 0; query < row_.size(); ++query) moved_[query] = row_[least->moves[query]];
    row_.swap(moved_);
  }
}

template <class View>
template <class Emit>
void Matcher<View>::list_from(int level, Emit& emit) {
  if (level == plan_->levels()) {
    for (const auto& image : plan_->images) {
      row_.resize(image.size());
      for (std::size_t query = 0; query < image.size(); ++query) row_[query] = value_[image[query]];
      make_canonical();
      emit(std::span<const Vertex>(row_));
    }
    spend(plan_->images.size());
    return;
  }
  list_over(level, clipped(level), emit);
}

template <class View>
template <class Emit>
void Matcher<View>::list_over(int level, sets::Span candidates, Emit& emit) {
  const Needs needs = plan_->needs[static_cast<std::size_t>(level)];
  spend(1 + candidates.size());
  for (Vertex vertex : candidates) {
    if (!view_->serves(vertex, needs) || is_hole(level, vertex) || excluded(level, vertex)) continue;
    assign(level, vertex);
    list_from(level + 1, emit);
  }
}

}  // namespace motiflux::dynamic
