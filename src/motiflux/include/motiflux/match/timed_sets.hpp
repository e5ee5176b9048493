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
#include "motiflux/rules/candidate.hpp"
#include "motiflux/rules/order.hpp"

namespace motiflux::match {

// Takes the room of kSpansOfTimed spans in shared memory.
struct TimedSpan {
  sets::Span ids;
  const view::Life* lives;  // of each id; null: all live
  // Of a whole row that repeats ids in gaps only and whose changed edge is seen; else null.
  const std::uint32_t* moments;
  const std::uint32_t* bits;  // of the row: a bitmap of view::RowBitmaps; null: it has none
  std::uint32_t changes;
  bool repeats;  // whether ids may be equal although all live
  bool hidden;
  bool begins;  // whether the first id is that of the row
#if defined(MOTIFLUX_STAGED_ROWS)
  bool on_host = false;
#endif

  // The entries that a walk visits, and an entry's id.
  MOTIFLUX_DEVICE std::uint64_t count() const { return ids.size(); }
  MOTIFLUX_DEVICE std::uint32_t id(std::uint64_t entry) const { return ids.first[entry]; }

  MOTIFLUX_DEVICE bool is_clean() const { return lives == nullptr && !repeats; }
  // Whether size_at() tells how many ids live.
  MOTIFLUX_DEVICE bool has_size() const { return is_clean() || moments != nullptr; }

  MOTIFLUX_DEVICE std::uint64_t size_at(std::uint32_t moment) const {
    if (moments == nullptr) return ids.size();
    if (lives == nullptr) return ids.size() - changes;
    const std::uint32_t* ends = moments + changes;
    const std::uint32_t* begun = sets::lower_bound(moments, ends, std::uint64_t{moment} + 1);
    const std::uint32_t* ended = sets::lower_bound(ends, ends + changes, moment);
    return ids.size() - changes + static_cast<std::uint64_t>(begun - moments) -
           static_cast<std::uint64_t>(ended - ends);
  }

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

  // The same for a vertex within the bounds that the span was clipped to.
  MOTIFLUX_DEVICE bool has(std::uint32_t vertex, std::uint32_t moment) const {
    using Bitmaps = view::RowBitmaps;
    if (bits == nullptr) return contains(vertex, moment);
    const std::uint32_t found = bits[Bitmaps::word_of(vertex)] >> Bitmaps::shift_of(vertex);
    if ((found & Bitmaps::kHasLifetime) == 0) return (found & Bitmaps::kHasEntry) != 0;
    return contains_timed(vertex, moment);
  }

  // The same if the bitmap says that its entries have lifetimes.
  MOTIFLUX_DEVICE bool contains_timed(std::uint32_t vertex, std::uint32_t moment) const {
    using Bitmaps = view::RowBitmaps;
    if (!begins) return contains(vertex, moment);
    const std::uint32_t* id = ids.first + bits[Bitmaps::block_of(vertex) * Bitmaps::kWordsOfBlock];
    for (id = sets::gallop(id, ids.last, vertex); id != ids.last && *id == vertex; ++id)
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

inline constexpr std::uint32_t kSpansOfTimed = 3;
static_assert(sizeof(TimedSpan) <= kSpansOfTimed * sizeof(sets::Span), "the host reserves this room");

// As match::Gathered.
struct TimedSets {
  const TimedSpan* spans;
  std::uint32_t count;
  std::uint32_t driver;
  std::uint32_t moment;
  bool has_bits;  // whether candidates are looked up in a bitmap

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

MOTIFLUX_DEVICE TimedSpan clip(TimedSpan span, const rules::Bounds& allowed) {
  const sets::Span kept = rules::clip(span.ids, allowed);
  if (span.lives != nullptr) span.lives += kept.first - span.ids.first;
  span.begins = span.begins && kept.first == span.ids.first;
  if (kept.size() != span.ids.size()) span.moments = nullptr;
  span.ids = kept;
  return span;
}

// The number of sets of a step.
template <class Step>
MOTIFLUX_DEVICE std::uint32_t sets_of(const Step& step) {
  const view::StepShape& shape = step.shape();
  return shape.source_count + (shape.reuse != view::kNoReuse) + (step.allowed().first != nullptr);
}

// The bitmap of a vertex's row, or null.
MOTIFLUX_DEVICE const std::uint32_t* bitmap_of(const ChangingSourceRows& source, std::uint32_t size,
                                               std::uint32_t vertex) {
  if (source.bitmaps->numbers == nullptr || size < source.bitmaps->least) return nullptr;
  const std::uint32_t number = source.bitmaps->numbers[vertex];
  return number == view::RowBitmaps::kNone ? nullptr : source.bitmaps->of(number);
}

// The set of a step with a number, not clipped; vertex(level) is the vertex at a level.
template <bool in_bits, class Step, class VertexOf>
MOTIFLUX_DEVICE TimedSpan set_of(const Step& step, std::uint32_t number, const LevelState* levels,
                                 const VertexOf& vertex) {
  const view::StepShape& shape = step.shape();
  if (number < shape.source_count) {
    const ChangingSourceRows source = step.source(number);
    const view::ChangingRow row = source.rows.open(vertex(source.level));
    const view::Repeats repeats = source.rows.repeats;
    const bool countable = repeats != view::Repeats::kOfEdges && !source.hidden;
    return {{row.neighbors, row.neighbors + row.size},
            row.lives,
            countable ? row.moments : nullptr,
            in_bits ? bitmap_of(source, row.size, vertex(source.level)) : nullptr,
            row.changes,
            repeats != view::Repeats::kNone,
            source.hidden,
            true,
#if defined(MOTIFLUX_STAGED_ROWS)
            row.lives == nullptr && !source.rows.copies->has(row.neighbors),
#endif
    };
  }
  if (number == shape.source_count && shape.reuse != view::kNoReuse) {
    const LevelState& reused = levels[shape.reuse];
    return {{reused.base, reused.base + reused.base_size}, nullptr, nullptr, nullptr, 0, false, false, true};
  }
  return {step.allowed(), nullptr, nullptr, nullptr, 0, false, false, true};
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
