// Levels of a search that compares attributes of copies (copies/ranges.hpp).
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "copies/ranges.hpp"
#include "search/projection.hpp"
#include "search/walker.hpp"

namespace motiflux::search {
namespace {

// A row of at most this many entries is tried as it is: looking for a part of it takes as long.
constexpr std::size_t kShortRow = 4;

// The same where several rows are intersected, after which few entries are left.
constexpr std::size_t kShortIntersection = 64;

// Entries of a row between the one that is tried and the one whose copies are fetched into caches.
constexpr std::uint64_t kAhead = 6;

}  // namespace

// `candidate` points to the value of the level in the row that it came from, or elsewhere.
bool Walker::enters_compared(int level, const Vertex* candidate) {
  std::uint64_t guess = copies::Ranges::kNoGuess;
  if (candidate) {
    const Span from = row(native_plan_.plan.shape.steps[level].first_source);
    if (candidate >= from.first && candidate < from.last)
      guess = static_cast<std::uint64_t>(candidate - from.first);
  }
  if (ranges_->enter(level, value_.data(), guess)) return true;
  --sizes_[static_cast<std::size_t>(level)];
  return false;
}

// The candidates of a level: where copies of an edge are sorted by their main value, only the ends of copies
// that agree with the copies matched before, if these are fewer than the neighbours.
Walker::Span Walker::compared_candidates(int level) {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  decided_ = false;
  if (level == last_level_ && step.source_count == 1 && !native_plan_.compared->count_choices) {
    const int variable = native_plan_.variable_of_source[step.first_source];
    if (variable >= 0 && ranges_->decided_by_window(variable, level)) {
      decided_ = true;
      return ends_of(ranges_->window(variable, level, value_.data()), step.first_source, level);
    }
  }
  std::size_t shortest = SIZE_MAX;
  for (std::uint32_t s = 0; s < step.source_count; ++s)
    shortest = std::min(shortest, row(step.first_source + s).size());
  if (shortest <= (step.source_count > 1 ? kShortIntersection : kShortRow)) return clipped(level);
  if (!native_plan_.compared->both_ends) return clipped(level);  // half of the copies agree
  copies::Ranges::Window best;
  std::uint32_t from = 0;
  std::size_t fewest = shortest;
  for (std::uint32_t s = 0; s < step.source_count; ++s) {
    const int variable = native_plan_.variable_of_source[step.first_source + s];
    if (variable < 0) continue;
    const copies::Ranges::Window window = ranges_->window(variable, level, value_.data());
    if (window.range.size() >= fewest) continue;
    fewest = window.range.size();
    best = window;
    from = step.first_source + s;
  }
  if (fewest == shortest) return clipped(level);
  return ends_of(best, from, level);
}

// The candidates of a level to which the copies of a window of source `from` lead.
Walker::Span Walker::ends_of(const copies::Ranges::Window& window, std::uint32_t from, int level) {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  std::vector<Vertex>& found = levels_[static_cast<std::size_t>(level)].buffer;
  found.clear();
  ranges_->others(window, level, found);
  budget_ -= static_cast<std::int64_t>(window.range.size());
  for (std::uint32_t s = 0; s < step.source_count && !found.empty(); ++s) {
    // Copies are those between all vertices.
    if (step.first_source + s == from && !native_plan_.filtered_source[from]) continue;
    const Span other = row(step.first_source + s);
    std::erase_if(found, [&](Vertex vertex) { return !sets::contains(other, vertex); });
  }
  const rules::Bounds allowed = bounds(level, step.after, step.before);
  return sets::clip({found.data(), found.data() + found.size()}, allowed.first, allowed.end);
}

bool Walker::visit_last_compared(int level, Span candidates) {
  const bool decided = std::exchange(decided_, false);
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  if (decided) return counting_ ? count_last(level, candidates) : list_last(level, candidates);
  const Span whole = row(step.first_source);
  const bool in_row =
      step.source_count == 1 && candidates.first >= whole.first && candidates.last <= whole.last;
  if (in_row && native_plan_.compared->last_is_greatest && !native_plan_.filtered_source[step.first_source] &&
      !native_plan_.compared->count_choices && ranges_->greatest(value_.data(), whole.size()))
    return visit_last_greatest(level, candidates, whole);
  for (const Vertex* candidate = candidates.first; candidate != candidates.last; ++candidate) {
    if (in_row)
      ranges_->prefetch(level, value_.data(), static_cast<std::uint64_t>(candidate - whole.first) + kAhead);
    if (accepts(level, *candidate)) {
      assign(level, *candidate);
      if (enters(level, candidate) && !decide(level, candidate)) return false;
      if (projector_ && projector_->next_level() < level) break;
    }
    if (!spend(1)) return false;
  }
  return spend(1);
}

// The same where the greatest main value of each pair decides: these are beside the row `whole`.
bool Walker::visit_last_greatest(int level, Span candidates, Span whole) {
  const std::int64_t* greatest = ranges_->greatest(value_.data(), whole.size());
  kept_.clear();
  for (const Vertex* candidate = candidates.first; candidate != candidates.last; ++candidate)
    if (ranges_->accepts_greatest(greatest[candidate - whole.first])) kept_.push_back(*candidate);
  std::vector<Vertex>& found = levels_[static_cast<std::size_t>(level)].buffer;
  found.swap(kept_);
  budget_ -= static_cast<std::int64_t>(candidates.size() / 4);
  const Span span{found.data(), found.data() + found.size()};
  return counting_ ? count_last(level, span) : list_last(level, span);
}

// Counts or passes on the embedding of all levels, if there is a choice; false when stopped.
bool Walker::decide(int level, const Vertex* last) {
  try {
    if (!ranges_->has_choice(level)) return true;
    if (!counting_)
      hand_out({last, last + 1});
    else
      found(native_plan_.compared->count_choices ? choices(level) : 1);
    return true;
  } catch (const copies::Stopped&) {
    return false;
  }
}

// The number of choices, or one beyond the limit. Throws std::overflow_error where there is no limit.
Total Walker::choices(int level) {
  try {
    return ranges_->choices(level);
  } catch (const std::overflow_error&) {
    if (!visitor_.is_limited()) throw;
    return ranges_->choices_to_many(level);
  }
}

}  // namespace motiflux::search
