// Counts by numbers that are kept between searches: sums over leaves, and common counts.
#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "dynamic/matcher.hpp"
#include "motiflux/bits.hpp"

namespace motiflux::dynamic {

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

}  // namespace motiflux::dynamic
