// The plan as plain data, read by every engine: the mirror of motiflux/plan/shape.py, name by name.
//
// A search assigns data vertices to levels 0, 1, ... in matching order. The candidates of level i:
//
//   base(i)    base(reuse), if any, intersected with a row for each source: the neighbours of the
//              vertex at source.level in the source's adjacency; clipped to the order restrictions
//              whose level is at most `anchor`.
//   final(i)   base(i) clipped to the other order restrictions, less the vertices of the `distinct`
//              levels and, for induced matching, less the neighbours that `not_out` and `not_in` name.
//
// base(i) depends on levels 0..anchor only, so it may be kept while later levels change. Level 0 has no
// sources; the rows of level 1's first source root the search.
//
// Sets of levels are bit masks: bit l is level l.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::view {

inline constexpr int kMaxLevels = 32;
inline constexpr int kNoReuse = -1;

enum class Direction : std::uint16_t { kOut = 0, kIn = 1, kEither = 2 };

struct Source {
  std::uint16_t level;
  Direction direction;
};

// The part of a step that a compiled search depends on.
struct StepShape {
  std::uint32_t first_source;  // into PlanShape::sources
  std::uint32_t source_count;
  std::int32_t reuse;    // a level >= 2, or kNoReuse
  std::int32_t anchor;   // last level that base depends on
  std::uint32_t after;   // the candidate is greater than the vertex of each of these levels
  std::uint32_t before;  // ... less than ...
  std::uint32_t distinct;
  std::uint32_t not_out;  // the candidate is no out-neighbour of the vertex of these levels
  std::uint32_t not_in;   // ... no in-neighbour ...
  bool bounds_out;        // whether StepArgs bounds the candidate's degrees; never at the last level
  bool bounds_in;
};

struct PlanShape {
  std::uint32_t levels;
  const StepShape* steps;  // [levels]
  const Source* sources;   // of all steps, one after another
};

// The part of a step that may change between runs of one compiled search.
struct StepArgs {
  std::uint32_t min_out_degree;
  std::uint32_t min_in_degree;
};

struct PlanArgs {
  const StepArgs* steps;           // [levels]
  const std::uint16_t* adjacency;  // [sources]: the adjacency of each source
};

struct Plan {
  PlanShape shape;
  PlanArgs args;
};

}  // namespace motiflux::view
