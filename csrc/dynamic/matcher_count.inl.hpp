// Counts the matches of a plan from a level on.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "dynamic/matcher.hpp"
#include "motiflux/bits.hpp"

namespace motiflux::dynamic {

// The number of vertices that a level may take, with the levels `distinct` matched.
template <class View>
std::uint64_t Matcher<View>::count_level(int level, std::uint32_t distinct) {
  if (plan_->negates) return count_admitted(level, distinct);
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

// The same where edges must not be there.
template <class View>
std::uint64_t Matcher<View>::count_admitted(int level, std::uint32_t distinct) {
  const std::uint32_t others = step(level).distinct & distinct;
  const sets::Span set = clipped(level);
  spend(1 + set.size());
  std::uint64_t size = 0;
  for (Vertex vertex : set)
    size += !is_hole(level, vertex) && !is_taken(others, vertex) && admits(level, vertex);
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
    if (!view_->serves(vertex, needs) || is_hole(level, vertex) || excluded(level, vertex) ||
        leaves_out(level, vertex))
      continue;
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

}  // namespace motiflux::dynamic
