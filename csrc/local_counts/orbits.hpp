// The orbits of induced subgraphs of up to four vertices, of each vertex (graphlet degree vectors).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "common/total.hpp"
#include "common/zeros.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

inline constexpr std::size_t kOrbits = 15;

// For each vertex kOrbits numbers, modulo 2^64; and for those beyond 64 bits their positions, and what is
// missing: a multiple of 2^64.
struct Orbits {
  Uncleared<std::uint64_t> words;
  std::vector<std::pair<std::size_t, Total>> above;
};

// `rows` are symmetric, without repeated neighbours. Throws std::overflow_error for graphs with 2^62 pairs of
// a vertex and an arc or more, or Cancelled.
Orbits orbits_of_vertices(const view::Adjacency& rows, std::uint32_t vertices, const Workers& workers);

}  // namespace motiflux::local_counts
