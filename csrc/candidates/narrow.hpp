// Narrows a candidate space: an arc stays only if the short cycles of the pattern through its query edge can
// close over it (triangle and four-cycle safety, after FaSTest: Shin, Song, Park, Han, VLDB 2024).
//
//   arc (a, b) of query edge (u, v)
//   other edges of u, v  join them too
//   triangle u v w       some candidate of w is joined to a and to b
//   square   u v y x     some x joined to a, y joined to b are joined; y is not a, x not b
//
// Candidates without an arc of some query edge are removed too. No embedding is lost, and samples that follow
// some of the edges fail less often.
#pragma once

#include <cstdint>
#include <vector>

#include "candidates/edge_rows.hpp"
#include "common/parallel.hpp"

namespace motiflux::candidates {

struct NarrowOptions {
  int longest = 0;         // edges of the longest cycles that must close: 3 or 4; less: nothing is done
  bool injective = false;  // distinct query vertices have distinct images
};

// Narrows `edges`, each of which has rows from at least one end, and `sets`. The work is bounded by the
// number of arcs, and the result depends on the space alone.
void narrow(std::vector<std::vector<std::uint32_t>>& sets, std::vector<EdgeRows>& edges,
            const NarrowOptions& options, const Workers& workers);

}  // namespace motiflux::candidates
