// Candidate-tree sampling, in the manner of FaSTest (Shin, Song, Park, Han, VLDB 2024): the embeddings of a
// spanning tree of the pattern, repeated vertices allowed, are counted by dynamic programming over the
// candidate graph; a sample is one of these, uniformly drawn; the edges outside the tree and different
// vertices are tested level by level, so that a sample dies as early as possible.
//
//   sums   [arcs of the level's tree source]   by entry: within each row, the number of trees below its
//                                              candidates up to and including this one; null: one below each
//   root_sums  [roots]                         the same for the roots
//
// Sums are relative: all sums of one level may be scaled by one factor. `trees` is absolute.
#pragma once

#include "motiflux/sample/wander_join.hpp"

namespace motiflux::sample {

// Its validation is that of WanderJoin.
struct Tree : WanderJoin {
  static constexpr Pick kPick = Pick::kSums;
};

// The sums of the row that the tree follows to a level; null if its candidates are leaves of the tree.
template <class State>
MOTIFLUX_HOST_DEVICE inline const double* sums_of(const CandidateGraph& graph, const State& state,
                                                  std::uint32_t level) {
  const Level& at = graph.level[level];
  const Source& from = graph.sources[at.first_source + at.tree_source];
  return at.sums ? at.sums + from.rows.offsets[state.value(from.level)] : nullptr;
}

// The first place whose sum exceeds `point`, which is below the last of `size` sums.
MOTIFLUX_HOST_DEVICE inline std::uint64_t place_of(const double* sums, std::uint64_t size, double point) {
  std::uint64_t first = 0, last = size - 1;
  while (first < last) {
    const std::uint64_t middle = first + (last - first) / 2;
    if (sums[middle] <= point)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

}  // namespace motiflux::sample
