// The arguments of kernels that count cliques.
//
//   units:  | vertices whose rows are too long for shared memory | long rows     | short rows    |
//             a block each, in scratch memory, in turn             a block each    a warp each
//                                                                | taken from one counter ...  |
//
// Longer rows come first. A unit is a vertex or, if that would take one block long, a slice of its neighbours
// as second vertices.
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
  std::uint64_t limit;    // stop once more than this many are found, or kNoLimit
  Control* control;       // `taken` counts units behind the spilled ones, `done` arcs
  unsigned char* memory;  // for spilled units: spill_bytes for each of spill_blocks
  std::uint64_t spill_bytes;
  std::uint32_t spill_blocks;
  std::uint32_t spilled;       // first units, which do not fit into shared memory
  std::uint32_t blocks;        // first units, which take a block, spilled ones included
  std::uint32_t vertices;      // of the clique: 3 to 32
  std::uint32_t chunk;         // units that a warp takes at a time
  std::uint32_t shared_bytes;  // of a warp
  // Units are assigned in turn to the devices that share the search: this device gets unit `first` of each
  // `stride`.
  std::uint32_t first;
  std::uint32_t stride;

  MOTIFLUX_DEVICE const CliqueUnit& unit(std::uint64_t at) const { return units[first + at * stride]; }
};

struct CliqueArgs {
  CliqueTask task;
};

struct TriangleTask {
  view::Adjacency rows;       // of each vertex, its greater neighbours
  const std::uint64_t* ends;  // [vertices + 1]: the arcs of vertex v are ends[v] .. ends[v + 1]
  std::uint64_t arcs;
  std::uint64_t limit;  // stop once more than this many are found, or kNoLimit
  Control* control;     // `taken` counts arcs behind the first chunks
  std::uint32_t vertices;
  std::uint32_t chunk;  // arcs that a warp takes at a time
  std::uint32_t shared_bytes;
  // Chunks are assigned to the devices in turn: this device gets chunk `first` of each `stride`.
  std::uint32_t first;
  std::uint32_t stride;
};

struct TriangleArgs {
  TriangleTask task;
};

}  // namespace motiflux::match
