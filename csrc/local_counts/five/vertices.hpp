// The orbits of induced subgraphs of up to five vertices, of each vertex.
//
// For each orbit of five vertices there is a sum of maps of its graphlet: some of the maps give different
// vertices the same image, and the subgraphs need not be induced. Such a sum is linear in the numbers of
// induced subgraphs of each orbit. The coefficients are those sums on the graphlets themselves
// (cpu/five_orbits.py), and those of an orbit on graphlets of five vertices are zero but for itself and for
// denser ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "local_counts/orbits.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts::five {

inline constexpr std::size_t kSums = 58;  // orbits of graphlets of five vertices
inline constexpr std::size_t kAllOrbits = kOrbits + kSums;

// The sums of each vertex, [vertices * kSums], modulo 2^64. Throws Cancelled.
Uncleared<std::uint64_t> sums_of_vertices(const view::Adjacency& rows, std::uint32_t vertices,
                                          const Workers& workers);

// The orbits of each vertex, kAllOrbits numbers, from the coefficients of each sum: [kSums * kAllOrbits].
// Otherwise as orbits_of_vertices.
Orbits all_orbits_of_vertices(const view::Adjacency& rows, std::uint32_t vertices,
                              std::span<const std::uint64_t> coefficients, const Workers& workers);

}  // namespace motiflux::local_counts::five
