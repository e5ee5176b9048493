// The orbits of directed pairs and triads, of each vertex.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "census/typed_rows.hpp"
#include "common/parallel.hpp"

namespace motiflux::census {

// The numbers of the orbits, and what the triangles contain: made by plan/census.py.
struct TriadOrbits {
  std::size_t orbits;
  std::span<const std::uint32_t> pairs;      // [3]: of a vertex u of a pair, by kind uv
  std::span<const std::uint32_t> middles;    // [9]: of the middle u of a wedge, by kinds uv, uw
  std::span<const std::uint32_t> ends;       // [9]: of the end u of a wedge with middle v, by kinds uv, vw
  std::span<const std::uint32_t> triangles;  // [27 * 3]: of u, v, w, by kinds uv, uw, vw
  // [orbits * orbits]: how often a vertex in the second orbit is in the first in wedges of the same vertices.
  std::span<const std::uint32_t> contained;
};

// [vertices * orbits]. A vertex is in fewer than 2^63 sets of three of fewer than 2^32 vertices, so no number
// overflows. Throws Cancelled.
std::vector<std::uint64_t> triad_orbits(const TypedRows& rows, const TriadOrbits& orbits,
                                        const Workers& workers);

}  // namespace motiflux::census
