// The candidate space on a device: arguments and results of its kernels.
//
//   serves      [n]              bit u of a word: the data vertex is a candidate of query vertex u
//   offsets     [sets * n + 1]   row set s: rows by data vertex, offsets[s * n .. (s + 1) * n]
//   neighbors   [arcs]           of all row sets, one after another: data vertices, ascending
//
// The rows of a row set are a view::Adjacency like those of the graph, so a search walks either. They hold
// the arcs by which a query edge leads from candidates of one query vertex to candidates of another.
#pragma once

#include "motiflux/candidates/limits.hpp"
#include "motiflux/view/adjacency.hpp"
#include "motiflux/view/plan.hpp"

namespace motiflux::candidates {

inline constexpr std::uint32_t kMaxKinds = 16;
inline constexpr std::uint32_t kMaxGroups = 128;
inline constexpr std::uint32_t kMaxRowSets = 256;
inline constexpr std::uint32_t kMaxRounds = 16;

// Counts that one warp adds up when they become offsets.
inline constexpr std::uint32_t kTile = 2048;

// A candidate must have, in rows of a kind, `least` different neighbours that serve a query vertex of `mask`.
struct Group {
  std::uint32_t kind;
  std::uint32_t mask;
  std::uint32_t least;
};

// Rows of a kind from vertices that serve a query vertex of `from` to vertices that serve one of `to`. A mask
// has several bits where the plan treats query vertices as having the same candidates.
struct RowSet {
  std::uint32_t kind;
  std::uint32_t from;
  std::uint32_t to;
};

// Numbers that the host reads before it allocates the rows.
struct Report {
  std::uint64_t started[view::kMaxLevels];              // candidates by label, degree and condition
  std::uint64_t removed[kMaxRounds][view::kMaxLevels];  // by each round
  std::uint64_t arcs[kMaxRowSets];
  std::uint64_t longest[kMaxRowSets];
};

struct SpaceArgs {
  view::Adjacency out;  // all arcs, for degrees
  view::Adjacency in;
  view::Adjacency kinds[kMaxKinds];  // arcs by kind of query edge: distinct neighbours of any label
  const std::uint32_t* labels;       // [n], or null if all vertices have label 0
  const std::uint32_t* of_label;     // [labels]: the query vertices that accept it
  const std::uint32_t* allowed;      // [n]: query vertices whose conditions allow the vertex; may be null
  std::uint32_t* serves;
  std::uint64_t* offsets;
  std::uint64_t* tiles;
  std::uint32_t* neighbors;
  Report* report;
  std::uint32_t vertices;
  std::uint32_t query_vertices;
  std::uint32_t kind_count;
  std::uint32_t row_set_count;
  std::uint32_t round;
  std::uint32_t rounds;
  std::uint32_t min_out[view::kMaxLevels];
  std::uint32_t min_in[view::kMaxLevels];
  std::uint32_t needs[kMaxKinds][view::kMaxLevels];  // query vertices that a candidate must reach
  std::uint32_t first_group[view::kMaxLevels + 1];   // into `groups`, by query vertex
  Group groups[kMaxGroups];
  RowSet row_sets[kMaxRowSets];
};

}  // namespace motiflux::candidates
