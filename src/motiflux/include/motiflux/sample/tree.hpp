// Candidate-tree sampling, in the manner of FaSTest (Shin, Song, Park, Han, VLDB 2024): the embeddings of a
// spanning tree of the pattern, repeated vertices allowed, are counted by dynamic programming over the
// candidate graph; a sample is one of them, all alike; the edges that the tree leaves out, and that vertices
// differ, are seen level by level, so that a sample dies as soon as it must.
//
//   sums   [arcs of the level's tree source]   beside the rows: within each row, how many trees are below its
//                                              candidates up to and including this one; null: one below each
//   root_sums  [roots]                         the same of the roots
//
// Sums are relative: those of one level may all be multiplied by the same number. `trees` is not.
#pragma once

#include "motiflux/sample/wander_join.hpp"

namespace motiflux::sample {

// What it sees afterwards is what WanderJoin does.
struct Tree : WanderJoin {
  static constexpr Pick kPick = Pick::kSums;
};

// The sums beside the row of a level that the tree follows; null if its candidates are leaves of the tree.
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
