// The orbits of edges of induced subgraphs of three and four vertices, in ORCA's order
// (docs/reference/semantics.md).
#pragma once

#include <cstdint>

#include "common/parallel.hpp"
#include "local_counts/orbits.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

inline constexpr std::size_t kEdgeOrbits = 12;

// For each arc to a greater vertex kEdgeOrbits numbers, as Orbits has them of vertices, and zeros for others.
// `rows` are symmetric, without repeated neighbours. Throws std::overflow_error for graphs with 2^62 pairs of
// a vertex and an arc or more, or Cancelled.
Orbits orbits_of_edges(const view::Adjacency& rows, std::uint32_t vertices, const Workers& workers);

}  // namespace motiflux::local_counts
