// The plan as plain data, read by every engine: the mirror of motiflux/plan/ir.py.
//
// A search assigns data vertices to levels 0, 1, ... in matching order. The candidates of level i are
//
//   base(i)   = base(reuse) if any, intersected with row vertex(s.level) of adjacency s.slot for each source
//   s,
//               clipped to the order restrictions whose level is at most `anchor`
//   final(i)  = base(i) clipped to the other order restrictions, less the vertices of the `distinct` levels
//               and, for induced matching, less the neighbours named by `not_out` and `not_in`
//
// base(i) depends on levels 0..anchor only, so it may be kept while later levels change.
// Sets of levels are bit masks: bit l stands for level l.
#pragma once

#include <cstdint>

namespace motiflux::view {

inline constexpr int kMaxLevels = 32;
inline constexpr int kNoReuse = -1;

struct Source {
  std::uint16_t slot;
  std::uint16_t level;
};

struct Step {
  std::uint32_t first_source;  // into Plan::sources
  std::uint32_t source_count;
  std::int32_t reuse;    // level >= 2 whose base set is a prefix of this one, or kNoReuse
  std::int32_t anchor;   // last level that base(i) depends on
  std::uint32_t after;   // the candidate is greater than the vertex of each of these levels
  std::uint32_t before;  // ... less than ...
  std::uint32_t distinct;
  std::uint32_t not_out;  // the candidate is no out-neighbour of the vertex of these levels
  std::uint32_t not_in;   // ... no in-neighbour ...
  std::uint32_t min_out_degree;
  std::uint32_t min_in_degree;
};

struct Plan {
  std::uint32_t levels;
  const Step* steps;      // [levels]
  const Source* sources;  // flat; step 0 has none, step 1 starts with the one whose rows root the search
};

}  // namespace motiflux::view
