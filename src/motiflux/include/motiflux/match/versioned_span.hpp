// A set of a search over rows of several versions (view/versions.hpp): the twin of match/timed_span.hpp, for
// units with MOTIFLUX_VERSIONS.
//
// Each span has its own moment, relative to the version, and leaves the search's moment aside. An entry of
// the edge that the update changes is not seen by sources that hide it (homomorphism). It is the one of the
// root's other vertex whose lifetime begins or ends at the moment.
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/match/changing_plan.hpp"
#include "motiflux/rules/order.hpp"

namespace motiflux::match {

// Takes the room of kSpansOfTimed spans in shared memory.
struct TimedSpan {
  static constexpr const std::uint32_t* bits = nullptr;  // there are no bitmaps of these rows
  static constexpr std::uint32_t kNoVertex = ~std::uint32_t{0};

  sets::Span ids;
  const view::Life* lives;  // of each id; null: all live and are seen
  std::uint32_t relative;   // the moment of the search
  std::uint32_t hidden;     // the other end of the changed edge, if it is not seen; kNoVertex: all are

  // The entries that a walk visits, and an entry's id.
  MOTIFLUX_DEVICE std::uint64_t count() const { return ids.size(); }
  MOTIFLUX_DEVICE std::uint32_t id(std::uint64_t entry) const { return ids.first[entry]; }

  MOTIFLUX_DEVICE bool is_clean() const { return lives == nullptr; }
  // Whether size_at() tells how many ids live.
  MOTIFLUX_DEVICE bool has_size() const { return is_clean(); }
  MOTIFLUX_DEVICE std::uint64_t size_at(SearchMoment) const { return ids.size(); }

  MOTIFLUX_DEVICE bool lives_at(const std::uint32_t* id, SearchMoment) const {
    if (lives == nullptr) return true;
    const view::Life life = view::load_life(lives, static_cast<std::uint64_t>(id - ids.first));
    if (*id == hidden && (life.first == relative || life.last == relative)) return false;
    return life.has(relative);
  }

  MOTIFLUX_DEVICE bool contains(std::uint32_t vertex, SearchMoment moment) const {
    for (const std::uint32_t* id = sets::lower_bound(ids.first, ids.last, vertex);
         id != ids.last && *id == vertex; ++id)
      if (lives_at(id, moment)) return true;
    return false;
  }
  MOTIFLUX_DEVICE bool has(std::uint32_t vertex, SearchMoment moment) const {
    return contains(vertex, moment);
  }

  // Whether the entry lives: of equal ids, one does at most.
  MOTIFLUX_DEVICE bool takes(std::uint64_t entry, SearchMoment moment) const {
    return lives_at(ids.first + entry, moment);
  }
};

inline constexpr std::uint32_t kSpansOfTimed = 3;  // as of changing rows
static_assert(sizeof(TimedSpan) <= kSpansOfTimed * sizeof(sets::Span), "the host reserves this room");

MOTIFLUX_DEVICE TimedSpan clip(TimedSpan span, const rules::Bounds& allowed) {
  const sets::Span kept = rules::clip(span.ids, allowed);
  if (span.lives != nullptr) span.lives += kept.first - span.ids.first;
  span.ids = kept;
  return span;
}

// The row of a source; vertex(level) is the vertex at a level.
template <bool in_bits, class VertexOf>
MOTIFLUX_DEVICE TimedSpan row_of(const ChangingSourceRows& source, const VertexOf& vertex) {
  static_assert(!in_bits, "rows of several versions have no bitmaps");
  const std::uint32_t own = vertex(source.level);
  const view::VersionedRow row =
      source.rows.open(own, source.moment, (source.root->listed & kReadsBefore) != 0);
  std::uint32_t hidden = TimedSpan::kNoVertex;
  if (source.hidden && own == source.root->vertices[0]) hidden = source.root->vertices[1];
  if (source.hidden && own == source.root->vertices[1]) hidden = source.root->vertices[0];
  const bool clean = row.is_clean() && hidden == TimedSpan::kNoVertex;
  return {{row.neighbors, row.neighbors + row.size}, clean ? nullptr : row.lives, row.moment, hidden};
}

// A list without lifetimes and repeats.
MOTIFLUX_DEVICE TimedSpan list_of(const sets::Span& ids) {
  return {ids, nullptr, 0, TimedSpan::kNoVertex};
}

}  // namespace motiflux::match
