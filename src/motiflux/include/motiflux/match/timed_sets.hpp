// The sets of a step over rows of a changing graph, at the moment of an update.
//
// Spans may hold entries that do not live at the moment, and equal ids. The walker of the shortest span skips
// these, so a set that is written is ascending, without gaps or repeats, as every set of a search.
#pragma once

#include "motiflux/match/changing_plan.hpp"
#include "motiflux/match/state.hpp"
#include "motiflux/rules/order.hpp"

namespace motiflux::match {

// Takes the room of kSpansOfTimed spans in shared memory.
struct TimedSpan {
  sets::Span ids;
  const view::Life* lives;  // of each id; null: all live
  bool repeats;             // whether ids may be equal although all live
  bool hidden;

  MOTIFLUX_DEVICE bool is_clean() const { return lives == nullptr && !repeats; }

  MOTIFLUX_DEVICE bool lives_at(const std::uint32_t* id, std::uint32_t moment) const {
    if (lives == nullptr) return true;
    const view::Life life = lives[id - ids.first];
    return hidden ? life.has_inside(moment) : life.has(moment);
  }

  MOTIFLUX_DEVICE bool contains(std::uint32_t vertex, std::uint32_t moment) const {
    for (const std::uint32_t* id = sets::lower_bound(ids.first, ids.last, vertex);
         id != ids.last && *id == vertex; ++id)
      if (lives_at(id, moment)) return true;
    return false;
  }

  // Whether the entry is the first living one of its id.
  MOTIFLUX_DEVICE bool takes(std::uint64_t entry, std::uint32_t moment) const {
    if (is_clean()) return true;
    const std::uint32_t* id = ids.first + entry;
    if (!lives_at(id, moment)) return false;
    for (const std::uint32_t* before = id; before != ids.first && before[-1] == *id; --before)
      if (lives_at(before - 1, moment)) return false;
    return true;
  }
};

inline constexpr std::uint32_t kSpansOfTimed = 2;
static_assert(sizeof(TimedSpan) == kSpansOfTimed * sizeof(sets::Span), "the host reserves this room");

// As match::Gathered.
struct TimedSets {
  const TimedSpan* spans;
  std::uint32_t count;
  std::uint32_t driver;
  std::uint32_t moment;

  MOTIFLUX_DEVICE sets::Span shortest() const { return spans[driver].ids; }
  MOTIFLUX_DEVICE bool is_set() const { return count == 1 && spans[0].is_clean(); }

  MOTIFLUX_DEVICE bool have(std::uint64_t entry, std::uint32_t candidate) const {
    if (!spans[driver].takes(entry, moment)) return false;
    for (std::uint32_t s = 0; s < count; ++s)
      if (s != driver && !spans[s].contains(candidate, moment)) return false;
    return true;
  }
};

MOTIFLUX_DEVICE TimedSpan clip(TimedSpan span, const rules::Bounds& allowed) {
  const sets::Span kept = rules::clip(span.ids, allowed);
  if (span.lives != nullptr) span.lives += kept.first - span.ids.first;
  span.ids = kept;
  return span;
}

// Looks up the sets of a step, clipped to `allowed`, one set per lane.
template <class Lanes, class Step>
MOTIFLUX_DEVICE TimedSets gather_timed(const Lanes& lanes, const SharedState& shared, const Step& step,
                                       const rules::Bounds& allowed) {
  const view::StepShape shape = step.shape();
  const sets::Span named = step.allowed();
  const std::uint32_t reuses = shape.reuse != view::kNoReuse, names = named.first != nullptr;
  const std::uint32_t count = shape.source_count + reuses + names;
  auto* spans = reinterpret_cast<TimedSpan*>(shared.spans);
  lanes.sync();  // the last reader of the spans is done
  for (std::uint32_t s = lanes.lane(); s < count; s += Lanes::kLanes) {
    TimedSpan set{named, nullptr, false, false};
    if (s < shape.source_count) {
      const ChangingSourceRows source = step.source(s);
      const view::ChangingRow row = source.rows.rows[shared.levels[source.level].vertex];
      set = {{row.neighbors, row.neighbors + row.size}, row.lives, source.rows.repeats != 0, source.hidden};
    } else if (s < shape.source_count + reuses) {
      const LevelState& reused = shared.levels[shape.reuse];
      set.ids = {reused.base, reused.base + reused.base_size};
    }
    spans[s] = clip(set, allowed);
  }
  lanes.sync();
  std::uint32_t driver = 0;
  for (std::uint32_t s = 1; s < count; ++s)
    if (spans[s].ids.size() < spans[driver].ids.size()) driver = s;
  return {spans, count, driver, step.moment()};
}

}  // namespace motiflux::match
