// A set of a search that starts from updates: a row of a changing graph, or a list.
#pragma once

#include "motiflux/match/changing_plan.hpp"
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

MOTIFLUX_DEVICE TimedSpan clip(TimedSpan span, const rules::Bounds& allowed) {
  const sets::Span kept = rules::clip(span.ids, allowed);
  if (span.lives != nullptr) span.lives += kept.first - span.ids.first;
  span.begins = span.begins && kept.first == span.ids.first;
  if (kept.size() != span.ids.size()) span.moments = nullptr;
  span.ids = kept;
  return span;
}

// The bitmap of a vertex's row, or null.
MOTIFLUX_DEVICE const std::uint32_t* bitmap_of(const ChangingSourceRows& source, std::uint32_t size,
                                               std::uint32_t vertex) {
  if (source.bitmaps->numbers == nullptr || size < source.bitmaps->least) return nullptr;
  const std::uint32_t number = source.bitmaps->numbers[vertex];
  return number == view::RowBitmaps::kNone ? nullptr : source.bitmaps->of(number);
}

// The row of a source; vertex(level) is the vertex at a level.
template <bool in_bits, class VertexOf>
MOTIFLUX_DEVICE TimedSpan row_of(const ChangingSourceRows& source, const VertexOf& vertex) {
  const view::ChangingRow row = source.rows.open(vertex(source.level));
  const view::Repeats repeats = source.rows.repeats;
  const bool countable = repeats != view::Repeats::kOfEdges && !source.hidden;
  return {
      {row.neighbors, row.neighbors + row.size},
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

// A list without lifetimes and repeats.
MOTIFLUX_DEVICE TimedSpan list_of(const sets::Span& ids) {
  return {ids, nullptr, nullptr, nullptr, 0, false, false, true};
}

}  // namespace motiflux::match
