// Conditions of policies on a candidate: the query edges to earlier levels, and different vertices.
#pragma once

#include "motiflux/rules/candidate.hpp"
#include "motiflux/sample/graph.hpp"
#include "motiflux/sets/span.hpp"

namespace motiflux::sample {

// Whether the query edge of a source joins the two values.
MOTIFLUX_HOST_DEVICE inline bool joins(const Source& source, std::uint32_t from, std::uint32_t to) {
  if (source.bits) {
    const std::uint32_t* row = source.bits + std::uint64_t{source.words} * from;
    return (row[to / 32] >> to % 32 & 1) != 0;
  }
  return sets::contains(sets::Span{source.rows.begin(from), source.rows.end(from)}, to);
}

// Whether every query edge holds except the edge of `row`, which the candidate is from.
template <class State>
MOTIFLUX_HOST_DEVICE inline bool is_joined(const CandidateGraph& graph, const State& state,
                                           std::uint32_t level, const Row& row, std::uint32_t value) {
  const Level& at = graph.level[level];
  for (std::uint32_t source = 0; source < at.source_count; ++source) {
    if (source == row.source) continue;
    const Source& other = graph.sources[at.first_source + source];
    if (!joins(other, state.value(other.level), value)) return false;
  }
  return true;
}

// Whether the vertex differs from the vertices it must differ from and, induced, lacks the arcs it must lack.
template <class State>
MOTIFLUX_HOST_DEVICE inline bool is_apart(const CandidateGraph& graph, const State& state,
                                          std::uint32_t level, std::uint32_t value) {
  const Level& at = graph.level[level];
  if ((at.distinct | at.not_out | at.not_in) == 0) return true;
  const std::uint32_t vertex = vertex_of(at, value);
  const auto earlier = [&](std::uint32_t other) { return state.vertex(other); };
  return rules::is_distinct(at.distinct, vertex, earlier) &&
         rules::is_apart(at.not_out, graph.out, vertex, earlier) &&
         rules::is_apart(at.not_in, graph.in, vertex, earlier);
}

}  // namespace motiflux::sample
