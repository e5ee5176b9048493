// The vertices that a level may take: intersections of rows, without vertices that are absent, excluded by
// order restrictions or matched already.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "dynamic/matcher.hpp"
#include "motiflux/bits.hpp"

namespace motiflux::dynamic {

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

// The vertices that the last level may take.
template <class View>
sets::Span Matcher<View>::last_vertices() {
  const int level = plan_->levels() - 1;
  if (plan_->negates) {
    fill(level, ~std::uint32_t{0}, last_);
    std::erase_if(last_, [&](Vertex vertex) { return !admits(level, vertex); });
    return {last_.data(), last_.data() + last_.size()};
  }
  const sets::Span set = clipped(level);
  bool all = !View::kHoles || holes(level).empty();
  for_each_bit(plan_->steps[static_cast<std::size_t>(level)].distinct,
               [&](std::uint32_t other) { all = all && !sets::contains(set, value_[other]); });
  if (all) return set;
  fill(level, ~std::uint32_t{0}, last_);
  return {last_.data(), last_.data() + last_.size()};
}

}  // namespace motiflux::dynamic
