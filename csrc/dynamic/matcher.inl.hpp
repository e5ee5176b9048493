#pragma once

#include <algorithm>
#include <bit>

#include "dynamic/matcher.hpp"
#include "dynamic/write_rows.hpp"
#include "motiflux/bits.hpp"

namespace motiflux::dynamic {

template <class View>
Total Matcher<View>::count(const Plan& plan, const View& view, const Edge& edge, Vertex first,
                           Vertex second) {
  if (!begin(plan, view, edge, first, second)) return 0;
  if (memory_ != nullptr) memory_->make_room();
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
template <class Wrote>
void Matcher<View>::list(const Plan& plan, const View& view, const Edge& edge, Vertex first, Vertex second,
                         Column<Vertex>& rows, Wrote&& wrote) {
  if (!begin(plan, view, edge, first, second)) return;
  if (memory_ != nullptr) memory_->make_room();
  if (plan.levels() == 2)
    write({&second, &second + 1}, rows, wrote);
  else
    list_from(2, rows, wrote);
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
  search_ = clock_;
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
  if (memory_ != nullptr)
    if (const std::uint32_t number = plan_->remembered[at].row; number != Remembered::kNot) {
      const sets::Span row = filtered_row(level, number);
      if constexpr (View::kHoles) find_holes(level, row);
      return row;
    }
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
  for (std::size_t span = 1; span < spans_.size(); ++span)  // few: shortest first
    for (std::size_t at = span; at > 0 && spans_[at].size() < spans_[at - 1].size(); --at)
      std::swap(spans_[at], spans_[at - 1]);
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

// The neighbours of the only source that serve, if they are remembered; else all of them.
template <class View>
sets::Span Matcher<View>::filtered_row(int level, std::uint32_t number) {
  const auto at = static_cast<std::size_t>(level);
  const Source& from = plan_->steps[at].sources[0];
  const Vertex vertex = value_[static_cast<std::size_t>(from.level)];
  const Needs needs = plan_->needs[at];
  const Memory::FilteredRow& known = memory_->row(number, vertex);
  if (known.view == number && known.vertex == vertex && known.time <= view_->now() &&
      known.time >= view_->changed(vertex, from.way, from.target, buffers_[at]) &&
      known.time >= view_->gained(Way::kOut, needs.out) && known.time >= view_->gained(Way::kIn, needs.in))
    return memory_->span(known);
  const sets::Span row = view_->neighbors(vertex, from.way, from.target, buffers_[at]);
  Vertex* room = row.size() < kWorthFiltering ? nullptr : memory_->room(row.size());
  if (room == nullptr) return row;
  spend(row.size());
  std::size_t size = 0;
  for (Vertex neighbor : row) {
    room[size] = neighbor;
    size += view_->serves(neighbor, needs);
  }
  Memory::FilteredRow& made = memory_->new_row(number, vertex);
  made = {view_->now(), number, vertex};
  memory_->keep(made, size);
  return memory_->span(made);
}

// The number of ways to take this level, its leaves and the components that do not depend on it.
template <class View>
Total Matcher<View>::count_leaves(int level) {
  const Remembered& remembered = plan_->remembered[static_cast<std::size_t>(level)];
  Total product = 1;
  const auto multiply = [&](Total factor) {
    if (__builtin_mul_overflow(product, factor, &product))
      throw std::overflow_error("the count exceeds 2^128 - 1");
  };
  for (std::size_t component : remembered.components) {
    multiply(count_component(plan_->tail.blocks[0].components[component]));
    if (product == 0) return 0;
  }
  if (!View::kHoles && remembered.sum != Remembered::kNot) {
    multiply(leaf_sum(level));
    return product;
  }
  const sets::Span candidates = clipped(level);
  const Needs needs = plan_->needs[static_cast<std::size_t>(level)];
  spend(1 + candidates.size());
  Total sum = 0;
  for (Vertex vertex : candidates)
    if (view_->serves(vertex, needs) && !is_hole(level, vertex) && !excluded(level, vertex))
      add_checked(sum, leaves_of(vertex, remembered));
  multiply(sum);
  return product;
}

// The number of ways to take this level, whose set is a row, and its leaves.
template <class View>
Total Matcher<View>::leaf_sum(int level) {
  const auto at = static_cast<std::size_t>(level);
  const Remembered& remembered = plan_->remembered[at];
  const Source& from = plan_->steps[at].sources[0];
  const Vertex vertex = value_[static_cast<std::size_t>(from.level)];
  const Memory::LeafSum* known = &memory_->sum(remembered.sum, vertex);
  const bool valid =
      known->view == remembered.sum && known->vertex == vertex && known->time <= view_->now() &&
      known->time >= view_->changed(vertex, from.way, from.target, buffers_[at]) &&
      std::all_of(remembered.leaves.begin(), remembered.leaves.end(),
                  [&](const auto& leaves) { return known->time >= view_->class_changed(leaves.of); });
  const sets::Span row =
      valid && View::kKeepsRows ? known->row : view_->neighbors(vertex, from.way, from.target, buffers_[at]);
  if (!valid) {
    Total sum = 0;
    spend(1 + row.size());
    for (Vertex neighbor : row)
      if (view_->serves(neighbor, plan_->needs[at])) add_checked(sum, leaves_of(neighbor, remembered));
    Memory::LeafSum& made = memory_->new_sum(remembered.sum, vertex);
    made = {view_->now(), remembered.sum, vertex, row, sum};
    known = &made;
  }
  Total sum = known->sum;
  std::uint32_t seen = 0;
  for_each_bit(plan_->steps[at].distinct, [&](std::uint32_t other) {
    bool repeated = false;  // two levels that need not differ may have the same vertex
    for_each_bit(seen, [&](std::uint32_t before) { repeated |= value_[before] == value_[other]; });
    if (!repeated && sets::contains(row, value_[other])) sum -= leaves_of(value_[other], remembered);
    seen |= std::uint32_t{1} << other;
  });
  return sum;
}

// The number of ways to take the leaves of a vertex.
template <class View>
Total Matcher<View>::leaves_of(Vertex vertex, const Remembered& remembered) {
  Total ways = 1;
  for (const Remembered::Leaves& leaves : remembered.leaves) {
    const sets::Span row =
        view_->neighbors(vertex, leaves.way, leaves.target, buffers_[plan_->steps.size() - 1]);
    std::size_t size = row.size();
    if (View::kHoles && size > 0 && view_->may_have_holes(vertex)) {
      absent_.clear();
      view_->add_holes(vertex, leaves.way, leaves.target, row, absent_);
      size -= absent_.size();
    }
    const auto factor = leaves.levels == 1 ? std::optional(Total{size})
                                           : search::falling_factorial(size, leaves.levels, leaves.chains);
    if (!factor || __builtin_mul_overflow(ways, *factor, &ways))
      throw std::overflow_error("the count exceeds 2^123");
  }
  return ways;
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

// The vertices that order restrictions allow at a level: from the first to before the second.
template <class View>
std::pair<std::uint64_t, std::uint64_t> Matcher<View>::bounds(int level) const {
  const Step& step = plan_->steps[static_cast<std::size_t>(level)];
  std::uint64_t first = 0, end = std::uint64_t{UINT32_MAX} + 1;
  for_each_bit(step.after,
               [&](std::uint32_t other) { first = std::max(first, std::uint64_t{value_[other]} + 1); });
  for_each_bit(step.before, [&](std::uint32_t other) { end = std::min<std::uint64_t>(end, value_[other]); });
  return {first, end};
}

template <class View>
sets::Span Matcher<View>::clipped(int level) {
  const auto [first, end] = bounds(level);
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
  if (is_counted_at_once(level)) return count_common(level, distinct);
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

// Whether a level's set is the intersection of two rows and needed once: then it is not written.
template <class View>
bool Matcher<View>::is_counted_at_once(int level) const {
  const Step& step = plan_->steps[static_cast<std::size_t>(level)];
  return memory_ != nullptr && step.sources.size() == 2 && step.reuse == kNone && step.allowed == kNone &&
         step.anchor == latest_ && step.sources[0].level != step.sources[1].level &&
         !step.sources[0].before_change && !step.sources[1].before_change;
}

// The number of vertices in both rows of such a level. The row that stays while the other changes is marked
// when that pays: 4-cycles without labels take .7 of the time so.
template <class View>
std::uint64_t Matcher<View>::count_common(int level, std::uint32_t distinct) {
  const Step& step = plan_->steps[static_cast<std::size_t>(level)];
  if (rows_.size() < 2) rows_.resize(2);
  const bool first_stays = step.sources[0].level < step.sources[1].level;
  const auto row = [&](bool stays) {
    const Source& from = step.sources[first_stays == stays ? 0 : 1];
    return view_->neighbors(value_[static_cast<std::size_t>(from.level)], from.way, from.target,
                            rows_[stays ? 0 : 1]);
  };
  const std::uint64_t stamp = stamp_[static_cast<std::size_t>(step.sources[first_stays ? 0 : 1].level)];
  const bool closes = !View::kHoles &&
                      plan_->remembered[static_cast<std::size_t>(level)].back != Remembered::kNot &&
                      view_->graph.vertices() <= sets::CommonCounts::kMostVertices;
  const bool counted = closes && memory_->common(level).holds({stamp, plan_});
  distinct &= step.distinct;
  if (counted) {
    const std::uint32_t size = memory_->common(level).of(value_[static_cast<std::size_t>(level) - 1]);
    if (size == 0 || distinct == 0) return size;
  }
  const sets::Span stable = row(true), whole = row(false);
  const auto [first, end] = bounds(level);
  if (stable.size() == 0 || whole.size() == 0 || first >= end) return 0;
  const sets::Span changing = sets::clip(whole, first, end);
  sets::Marks& marks = memory_->marks(level);
  spend(1 + std::min(stable.size(), changing.size()));
  bool marked = marks.holds(stamp);
  if (!counted && !marked && policy_.marks(stable.size(), changing.size()) &&
      marks.worthwhile(stamp, stable.size(), changing.size())) {
    marks.mark(stamp, stable, view_->graph.vertices());
    marked = true;
  }
  std::uint64_t size = counted  ? memory_->common(level).of(value_[static_cast<std::size_t>(level) - 1])
                       : marked ? marks.count(changing, policy_)
                                : sets::count_common(sets::clip(stable, first, end), changing, policy_);
  if (closes && !counted) find_common(level, stamp, stable, std::min(stable.size(), changing.size()));
  if constexpr (View::kHoles) {
    absent_.clear();
    const auto add_absent = [&](bool stays, sets::Span others) {
      const Source& from = step.sources[first_stays == stays ? 0 : 1];
      const auto before = static_cast<std::ptrdiff_t>(absent_.size());
      view_->add_holes(value_[static_cast<std::size_t>(from.level)], from.way, from.target, others, absent_);
      std::inplace_merge(absent_.begin(), absent_.begin() + before, absent_.end());
    };
    add_absent(true, changing);
    add_absent(false, sets::clip(stable, first, end));
    absent_.erase(std::unique(absent_.begin(), absent_.end()), absent_.end());
    size -= absent_.size();
  }
  std::uint32_t seen = 0;
  for_each_bit(distinct, [&](std::uint32_t other) {
    const Vertex value = value_[other];
    bool repeated = false;  // two levels that need not differ may have the same vertex
    for_each_bit(seen, [&](std::uint32_t before) { repeated |= value_[before] == value; });
    seen |= std::uint32_t{1} << other;
    if (repeated || value < first || value >= end) return;
    if ((marked ? marks.has(value) : sets::contains(stable, value)) && sets::contains(changing, value) &&
        !(View::kHoles && std::binary_search(absent_.begin(), absent_.end(), value)))
      --size;
  });
  return size;
}

// Counts the common neighbours of the vertex that stays and all others, if that pays by now.
template <class View>
void Matcher<View>::find_common(int level, std::uint64_t stamp, sets::Span stable, std::size_t work) {
  const auto at = static_cast<std::size_t>(level);
  const Step& step = plan_->steps[at];
  const Way way = step.sources[step.sources[0].level == level - 1 ? 0 : 1].way;
  const Way back = way == Way::kEither ? way : way == Way::kOut ? Way::kIn : Way::kOut;
  const auto row = [&](Vertex vertex) {
    return view_->neighbors(vertex, back, plan_->remembered[at].back, buffers_[at]);
  };
  sets::CommonCounts& common = memory_->common(level);
  const auto steps = [&] {
    std::size_t all = 0;
    spend(stable.size());
    for (Vertex vertex : stable) all += row(vertex).size();
    return all;
  };
  if (!common.worthwhile({stamp, plan_}, stable.size(), work, steps)) return;
  common.start(view_->graph.vertices());
  for (Vertex vertex : stable) {
    const sets::Span others = row(vertex);
    spend(1 + others.size());
    common.add(others);
  }
  common.finish({stamp, plan_});
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
  const Remembered& remembered = plan_->remembered[static_cast<std::size_t>(level)];
  if (memory_ == nullptr || !remembered.kept) return count_here(level);
  const std::uint64_t key = std::uint64_t{value_[remembered.keys[0]]} << 32 | value_[remembered.keys[1]];
  const Memory::KeptCount& known = memory_->kept(level, key);
  if (known.search == search_ && known.key == key && known.level == level) return known.count;
  const Total count = count_here(level);
  memory_->new_kept(level, key) = {search_, key, count, level};
  return count;
}

template <class View>
Total Matcher<View>::count_here(int level) {
  if (level == plan_->tail.start) return count_tail();
  if (level + 1 == plan_->levels()) return count_level(level, ~std::uint32_t{0});
  if (memory_ != nullptr && !plan_->remembered[static_cast<std::size_t>(level)].leaves.empty())
    return count_leaves(level);
  return count_over(level, clipped(level));
}

template <class View>
Total Matcher<View>::count_over(int level, sets::Span candidates) {
  const Needs needs = plan_->needs[static_cast<std::size_t>(level)];
  spend(1 + candidates.size());
  Total total = 0;
  const sets::CommonCounts* const closing = closing_counts(level);
  const bool no_other = closing != nullptr && plan_->steps[static_cast<std::size_t>(level) + 1].distinct == 0;
  for (Vertex vertex : candidates) {
    if (closing != nullptr && closing->of(vertex) == 0) continue;
    if (!view_->serves(vertex, needs) || is_hole(level, vertex) || excluded(level, vertex)) continue;
    if (no_other) {
      add_checked(total, closing->of(vertex));
      continue;
    }
    assign(level, vertex);
    add_checked(total, count_from(level + 1));
  }
  return total;
}

// The numbers of vertices for the last level, which closes cycles, by vertices of this level; null if they
// are not counted yet. Vertices that others may not have are among them.
template <class View>
const sets::CommonCounts* Matcher<View>::closing_counts(int level) const {
  if (View::kHoles || memory_ == nullptr || level + 2 != plan_->levels() || plan_->tail.start <= level + 1)
    return nullptr;
  const auto last = static_cast<std::size_t>(level) + 1;
  if (plan_->remembered[last].back == Remembered::kNot) return nullptr;
  const Step& step = plan_->steps[last];
  const Source& stable = step.sources[step.sources[0].level == level ? 1 : 0];
  const sets::CommonCounts& common = memory_->common(level + 1);
  return common.holds({stamp_[static_cast<std::size_t>(stable.level)], plan_}) ? &common : nullptr;
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

// The vertices that the last level may take.
template <class View>
sets::Span Matcher<View>::last_vertices() {
  const int level = plan_->levels() - 1;
  const sets::Span set = clipped(level);
  bool all = !View::kHoles || holes_[static_cast<std::size_t>(level)].empty();
  for_each_bit(plan_->steps[static_cast<std::size_t>(level)].distinct,
               [&](std::uint32_t other) { all = all && !sets::contains(set, value_[other]); });
  if (all) return set;
  fill(level, ~std::uint32_t{0}, last_);
  return {last_.data(), last_.data() + last_.size()};
}

template <class View>
template <class Wrote>
void Matcher<View>::list_from(int level, Column<Vertex>& rows, Wrote& wrote) {
  if (level + 1 == plan_->levels()) {
    const sets::Span last = last_vertices();
    spend(1);
    for (const Vertex* first = last.first; first < last.last; first += kBlockRows)
      write({first, std::min(first + kBlockRows, last.last)}, rows, wrote);
    return;
  }
  list_over(level, clipped(level), rows, wrote);
}

template <class View>
template <class Wrote>
void Matcher<View>::list_over(int level, sets::Span candidates, Column<Vertex>& rows, Wrote& wrote) {
  const Needs needs = plan_->needs[static_cast<std::size_t>(level)];
  spend(1 + candidates.size());
  for (Vertex vertex : candidates) {
    if (!view_->serves(vertex, needs) || is_hole(level, vertex) || excluded(level, vertex)) continue;
    assign(level, vertex);
    list_from(level + 1, rows, wrote);
  }
}

// Writes the matches with each of at most kBlockRows vertices at the last level, image after image.
template <class View>
template <class Wrote>
void Matcher<View>::write(sets::Span last, Column<Vertex>& rows, Wrote& wrote) {
  const auto width = static_cast<std::size_t>(plan_->levels());
  const std::span images(plan_->images);
  const std::size_t most = std::max<std::size_t>(1, kBlockRows / last.size());
  for (std::size_t first = 0, size; first < images.size(); first += size) {
    size = std::min(most, images.size() - first);
    const std::size_t count = size * last.size();
    Vertex* const block = rows.extend(count * width);
    write_rows(value_.data(), width, images.subspan(first, size), last, block);
    if (!plan_->orbits.empty())
      for (std::size_t row = 0; row < count; ++row)
        make_canonical(plan_->orbits, {block + row * width, width}, moved_);
    wrote(count);
    spend(count);
  }
}

}  // namespace motiflux::dynamic
