// The state of a group's search in shared memory:
//
//   | spans: max_spans sets to intersect | levels: one LevelState each | staged: 32 candidates |
//                                                                      enumeration only
//
// The cursor of the level being walked is in registers; the others are here.
#pragma once

#include "motiflux/platform.hpp"
#include "motiflux/sets/span.hpp"

namespace motiflux::match {

// A walk over the candidates of a level, strip by strip; a strip has one candidate per lane.
struct Cursor {
  const std::uint32_t* base;  // the walk is over base[next .. end)
  std::uint32_t next;         // behind the strip
  std::uint32_t end;
  std::uint32_t waiting;  // candidates of the strip that passed and were not yet taken
};

struct LevelState {
  const std::uint32_t* base;  // the level's set, if it may be kept
  std::uint32_t base_size;
  std::uint32_t vertex;  // the level's matched vertex
  Cursor cursor;
};

// The vertices of levels, with a given vertex at `level`.
struct VerticesWith {
  const LevelState* levels;
  std::uint32_t level;
  std::uint32_t vertex;

  MOTIFLUX_DEVICE std::uint32_t operator()(std::uint32_t other) const {
    return other == level ? vertex : levels[other].vertex;
  }
};

// The state of a group in registers.
struct Place {
  std::uint64_t arc;  // root arcs left of the chunk: [arc, arc_end)
  std::uint64_t arc_end;
  std::uint64_t chunk;  // arcs of the current chunk; 1 for a split
  std::uint32_t level;  // 0 between two slices
  std::uint32_t valid;  // levels whose kept set is valid
  std::uint32_t floor;  // the walk ends when it leaves this level; the vertices of lower levels are given
};

// The saved state of a parked group; its LevelStates follow.
struct Saved {
  Place place;
  Cursor cursor;
};

inline constexpr std::uint32_t kStaged = 32;

struct SharedState {
  sets::Span* spans;
  LevelState* levels;
  std::uint32_t* staged;

  MOTIFLUX_DEVICE SharedState(unsigned char* mine, std::uint32_t level_count, std::uint32_t max_spans)
      : spans(reinterpret_cast<sets::Span*>(mine)),
        levels(reinterpret_cast<LevelState*>(spans + max_spans)),
        staged(reinterpret_cast<std::uint32_t*>(levels + level_count)) {}
};

}  // namespace motiflux::match
