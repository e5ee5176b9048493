// What a kernel that counts cliques is given.
//
//   units:  | vertices whose rows are too long for shared memory | the others, longer rows first |
//             worked on in scratch memory, in turn                  taken from a counter
//
// A unit is a vertex, or a slice of its neighbours as the second vertex, where all would take one warp long.
#pragma once

#include "motiflux/match/task.hpp"

namespace motiflux::match {

struct CliqueUnit {
  std::uint32_t root;
  std::uint16_t slice;  // neighbours slice, slice + slices, ...
  std::uint16_t slices;
};

struct CliqueTask {
  view::Adjacency rows;  // of each vertex, its greater neighbours
  const CliqueUnit* units;
  std::uint64_t unit_count;
  std::uint64_t arcs;     // in the rows of all units
  std::uint64_t limit;    // stop once more than this many are known, or kNoLimit
  Control* control;       // `taken` counts units that are not spilled, `done` arcs
  unsigned char* memory;  // for spilled units: spill_bytes for each of spill_warps
  std::uint64_t spill_bytes;
  std::uint32_t spill_warps;
  std::uint32_t spilled;       // units that do not fit into shared memory: the first ones
  std::uint32_t vertices;      // of the clique: 3 to 32
  std::uint32_t chunk;         // units that a warp takes at a time
  std::uint32_t shared_bytes;  // of a warp
};

struct CliqueArgs {
  CliqueTask task;
};

}  // namespace motiflux::match
