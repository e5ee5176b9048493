// The sets of a step over rows of a changing graph, at the moment of an update.
//
// Spans may hold entries that do not live at the moment, and equal ids. The walker of the shortest span skips
// these, so a set that is written is ascending, without gaps or repeats, as every set of a search.
#pragma once

#include "motiflux/match/changing_plan.hpp"
#include "motiflux/match/state.hpp"
#if defined(MOTIFLUX_STAGED_ROWS)
#include "motiflux/match/staged_rows.hpp"
#endif
#if defined(MOTIFLUX_TWO_PARTS)
#include "motiflux/match/two_part_span.hpp"
#elif defined(MOTIFLUX_VERSIONS)
#include "motiflux/match/versioned_span.hpp"
#else
#include "motiflux/match/timed_span.hpp"
#endif
#include "motiflux/rules/candidate.hpp"
#include "motiflux/rules/order.hpp"

namespace motiflux::match {

// As match::Gathered.
struct TimedSets {
  const TimedSpan* spans;
  std::uint32_t count;
  std::uint32_t driver;
  SearchMoment moment;
  bool has_bits;  // whether candidates are looked up in a bitmap
#if defined(MOTIFLUX_TWO_PARTS)
  std::uint32_t* spare = nullptr;  // room for a list, in the group's memory
#endif

  MOTIFLUX_DEVICE sets::Span shortest() const { return spans[driver].ids; }
  MOTIFLUX_DEVICE bool is_set() const { return count == 1 && spans[0].is_clean(); }
  // Whether the number of members is known without walking.
  MOTIFLUX_DEVICE bool has_size() const { return count == 1 && spans[0].has_size(); }

  MOTIFLUX_DEVICE bool have(std::uint64_t entry, std::uint32_t candidate) const {
    if (!spans[driver].takes(entry, moment)) return false;
    for (std::uint32_t s = 0; s < count; ++s)
      if (s != driver && !spans[s].contains(candidate, moment)) return false;
    return true;
  }
};

// The number of sets of a step.
template <class Step>
MOTIFLUX_DEVICE std::uint32_t sets_of(const Step& step) {
  const view::StepShape& shape = step.shape();
  return shape.source_count + (shape.reuse != view::kNoReuse) + (step.allowed().first != nullptr);
}

// The set of a step with a number, not clipped; vertex(level) is the vertex at a level.
template <bool in_bits, class Step, class VertexOf>
MOTIFLUX_DEVICE TimedSpan set_of(const Step& step, std::uint32_t number, const LevelState* levels,
                                 const VertexOf& vertex) {
  const view::StepShape& shape = step.shape();
  if (number < shape.source_count) {
    const ChangingSourceRows source = step.source(number);
    return row_of<in_bits>(source, vertex);
  }
  if (number == shape.source_count && shape.reuse != view::kNoReuse) {
    const LevelState& reused = levels[shape.reuse];
    return list_of({reused.base, reused.base + reused.base_size});
  }
  return list_of(step.allowed());
}

// Longer sets are not counted by one lane.
inline constexpr std::uint32_t kLongestAlone = 32;
inline constexpr std::uint64_t kTooLong = ~std::uint64_t{0};

// The number of vertices that a step may take, without those of the levels `distinct`, found by the calling
// lane alone; kTooLong if that would take long.
template <bool in_bits, class Step, class VertexOf>
MOTIFLUX_DEVICE_CALL std::uint64_t size_alone(const Step step, const LevelState* levels,
                                              const VertexOf vertex, std::uint32_t distinct) {
  const view::StepShape& shape = step.shape();
  const rules::Bounds allowed = rules::bounds(shape.after, shape.before, vertex);
  const std::uint32_t count = sets_of(step);
  TimedSpan walked = clip(set_of<in_bits>(step, 0, levels, vertex), allowed);
  std::uint32_t which = 0;
  for (std::uint32_t s = 1; s < count; ++s) {
    const TimedSpan other = clip(set_of<in_bits>(step, s, levels, vertex), allowed);
    if (other.count() >= walked.count()) continue;
    walked = other;
    which = s;
  }
  std::uint64_t found = 0;
  if (count == 1 && walked.has_size()) {
    found = walked.size_at(step.moment());
    for_each_bit(distinct, [&](std::uint32_t level) {
      found -= walked.contains(vertex(level), step.moment()) && rules::is_first(distinct, level, vertex);
    });
    return found;
  }
  if (walked.count() > kLongestAlone) return kTooLong;
#if defined(MOTIFLUX_STAGED_ROWS)
  // The group stages rows of more than one line.
  for (std::uint32_t s = 0; s < count; ++s) {
    if (s == which) continue;
    const TimedSpan other = clip(set_of<in_bits>(step, s, levels, vertex), allowed);
    if (other.on_host && other.ids.size() > kWordsOfLine && stages(other.ids.size(), walked.count()))
      return kTooLong;
  }
#endif
  for (std::uint32_t entry = 0; entry < walked.count(); ++entry) {
    const std::uint32_t candidate = walked.id(entry);
    bool kept = walked.takes(entry, step.moment()) && rules::is_distinct(distinct, candidate, vertex);
    for (std::uint32_t s = 0; kept && s < count; ++s)
      kept = s == which || set_of<in_bits>(step, s, levels, vertex).has(candidate, step.moment());
    found += kept;
  }
  return found;
}

// Looks up the sets of a step, clipped to `allowed`, one set per lane.
template <bool in_bits, class Lanes, class Step>
MOTIFLUX_DEVICE TimedSets gather_timed(const Lanes& lanes, const SharedState& shared, const Step& step,
                                       const rules::Bounds& allowed) {
  const std::uint32_t count = sets_of(step);
  auto* spans = reinterpret_cast<TimedSpan*>(shared.spans);
  lanes.sync();  // the last reader of the spans is done
  const auto vertex = [levels = shared.levels](std::uint32_t level) { return levels[level].vertex; };
  for (std::uint32_t s = lanes.lane(); s < count; s += Lanes::kLanes)
    spans[s] = clip(set_of<in_bits>(step, s, shared.levels, vertex), allowed);
  lanes.sync();
  std::uint32_t driver = 0;
  for (std::uint32_t s = 1; s < count; ++s)
    if (spans[s].count() < spans[driver].count()) driver = s;
  bool has_bits = false;
  for (std::uint32_t s = 0; in_bits && s < count; ++s) has_bits |= s != driver && spans[s].bits != nullptr;
  return {spans, count, driver, step.moment(), has_bits};
}

}  // namespace motiflux::match
