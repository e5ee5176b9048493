// A set of a search that starts from updates, where touched rows have two parts (changing/mark_rows.cuh): the
// twin of match/timed_span.hpp, for units with MOTIFLUX_TWO_PARTS.
//
// A walk visits the entries of the old part and then those that are appended, so it is not ascending.
#pragma once

#include "motiflux/changing/touched_row.hpp"
#include "motiflux/match/changing_plan.hpp"
#include "motiflux/match/marks.hpp"
#include "motiflux/rules/order.hpp"

namespace motiflux::match {

// Takes the room of kSpansOfTimed spans in shared memory.
struct TimedSpan {
  static constexpr const std::uint32_t* bits = nullptr;  // there are no bitmaps of these rows

  sets::Span ids;           // the old part: ids with marks do not count; none has one if `lives` is null
  sets::Span appended;      // ids that the run changes
  const view::Life* lives;  // of each appended id; null: the row is not touched
  // Of a whole row that does not repeat ids and whose changed edge is seen, if it is touched; else null.
  const std::uint32_t* moments;
  std::uint32_t entries;  // of the run, if `moments` is not null
  std::uint32_t changes;
  bool repeats;  // whether ids may be equal although all live
  bool hidden;
#if defined(MOTIFLUX_STAGED_ROWS)
  bool on_host = false;
#endif

  // The entries that a walk visits, and an entry's id.
  MOTIFLUX_DEVICE std::uint64_t count() const { return ids.size() + appended.size(); }
  MOTIFLUX_DEVICE std::uint32_t id(std::uint64_t entry) const {
    return entry < ids.size() ? ids.first[entry] & ~kMark : appended.first[entry - ids.size()];
  }

  MOTIFLUX_DEVICE bool is_clean() const { return lives == nullptr && !repeats; }
  // Whether size_at() tells how many ids live.
  MOTIFLUX_DEVICE bool has_size() const { return is_clean() || moments != nullptr; }

  MOTIFLUX_DEVICE std::uint64_t size_at(std::uint32_t moment) const {
    if (moments == nullptr) return ids.size();
    const std::uint32_t* ends = moments + changes;
    const std::uint32_t* begun = sets::lower_bound(moments, ends, std::uint64_t{moment} + 1);
    const std::uint32_t* ended = sets::lower_bound(ends, ends + changes, moment);
    return entries - changes + static_cast<std::uint64_t>(begun - moments) -
           static_cast<std::uint64_t>(ended - ends);
  }

  MOTIFLUX_DEVICE bool lives_at(const std::uint32_t* id, std::uint32_t moment) const {
    const view::Life life = lives[id - appended.first];
    return hidden ? life.has_inside(moment) : life.has(moment);
  }

  MOTIFLUX_DEVICE bool has_old(std::uint32_t vertex) const {
    const std::uint32_t* id = marked_bound(ids.first, ids.last, vertex);
    while (id != ids.last && *id == (vertex | kMark)) ++id;  // of equal entries the changed ones come first
    return id != ids.last && *id == vertex;
  }

  MOTIFLUX_DEVICE bool has_appended(std::uint32_t vertex, std::uint32_t moment) const {
    const std::uint32_t* id = sets::lower_bound(appended.first, appended.last, vertex);
    for (; id != appended.last && *id == vertex; ++id)
      if (lives_at(id, moment)) return true;
    return false;
  }

  MOTIFLUX_DEVICE bool contains(std::uint32_t vertex, std::uint32_t moment) const {
    return has_old(vertex) || has_appended(vertex, moment);
  }
  MOTIFLUX_DEVICE bool has(std::uint32_t vertex, std::uint32_t moment) const {
    return contains(vertex, moment);
  }

  // Whether the entry is the first living one of its id.
  MOTIFLUX_DEVICE bool takes(std::uint64_t entry, std::uint32_t moment) const {
    if (is_clean()) return true;
    if (entry < ids.size()) {
      const std::uint32_t* id = ids.first + entry;
      return (*id & kMark) == 0 && (id == ids.first || id[-1] != *id);
    }
    const std::uint32_t* id = appended.first + (entry - ids.size());
    if (!lives_at(id, moment)) return false;
    for (const std::uint32_t* before = id; before != appended.first && before[-1] == *id; --before)
      if (lives_at(before - 1, moment)) return false;
    return !repeats || !has_old(*id);
  }
};

inline constexpr std::uint32_t kSpansOfTimed = 4;
static_assert(sizeof(TimedSpan) <= kSpansOfTimed * sizeof(sets::Span), "the host reserves this room");

MOTIFLUX_DEVICE TimedSpan clip(TimedSpan span, const rules::Bounds& allowed) {
  const std::uint64_t all = span.count();
  span.ids = span.lives == nullptr ? rules::clip(span.ids, allowed) : clip_marked(span.ids, allowed);
  const sets::Span kept = rules::clip(span.appended, allowed);
  if (span.lives != nullptr) span.lives += kept.first - span.appended.first;
  span.appended = kept;
  if (span.count() != all) span.moments = nullptr;
  return span;
}

// The row of a source; vertex(level) is the vertex at a level.
template <bool in_bits, class VertexOf>
MOTIFLUX_DEVICE TimedSpan row_of(const ChangingSourceRows& source, const VertexOf& vertex) {
  static_assert(!in_bits, "rows in two parts have no bitmaps");
  const view::ChangingRow row = source.rows.open(vertex(source.level));
  const bool repeats = source.rows.repeats != view::Repeats::kNone;
  if (row.lives == nullptr)
    return {
        {row.neighbors, row.neighbors + row.size}, {}, nullptr, nullptr, row.size, 0, repeats, source.hidden,
#if defined(MOTIFLUX_STAGED_ROWS)
        !source.rows.copies->has(row.neighbors),
#endif
    };
  const auto& touched = *reinterpret_cast<const changing::TouchedRow*>(row.lives);
  const bool countable = source.rows.repeats != view::Repeats::kOfEdges && !source.hidden;
  return {{touched.neighbors, touched.neighbors + touched.old_size},
          {touched.positions, touched.positions + touched.change_count},
          touched.lives,
          countable ? row.moments : nullptr,
          row.size,
          row.changes,
          repeats,
          source.hidden};
}

// A list without lifetimes and repeats.
MOTIFLUX_DEVICE TimedSpan list_of(const sets::Span& ids) {
  return {ids, {}, nullptr, nullptr, 0, 0, false, false};
}

}  // namespace motiflux::match
