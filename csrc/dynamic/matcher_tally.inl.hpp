// Counts the matches of a plan from a level on, and for each vertex of its tallied level.
#pragma once

#include <cstdint>

#include "dynamic/matcher.hpp"

namespace motiflux::dynamic {

// `level`: at most the tallied level.
template <class View>
template <class Tally>
Total Matcher<View>::tally_from(int level, Tally& tally) {
  if (level + 1 < plan_->levels()) return tally_over(level, clipped(level), tally);
  const sets::Span last = last_vertices();
  spend(1 + last.size());
  for (Vertex vertex : last) tally(vertex, Total{1});
  return last.size();
}

template <class View>
template <class Tally>
Total Matcher<View>::tally_over(int level, sets::Span candidates, Tally& tally) {
  const bool here = level == plan_->tallied_level();
  Total total = 0;
  if (here && tally_closing(level, candidates, tally, total)) return total;
  const Needs needs = plan_->needs[static_cast<std::size_t>(level)];
  spend(1 + candidates.size());
  for (Vertex vertex : candidates) {
    if (!view_->serves(vertex, needs) || is_hole(level, vertex) || excluded(level, vertex) ||
        leaves_out(level, vertex))
      continue;
    assign(level, vertex);
    const Total matches = here ? count_from(level + 1) : tally_from(level + 1, tally);
    if (here && matches > 0) tally(vertex, matches);
    add_checked(total, matches);
  }
  return total;
}

// The same by common counts (matcher_remembered.inl.hpp), if there are any; adds to `total`.
template <class View>
template <class Tally>
bool Matcher<View>::tally_closing(int level, sets::Span candidates, Tally& tally, Total& total) {
  if constexpr (View::kHoles) return false;
  const auto at = static_cast<std::size_t>(level);
  if (plan_->remembered[at].closes_soon) {
    const CommonCounts* counts = common_counts(level + 2, kManyCandidates * candidates.size());
    if (counts == nullptr) return false;
    for (const Vertex* vertex = candidates.first; vertex < candidates.last; ++vertex) {
      const Total matches = count_closing_soon(level, {vertex, vertex + 1}, *counts);
      if (matches > 0) tally(*vertex, matches);
      add_checked(total, matches);
    }
    return true;
  }
  if (level + 2 != plan_->levels() || plan_->tail.start <= level + 1 ||
      plan_->remembered[at + 1].closing.inner.level != level)
    return false;
  const CommonCounts* counts = common_counts(level + 1, candidates.size());
  if (counts == nullptr) return false;
  spend(1 + candidates.size());
  for (Vertex vertex : candidates) {
    if (counts->of(vertex) == 0 || excluded(level, vertex)) continue;
    value_[at] = vertex;
    const std::uint64_t matches = count_closing(level + 1, ~std::uint32_t{0}, *counts);
    if (matches > 0) tally(vertex, Total{matches});
    total += matches;
  }
  return true;
}

}  // namespace motiflux::dynamic
