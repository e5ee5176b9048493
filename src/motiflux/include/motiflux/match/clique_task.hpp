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
#include "motiflux/view/row_tile.hpp"

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

  static constexpr bool kOfTiles = false;
  MOTIFLUX_DEVICE std::uint64_t& taken() const { return control->taken; }
  MOTIFLUX_DEVICE const std::uint32_t* root_neighbors() const { return rows.neighbors; }
};

struct TriangleArgs {
  TriangleTask task;
};

// One of several launches that count together. It counts the arcs u -> v whose two rows are in tiles, copies
// of consecutive rows, which may be the same tile:
//
//   roots       | row 100 | row 101 | ... | row 420 |    u: arcs first_arc .. first_arc + arcs
//   rows        | row 421 | ... | row 570 |              v: from `lowest`, and less than `highest`
struct TriangleTileTask {
  view::RowTile rows;         // of v, its greater neighbours
  view::RowTile roots;        // of u
  const std::uint64_t* ends;  // [vertices + 1]: offsets of the rows of the roots
  std::uint64_t* counter;     // counts arcs behind the first chunks; zero before the launch
  std::uint64_t first_arc;
  std::uint64_t arcs;   // of the roots
  std::uint64_t limit;  // stop once more than this many are found by all launches, or kNoLimit
  Control* control;     // `done` counts arcs u -> v
  std::uint32_t lowest;
  std::uint32_t highest;
  std::uint32_t vertices;  // roots
  std::uint32_t chunk;     // arcs that a warp takes at a time
  std::uint32_t shared_bytes;

  static constexpr bool kOfTiles = true;
  MOTIFLUX_DEVICE std::uint64_t& taken() const { return *counter; }
  MOTIFLUX_DEVICE const view::RowTile& root_neighbors() const { return roots; }
};

struct TriangleTileArgs {
  TriangleTileTask task;
};

}  // namespace motiflux::match
