// The orbits of edges of induced subgraphs of up to five vertices, from sums as those of vertices
// (vertices.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "local_counts/edge_orbits.hpp"
#include "local_counts/orbits.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts::five {

inline constexpr std::size_t kEdgeSums = 56;  // orbits of edges of graphlets of five vertices
inline constexpr std::size_t kAllEdgeOrbits = kEdgeOrbits + kEdgeSums;

// Edges are the arcs to greater vertices, in the order of the rows.

// The sums of each edge, [edges * kEdgeSums], modulo 2^64. Throws Cancelled.
Uncleared<std::uint64_t> sums_of_edges(const view::Adjacency& rows, std::uint32_t vertices,
                                       const Workers& workers);

// The orbits of each edge, kAllEdgeOrbits numbers, from the coefficients of each sum: that of the edge alone,
// which is there once and has no orbit, and those of the orbits, [kEdgeSums * (1 + kAllEdgeOrbits)].
// Otherwise as orbits_of_edges.
Orbits all_orbits_of_edges(const view::Adjacency& rows, std::uint32_t vertices,
                           std::span<const std::uint64_t> coefficients, const Workers& workers);

}  // namespace motiflux::local_counts::five
