#pragma once

#include <algorithm>
#include <bit>

#include "dynamic/matcher.hpp"
#include "dynamic/write_rows.hpp"
#include "motiflux/bits.hpp"

namespace motiflux::dynamic {

template <class View>
Total Matcher<View>::count_part(std::size_t first, std::size_t last) {
  const sets::Span all = clipped(2);
  return count_over(2, {all.first + first, all.first + last});
}

template <class View>
void Matcher<View>::begin(const View& view, const Edge& edge, std::span<const Plan> plans) {
  view_ = &view;
  edge_ = edge;
  plans_ = plans;
  spend(1);
  memory_.make_room();
  if (sets_.size() < all_sets_) sets_.resize(all_sets_);
  assign(0, edge.source);
  search_ = clock_;
  assign(1, edge.target);
}

template <class View>
void Matcher<View>::prefetch_around() const {
  const auto around = [&](const Rows& rows) {
    std::array<sets::Span, 2> near{rows.all(value_[0]), rows.all(value_[1])};
    for (sets::Span& some : near) some.last = std::min(some.last, some.first + kMostFetched);
    for (const sets::Span& some : near)
      for (Vertex vertex : some) rows.prefetch(vertex);
    for (const sets::Span& some : near)
      for (Vertex vertex : some) rows.prefetch_row(vertex);
  };
  around(view_->graph.rows(Way::kOut));
  if (view_->graph.directed()) around(view_->graph.rows(Way::kIn));
}

template <class View>
PlanBits Matcher<View>::concerned(const Forest& forest, PlanBits among) {
  among = forest.ends[0].met(*view_, value_[0], among);
  if (among != 0) among = forest.ends[1].met(*view_, value_[1], among);
  for_each_plan(among & forest.checked, [&](std::size_t number) {
    plan_ = &plans_[forest.plans[number]];
    if (!has_label_and_place(0) || !has_label_and_place(1) || !changes()) among &= ~(PlanBits{1} << number);
  });
  return among;
}

// Whether a plan may have matches with the edge.
template <class View>
bool Matcher<View>::fits(const Plan& plan) {
  plan_ = &plan;
  return view_->serves(value_[0], plan.needs[0]) && view_->serves(value_[1], plan.needs[1]) &&
         has_label_and_place(0) && has_label_and_place(1) && changes();
}

template <class View>
auto Matcher<View>::divide(const Forest& forest, PlanBits among) -> Division {
  if constexpr (!View::kHoles)
    if (pays_to_sum(forest, among & forest.summed))
      return {among & forest.summed, among & ~(forest.summed | forest.spared)};
  return {0, among};
}

// Prepares the sums of `among`, if there are any and they are likely to take less time than searches.
template <class View>
bool Matcher<View>::pays_to_sum(const Forest& forest, PlanBits among) {
  const int size = std::popcount(among);
  if (size == 0 || (size < kFewestSums && !forest.always_sums)) return false;
  const std::size_t most = forest.always_sums ? SIZE_MAX : static_cast<std::size_t>(size) * kMostSummed;
  return sums_.begin(*forest.quotients, *view_, value_[0], value_[1], most);
}

// Searches for the matches of `plans` with the vertices chosen up to the level of a branch.
template <class View>
template <class Found>
void Matcher<View>::walk(const Forest& forest, std::size_t at, PlanBits plans, Found& found) {
  const Branch& branch = forest.branches[at];
  PlanBits alone = plans & branch.own;
  const auto for_each_below = [&](auto&& visit) {
    for (std::size_t below = at + 1; below < branch.end; below = forest.branches[below].end)
      if (const PlanBits some = plans & ~alone & forest.branches[below].plans; some != 0) visit(below, some);
  };
  for_each_below([&](std::size_t below, PlanBits some) {
    if (forest.branches[below].grouped && std::has_single_bit(some)) alone |= some;
  });
  for_each_plan(alone, [&](std::size_t number) { walk_own(forest, number, branch.level, found); });
  for_each_below([&](std::size_t below, PlanBits some) {
    walk_over(forest, below, some, candidates_of(forest.branches[below]), found);
  });
}

// Searches for the matches of one plan.
template <class View>
template <class Found>
void Matcher<View>::walk_own(const Forest& forest, std::size_t number, int level, Found& found) {
  plan_ = &plans_[forest.plans[number]];
  latest_ = level;
  const bool all = level + 1 == plan_->levels();
  if ((forest.listed >> number & 1) == 0) {
    found.count(number, all ? 1 : count_from(level + 1));
    return;
  }
  const auto wrote = [&](std::size_t count) { found.wrote(number, count); };
  const Vertex last = value_[static_cast<std::size_t>(level)];
  if (all)
    write({&last, &last + 1}, found.rows(number), wrote);
  else
    list_from(level + 1, found.rows(number), wrote);
}

// The vertices of a branch.
template <class View>
sets::Span Matcher<View>::candidates_of(const Branch& branch) {
  plan_ = &plans_[branch.plan];
  return clipped(step(branch.level), branch.loop.set, branch.loop.after, branch.loop.before);
}

// The plans whose own order restrictions a vertex of a branch meets.
template <class View>
PlanBits Matcher<View>::within_bounds(const Branch& branch, PlanBits plans, Vertex vertex) const {
  for (const Bound& bound : branch.bounds) {
    const auto [first, end] = bounds(bound.after, bound.before);
    if (vertex < first || vertex >= end) plans &= ~bound.plans;
  }
  return plans;
}

// Takes some of the vertices of a branch one after another.
template <class View>
template <class Found>
void Matcher<View>::walk_over(const Forest& forest, std::size_t at, PlanBits plans, sets::Span candidates,
                              Found& found) {
  const Branch& branch = forest.branches[at];
  const Loop& loop = branch.loop;
  spend(1 + candidates.size());
  for (Vertex vertex : candidates) {
    PlanBits some = branch.required.met(*view_, vertex, plans);
    if (some == 0 || is_hole(loop.set, vertex) || is_taken(loop.distinct, vertex)) continue;
    if (!branch.bounds.empty()) [[unlikely]]
      if (some = within_bounds(branch, some, vertex); some == 0) continue;
    assign(branch.level, vertex);
    walk(forest, at, some, found);
  }
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
sets::Span Matcher<View>::whole_set(const Step& step, const LevelSet& of) {
  CandidateSet& set = sets_[of.number];
  const std::uint64_t stamp = stamp_[static_cast<std::size_t>(step.anchor)];
  if (set.made != stamp) {
    set.span = made_set(step, of, set);
    set.made = stamp;
  }
  return set.span;
}

template <class View>
sets::Span Matcher<View>::made_set(const Step& step, const LevelSet& of, CandidateSet& set) {
  if (of.row != kNoNumber) {
    const sets::Span row = filtered_row(step, of, set);
    if constexpr (View::kHoles) find_holes(step, set, row);
    return row;
  }
  const sets::Span reused =
      step.reuse == kNone ? sets::Span{} : whole_set(this->step(step.reuse), level_set(step.reuse));
  spans_.clear();
  if (step.reuse != kNone) spans_.push_back(reused);
  if (rows_.size() < step.sources.size()) rows_.resize(step.sources.size());
  bool hidden = false;
  for (std::size_t source = 0; source < step.sources.size(); ++source) {
    const Source& from = step.sources[source];
    hidden |= from.before_change;
    const sets::Span row = row_of(from, rows_[source]);
    if (row.size() == 0) {
      set.holes.clear();
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
  sets::Span found = spans_[0];
  std::vector<Vertex>& buffer = set.buffer;
  for (std::size_t span = 1; span < spans_.size() && found.size() > 0; ++span) {
    spend(1 + found.size());
    if (buffer.size() < found.size()) buffer.resize(std::max(found.size(), 2 * buffer.size()));
    const std::size_t size = sets::intersect(found, spans_[span], buffer.data(), policy_);
    found = {buffer.data(), buffer.data() + size};
  }
  // A row in scratch memory would be overwritten by the row of another level.
  if (spans_.size() == 1 && !step.sources.empty() && found.first == rows_[0].data())
    found = copied(found, set);
  if constexpr (View::kHoles) find_holes(step, set, found);
  return hidden ? without_change(step, found, set) : found;
}

// The neighbours of the only source that serve, if they are remembered; else all of them.
template <class View>
sets::Span Matcher<View>::filtered_row(const Step& step, const LevelSet& of, CandidateSet& set) {
  const Source& from = step.sources[0];
  const Vertex vertex = value_[static_cast<std::size_t>(from.level)];
  const Memory::FilteredRow& known = memory_.row(of.row, vertex);
  if (known.view == of.row && known.vertex == vertex && known.time <= view_->now() &&
      known.time >= view_->changed(vertex, from.way, from.target, set.buffer) &&
      known.time >= view_->gained(of.needs))
    return memory_.span(known);
  const sets::Span row = row_of(from, set.buffer);
  Vertex* room = row.size() < kWorthFiltering ? nullptr : memory_.room(row.size());
  if (room == nullptr) return row;
  spend(row.size());
  std::size_t size = 0;
  for (Vertex neighbor : row) {
    room[size] = neighbor;
    size += view_->serves(neighbor, of.needs);
  }
  Memory::FilteredRow& made = memory_.new_row(of.row, vertex);
  made = {view_->now(), of.row, vertex};
  memory_.keep(made, size);
  return memory_.span(made);
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
  if (!View::kHoles && remembered.sum != kNoNumber) {
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
  const Memory::LeafSum* known = &memory_.sum(remembered.sum, vertex);
  const bool valid =
      known->view == remembered.sum && known->vertex == vertex && known->time <= view_->now() &&
      known->time >= view_->changed(vertex, from.way, from.target, buffers_[at]) &&
      std::all_of(remembered.leaves.begin(), remembered.leaves.end(),
                  [&](const auto& leaves) { return known->time >= view_->class_changed(leaves.of); });
  const sets::Span row = valid && View::kKeepsRows ? known->row : row_of(from, buffers_[at]);
  if (!valid) {
    // Not by the candidate table: vertices that are used are in the sum, and subtracted from it later.
    const Needs classes{plan_->needs[at].out, plan_->needs[at].in};
    Total sum = 0;
    spend(1 + row.size());
    for (Vertex neighbor : row)
      if (view_->serves(neighbor, classes)) add_checked(sum, leaves_of(neighbor, remembered));
    Memory::LeafSum& made = memory_.new_sum(remembered.sum, vertex);
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
    const sets::Span row = view_->class_row(vertex, leaves.way, leaves.of, buffers_[plan_->steps.size() - 1]);
    std::size_t size = row.size();
    if (View::kHoles && size > 0 && view_->may_have_holes(vertex)) {
      absent_.clear();
      view_->add_holes(vertex, leaves.way, leaves.target, row, absent_);
      size -= absent_.size();
    }
    if (size == 0) return 0;
    size -= leaves.less;
    const auto factor = leaves.levels == 1 ? std::optional(Total{size})
                                           : search::falling_factorial(size, leaves.levels, leaves.chains);
    if (!factor || __builtin_mul_overflow(ways, *factor, &ways))
      throw std::overflow_error("the count exceeds 2^123");
  }
  return ways;
}

// Rows may have neighbours absent at this moment: the holes of the set.
template <class View>
void Matcher<View>::find_holes(const Step& step, CandidateSet& set, sets::Span span) {
  std::vector<Vertex>& holes = set.holes;
  holes.clear();
  const auto merge = [&](std::size_t before) {
    if (before == 0 || before == holes.size()) return;
    std::inplace_merge(holes.begin(), holes.begin() + static_cast<std::ptrdiff_t>(before), holes.end());
    holes.erase(std::unique(holes.begin(), holes.end()), holes.end());
  };
  if (span.size() == 0) return;
  for (const Source& from : step.sources) {
    const std::size_t before = holes.size();
    view_->add_holes(value_[static_cast<std::size_t>(from.level)], from.way, from.target, span, holes);
    merge(before);
  }
  if (step.reuse == kNone) return;
  const std::size_t before = holes.size();
  for (Vertex vertex : this->holes(step.reuse))
    if (sets::contains(span, vertex)) holes.push_back(vertex);
  merge(before);
}

template <class View>
sets::Span Matcher<View>::copied(sets::Span span, CandidateSet& set) {
  if (span.first != set.buffer.data()) set.buffer.assign(span.begin(), span.end());
  return {set.buffer.data(), set.buffer.data() + span.size()};
}

// Removes the ends of the changed edge where a query edge that must not see it has no other witness.
template <class View>
sets::Span Matcher<View>::without_change(const Step& step, sets::Span span, CandidateSet& set) {
  for (const Source& from : step.sources) {
    const Vertex vertex = value_[static_cast<std::size_t>(from.level)];
    if (!from.before_change || (vertex != edge_.source && vertex != edge_.target)) continue;
    const Vertex other = vertex == edge_.source ? edge_.target : edge_.source;
    if (!sets::contains(span, other) || std::binary_search(set.holes.begin(), set.holes.end(), other) ||
        view_->witnessed(vertex, other, from.way, from.relation, &edge_))
      continue;
    span = copied(span, set);
    const auto end = set.buffer.begin() + static_cast<std::ptrdiff_t>(span.size());
    const auto at = std::lower_bound(set.buffer.begin(), end, other);
    std::move(at + 1, end, at);
    --span.last;
  }
  return span;
}

// The vertices that order restrictions allow at a level: from the first to before the second.
template <class View>
std::pair<std::uint64_t, std::uint64_t> Matcher<View>::bounds(std::uint32_t after,
                                                              std::uint32_t before) const {
  std::uint64_t first = 0, end = std::uint64_t{UINT32_MAX} + 1;
  for_each_bit(after,
               [&](std::uint32_t other) { first = std::max(first, std::uint64_t{value_[other]} + 1); });
  for_each_bit(before, [&](std::uint32_t other) { end = std::min<std::uint64_t>(end, value_[other]); });
  return {first, end};
}

template <class View>
sets::Span Matcher<View>::clipped(const Step& step, const LevelSet& of, std::uint32_t after,
                                  std::uint32_t before) {
  const auto [first, end] = bounds(after, before);
  const sets::Span set = whole_set(step, of);
  return first < end ? sets::clip(set, first, end) : sets::Span{set.first, set.first};
}

// The number of holes of a level in a part of its set.
template <class View>
std::size_t Matcher<View>::holes_within(int level, sets::Span part) const {
  const std::vector<Vertex>& holes = this->holes(level);
  if (holes.empty() || part.size() == 0) return 0;
  const sets::Span all{holes.data(), holes.data() + holes.size()};
  return sets::clip(all, *part.first, std::uint64_t{part.last[-1]} + 1).size();
}

// Whether one of these levels has the vertex.
template <class View>
bool Matcher<View>::is_taken(std::uint32_t levels, Vertex vertex) const {
  bool found = false;
  for_each_bit(levels, [&](std::uint32_t other) { found |= value_[other] == vertex; });
  return found;
}

// The number of vertices that a level may take, with the levels `distinct` matched.
template <class View>
std::uint64_t Matcher<View>::count_level(int level, std::uint32_t distinct) {
  if (level_set(level).plain) return count_row(level, distinct);
  if (const CommonCounts* counts = common_counts(level, 1)) return count_closing(level, distinct, *counts);
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

// The number of vertices that a level may take from the row that is its set.
template <class View>
std::uint64_t Matcher<View>::count_row(int level, std::uint32_t distinct) {
  const Source& from = step(level).sources[0];
  const sets::Span row = row_of(from, stable_[0]);
  std::uint64_t size = row.size();
  if (size == 0) return 0;
  const Vertex vertex = value_[static_cast<std::size_t>(from.level)];
  if constexpr (View::kHoles) size -= view_->count_absent(vertex, from.way, from.target);
  std::uint32_t counted = 0;
  for_each_bit(step(level).distinct & distinct, [&](std::uint32_t other) {
    bool repeated = false;  // two levels that need not differ may have the same vertex
    for_each_bit(counted, [&](std::uint32_t seen) { repeated |= value_[seen] == value_[other]; });
    if constexpr (View::kHoles)
      repeated = repeated || view_->is_absent(vertex, from.way, from.target, value_[other]);
    if (!repeated && sets::contains(row, value_[other])) --size;
    counted |= std::uint32_t{1} << other;
  });
  return size;
}

// The counts by which a level is counted, now that `more` numbers of it are needed; null if there are none.
template <class View>
const CommonCounts* Matcher<View>::common_counts(int level, std::size_t more) {
  const Remembered::Closing& closing = plan_->remembered[static_cast<std::size_t>(level)].closing;
  if (View::kHoles || closing.number == kNoNumber) return nullptr;
  CommonCounts& counts = memory_.common(closing.number);
  if (!counts.is_of(search_)) counts.begin(search_, stable_set(closing).size());
  if (!counts.is_made() && !(counts.ask(more) && make_common_counts(closing, counts))) return nullptr;
  return &counts;
}

// Makes the counts if that pays by now.
template <class View>
bool Matcher<View>::make_common_counts(const Remembered::Closing& closing, CommonCounts& counts) {
  const sets::Span members = stable_set(closing);
  const auto row = [&](Vertex member) {
    return view_->class_row(member, closing.back, closing.of, stable_[3]);
  };
  if (!counts.is_sized()) {
    std::size_t size = 0;
    spend(1 + members.size());
    for (Vertex member : members) size += row(member).size();
    counts.set_size(size);
  }
  if (!counts.pays()) return false;
  spend(1 + counts.size());
  counts.start(view_->graph.vertices());
  for (Vertex member : members) {
    if (closing.apart != kNoNumber && member == value_[closing.apart]) continue;
    counts.note_member(member);
    for (Vertex vertex : row(member)) counts.count(vertex);
  }
  counts.finish();
  return true;
}

// The vertices that the pair gives for a level.
template <class View>
sets::Span Matcher<View>::stable_set(const Remembered::Closing& closing) {
  const auto row = [&](std::size_t number) {
    const Source& from = closing.stable[number];
    return row_of(from, stable_[number]);
  };
  const sets::Span first = row(0);
  if (closing.stable.size() == 1) return first;
  const sets::Span second = row(1);
  std::vector<Vertex>& both = stable_[2];
  const std::size_t most = std::min(first.size(), second.size());
  if (both.size() < most) both.resize(most);
  spend(1 + most);
  return {both.data(), both.data() + sets::intersect(first, second, both.data(), policy_)};
}

// The number of vertices that a level may take, with the levels `distinct` matched, by its counts.
template <class View>
std::uint64_t Matcher<View>::count_closing(int level, std::uint32_t distinct, const CommonCounts& counts) {
  const Source& inner = plan_->remembered[static_cast<std::size_t>(level)].closing.inner;
  const Vertex from = value_[static_cast<std::size_t>(inner.level)];
  std::uint64_t size = counts.of(from);
  if (size == 0) return 0;
  std::uint32_t seen = 0;
  constexpr std::uint32_t kPair = 0b11;  // its vertices are no members, or not counted
  for_each_bit(step(level).distinct & distinct & ~kPair, [&](std::uint32_t other) {
    const Vertex value = value_[other];
    bool repeated = false;  // two levels that need not differ may have the same vertex
    for_each_bit(seen, [&](std::uint32_t before) { repeated |= value_[before] == value; });
    seen |= std::uint32_t{1} << other;
    if (repeated || !counts.is_member(value)) return;
    if (sets::contains(row_of(inner, stable_[0]), value)) --size;
  });
  return size;
}

// The number of ways to take one of the candidates, a vertex of its row, and one for the last level. A
// candidate that is a member itself was counted for all of its row.
template <class View>
Total Matcher<View>::count_closing_soon(int level, sets::Span candidates, const CommonCounts& counts) {
  const Step& next = step(level + 1);
  const bool differs = (step(level + 2).distinct >> level & 1) != 0;
  std::array<Vertex, view::kMaxLevels> others;
  std::size_t size = 0;
  for_each_bit(next.distinct & bits_below(static_cast<std::uint32_t>(level)),
               [&](std::uint32_t other) { others[size++] = value_[other]; });
  const std::span excluded_next(others.data(), size);
  Total total = 0;
  for (Vertex vertex : candidates) {
    if (excluded(level, vertex)) continue;
    const sets::Span row = view_->class_row(vertex, next.sources[0].way, next.sources[0].of, stable_[3]);
    spend(1 + row.size());
    const std::uint32_t own = differs && counts.is_member(vertex);
    std::uint64_t sum = 0;
    for (Vertex found : row) {
      const std::uint32_t size = counts.of(found);
      if (size > own && std::ranges::find(excluded_next, found) == excluded_next.end()) sum += size - own;
    }
    total += sum;
  }
  return total;
}

// The number of ways to take one of the candidates and a vertex of the last level.
template <class View>
Total Matcher<View>::count_closed(int level, sets::Span candidates, const CommonCounts& counts) {
  spend(1 + candidates.size());
  Total total = 0;
  for (Vertex vertex : candidates) {
    if (counts.of(vertex) == 0 || excluded(level, vertex)) continue;
    value_[static_cast<std::size_t>(level)] = vertex;
    total += count_closing(level + 1, ~std::uint32_t{0}, counts);
  }
  return total;
}

// Whether a level's set is the intersection of two rows and needed once: then it is not written.
template <class View>
bool Matcher<View>::is_counted_at_once(int level) const {
  const Step& step = plan_->steps[static_cast<std::size_t>(level)];
  return step.sources.size() == 2 && step.reuse == kNone && step.allowed == kNone && step.anchor == latest_ &&
         step.sources[0].level != step.sources[1].level && !step.sources[0].before_change &&
         !step.sources[1].before_change;
}

// The number of vertices in both rows of such a level. The row that stays while the other changes is marked
// when that pays: 4-cycles without labels take .7 of the time so.
template <class View>
std::uint64_t Matcher<View>::count_common(int level, std::uint32_t distinct) {
  const Step& step = plan_->steps[static_cast<std::size_t>(level)];
  if (rows_.size() < 2) rows_.resize(2);
  if constexpr (View::kHoles)
    if (const auto size = count_in_marks(step, distinct)) return *size;
  const bool first_stays = step.sources[0].level < step.sources[1].level;
  const auto row = [&](bool stays) {
    const Source& from = step.sources[first_stays == stays ? 0 : 1];
    return row_of(from, rows_[stays ? 0 : 1]);
  };
  const sets::Span stable = row(true), whole = row(false);
  const auto [first, end] = bounds(step);
  if (stable.size() == 0 || whole.size() == 0 || first >= end) return 0;
  const sets::Span changing = sets::clip(whole, first, end);
  const std::uint32_t number = level_set(level).marks;
  const std::uint64_t stamp =
      stamp_[static_cast<std::size_t>(step.sources[first_stays ? 0 : 1].level)] << kMarkBits | number;
  sets::Marks& marks = memory_.marks(number);
  spend(1 + std::min(stable.size(), changing.size()));
  bool marked = marks.holds(stamp);
  if (!marked && number >> kMarkBits == 0 && policy_.marks(stable.size(), changing.size()) &&
      marks.worthwhile(stamp, stable.size(), changing.size())) {
    marks.mark(stamp, stable, view_->graph.vertices());
    marked = true;
  }
  std::uint64_t size = marked ? marks.count(changing, policy_)
                              : sets::count_common(sets::clip(stable, first, end), changing, policy_);
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
  for_each_bit(step.distinct & distinct, [&](std::uint32_t other) {
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

// The same, if one of the rows is marked at the moment.
template <class View>
std::optional<std::uint64_t> Matcher<View>::count_in_marks(const Step& step, std::uint32_t distinct) {
  const auto vertex_of = [&](const Source& from) { return value_[static_cast<std::size_t>(from.level)]; };
  const auto marks_of = [&](const Source& from) {
    return view_->marked_row(vertex_of(from), from.way, from.target);
  };
  const auto* marks = marks_of(step.sources[0]);
  const Source& other = step.sources[marks != nullptr ? 1 : 0];
  if (marks == nullptr) marks = marks_of(step.sources[1]);
  if (marks == nullptr) return std::nullopt;
  const auto [first, end] = bounds(step);
  if (first >= end) return 0;
  const sets::Span row = sets::clip(row_of(other, rows_[0]), first, end);
  spend(1 + row.size());
  std::uint64_t size = marks->count(row, policy_);
  absent_.clear();
  view_->for_each_absent(vertex_of(other), other.way, other.target, [&](Vertex absent) {
    if (absent >= first && absent < end && marks->has(absent)) absent_.push_back(absent);
  });
  size -= absent_.size();
  std::uint32_t seen = 0;
  for_each_bit(step.distinct & distinct, [&](std::uint32_t one) {
    const Vertex value = value_[one];
    bool repeated = false;  // two levels that need not differ may have the same vertex
    for_each_bit(seen, [&](std::uint32_t before) { repeated |= value_[before] == value; });
    seen |= std::uint32_t{1} << one;
    if (!repeated && marks->has(value) && sets::contains(row, value) &&
        !std::binary_search(absent_.begin(), absent_.end(), value))
      --size;
  });
  return size;
}

template <class View>
void Matcher<View>::fill(int level, std::uint32_t distinct, std::vector<Vertex>& list) {
  const sets::Span set = clipped(level);
  spend(1 + set.size() / 4);
  list.assign(set.begin(), set.end());
  if constexpr (View::kHoles)
    if (!holes(level).empty()) std::erase_if(list, [&](Vertex vertex) { return is_hole(level, vertex); });
  for_each_bit(plan_->steps[static_cast<std::size_t>(level)].distinct & distinct, [&](std::uint32_t other) {
    const auto at = std::lower_bound(list.begin(), list.end(), value_[other]);
    if (at != list.end() && *at == value_[other]) list.erase(at);
  });
}

template <class View>
Total Matcher<View>::count_from(int level) {
  const Remembered& remembered = plan_->remembered[static_cast<std::size_t>(level)];
  if (!remembered.kept) return count_here(level);
  if (const CommonCounts* counts = level + 1 == plan_->levels() ? common_counts(level, 1) : nullptr)
    return count_closing(level, ~std::uint32_t{0}, *counts);
  const std::uint64_t key = std::uint64_t{value_[remembered.keys[0]]} << 32 | value_[remembered.keys[1]];
  const Memory::KeptCount& known = memory_.kept(remembered.rest, key);
  if (known.search == search_ && known.key == key && known.rest == remembered.rest) return known.count;
  const Total count = count_here(level);
  memory_.new_kept(remembered.rest, key) = {search_, key, count, remembered.rest};
  return count;
}

template <class View>
Total Matcher<View>::count_here(int level) {
  if (level == plan_->tail.start) return count_tail();
  if (level + 1 == plan_->levels()) return count_level(level, ~std::uint32_t{0});
  if (!plan_->remembered[static_cast<std::size_t>(level)].leaves.empty()) return count_leaves(level);
  return count_over(level, clipped(level));
}

template <class View>
Total Matcher<View>::count_over(int level, sets::Span candidates) {
  if (plan_->remembered[static_cast<std::size_t>(level)].closes_soon)
    if (const CommonCounts* counts = common_counts(level + 2, kManyCandidates * candidates.size()))
      if constexpr (!View::kHoles) return count_closing_soon(level, candidates, *counts);
  if (level + 2 == plan_->levels() && plan_->tail.start > level + 1 &&
      plan_->remembered[static_cast<std::size_t>(level) + 1].closing.inner.level == level)
    if (const CommonCounts* counts = common_counts(level + 1, candidates.size()))
      if constexpr (!View::kHoles) return count_closed(level, candidates, *counts);
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

// The vertices that the last level may take.
template <class View>
sets::Span Matcher<View>::last_vertices() {
  const int level = plan_->levels() - 1;
  const sets::Span set = clipped(level);
  bool all = !View::kHoles || holes(level).empty();
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
