// The candidate graph of samplers: gSWORD, section 3.1, three levels of rows.
//
//   level                ->  its sources: earlier levels that a query edge joins it to
//   source, value there  ->  a row: the local candidates C(u, u', v)
//   row                  ->  values of this level, ascending
//
// A value is a position in the candidate set of the level's query vertex, or a data vertex where rows are the
// graph's (no candidate graph); `members` maps positions to data vertices. Both ascend together, so a sampler
// picks the same data vertices over either.
#pragma once

#include "motiflux/view/adjacency.hpp"
#include "motiflux/view/plan.hpp"

namespace motiflux::sample {

struct Source {
  view::Adjacency rows;  // from values of `level` to values of the level that the source belongs to
  std::uint32_t level;
  // The same rows as bits, if they are small enough: row v is the words [words * v, words * (v + 1)).
  std::uint32_t words = 0;
  const std::uint32_t* bits = nullptr;
};

struct Level {
  const std::uint32_t* members;  // the data vertex of each value; null: values are data vertices
  const double* sums;            // the tree estimator's: see tree.hpp
  std::uint32_t first_source;    // into CandidateGraph::sources; level 0 has none
  std::uint32_t source_count;
  std::uint32_t distinct;     // bit l: the vertex must differ from that of level l; not implied otherwise
  std::uint32_t not_out;      // induced: no out-neighbour of the vertices of these levels
  std::uint32_t not_in;       // ... no in-neighbour ...
  std::uint32_t tree_source;  // the source that the tree estimator follows
};

struct CandidateGraph {
  const Source* sources;
  const std::uint32_t* roots;  // values of level 0, ascending; null: 0 .. root_count - 1
  const double* root_sums;     // the tree estimator's
  double trees;                // embeddings of the tree times kUnit
  std::uint64_t root_count;
  view::Adjacency out;  // all arcs of the data graph, read if a level has `not_out` or `not_in`
  view::Adjacency in;
  std::uint32_t levels;
  Level level[view::kMaxLevels];
};

// The initial weight of a sample. A weight is a product of at most 32 numbers below 2^32, divided by at most
// 32 numbers of at most 32 (inheritance): between kUnit / 2^160 and kUnit * 2^1024, so that no double ever
// overflows or underflows, whatever the pattern. A reader of a sum of weights multiplies it by 2^200.
inline constexpr int kUnitBits = 200;
inline constexpr double kUnit = 0x1p-200;

// Candidates to choose among: a row, or the roots.
struct Row {
  const std::uint32_t* first;  // null: 0 .. size - 1
  std::uint64_t size;
  std::uint32_t source;  // the source of the row, numbered from 0 within the level

  MOTIFLUX_HOST_DEVICE std::uint32_t operator[](std::uint64_t index) const {
    return first ? first[index] : static_cast<std::uint32_t>(index);
  }
};

// The data vertex of a value of a level.
MOTIFLUX_HOST_DEVICE inline std::uint32_t vertex_of(const Level& level, std::uint32_t value) {
  return level.members ? level.members[value] : value;
}

template <class State>
MOTIFLUX_HOST_DEVICE inline Row row_of(const CandidateGraph& graph, const State& state, std::uint32_t level,
                                       std::uint32_t source) {
  const Source& from = graph.sources[graph.level[level].first_source + source];
  const std::uint32_t value = state.value(from.level);
  return {from.rows.begin(value), from.rows.degree(value), source};
}

MOTIFLUX_HOST_DEVICE inline Row roots_of(const CandidateGraph& graph) {
  return {graph.roots, graph.root_count, 0};
}

// GetMinCandidate: the shortest row that leads to the level, among equal ones the first source's.
template <class State>
MOTIFLUX_HOST_DEVICE inline Row shortest_row(const CandidateGraph& graph, const State& state,
                                             std::uint32_t level) {
  Row best = row_of(graph, state, level, 0);
  for (std::uint32_t source = 1; source < graph.level[level].source_count; ++source) {
    const Row row = row_of(graph, state, level, source);
    if (row.size < best.size) best = row;
  }
  return best;
}

}  // namespace motiflux::sample
