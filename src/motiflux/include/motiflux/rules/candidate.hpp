// Conditions on a candidate beyond membership in the sets that its plan step intersects.
#pragma once

#include "motiflux/bits.hpp"
#include "motiflux/sets/span.hpp"
#include "motiflux/view/adjacency.hpp"
#include "motiflux/view/plan.hpp"

namespace motiflux::rules {

// Whether any rule may reject a candidate.
MOTIFLUX_HOST_DEVICE constexpr bool has_rules(const view::StepShape& step) {
  return (step.distinct | step.not_out | step.not_in) != 0 || step.bounds_out || step.bounds_in;
}

// Injectivity: the candidate differs from the vertices of these levels.
template <class VertexOf>
MOTIFLUX_HOST_DEVICE inline bool is_distinct(std::uint32_t levels, std::uint32_t candidate,
                                             VertexOf&& vertex) {
  for (std::uint32_t rest = levels; rest != 0; rest &= rest - 1)
    if (vertex(lowest_bit(rest)) == candidate) return false;
  return true;
}

// Whether no lower level of `levels` has the vertex of `level`: a shared vertex is counted once.
template <class VertexOf>
MOTIFLUX_HOST_DEVICE inline bool is_first(std::uint32_t levels, std::uint32_t level, VertexOf&& vertex) {
  return is_distinct(levels & ((1u << level) - 1), vertex(level), vertex);
}

// Induced matching: none of these levels' vertices has the candidate in its row.
template <class VertexOf>
MOTIFLUX_HOST_DEVICE inline bool is_apart(std::uint32_t levels, const view::Adjacency& rows,
                                          std::uint32_t candidate, VertexOf&& vertex) {
  for (std::uint32_t rest = levels; rest != 0; rest &= rest - 1) {
    const std::uint32_t other = vertex(lowest_bit(rest));
    if (sets::contains(sets::Span{rows.begin(other), rows.end(other)}, candidate)) return false;
  }
  return true;
}

// All rules of a step. `out` and `in` hold all arcs of the graph; vertex(level) is the vertex at a level.
template <class VertexOf>
MOTIFLUX_HOST_DEVICE inline bool accepts(const view::StepShape& step, const view::StepArgs& bounds,
                                         const view::Adjacency& out, const view::Adjacency& in,
                                         std::uint32_t candidate, VertexOf&& vertex) {
  if (!is_distinct(step.distinct, candidate, vertex)) return false;
  if (step.bounds_out && out.degree(candidate) < bounds.min_out_degree) return false;
  if (step.bounds_in && in.degree(candidate) < bounds.min_in_degree) return false;
  return is_apart(step.not_out, out, candidate, vertex) && is_apart(step.not_in, in, candidate, vertex);
}

}  // namespace motiflux::rules
