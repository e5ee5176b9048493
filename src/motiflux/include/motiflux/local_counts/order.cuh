// Data on the roots of one graph, computed before any table: the work of each and, for symmetric rows, the
// place of each reverse arc.
//
//   work   [vertices]  of the neighbours of a vertex (those below it): 1 for each and for each entry of
//                      their rows in `second`; more than the number of wedges
//   ranks  [arcs]      of an arc from x to a lesser y: the number of entries of y's row below x
#pragma once

#include "motiflux/local_counts/roots.cuh"
#include "motiflux/sets/span.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

inline constexpr std::uint32_t kMostWork = ~std::uint32_t{0};

struct OrderArgs {
  view::Adjacency first;
  view::Adjacency second;
  std::uint32_t vertices;
  std::uint32_t below;   // only lesser neighbours count
  std::uint32_t* work;   // [vertices], at most 2^32 - 1
  std::uint32_t* ranks;  // or null
};

MOTIFLUX_DEVICE void find_order(const OrderArgs& args) {
  const Lanes lanes;
  const std::uint32_t warps = gridDim.x * (blockDim.x / Lanes::kLanes);
  for (std::uint64_t x = lanes.in_grid(); x < args.vertices; x += warps) {
    std::uint64_t work = 0;
    for (std::uint64_t arc = args.first.offsets[x] + lanes.lane(); arc < args.first.offsets[x + 1];
         arc += Lanes::kLanes) {
      const std::uint32_t y = args.first.neighbors[arc];
      const bool counts = args.below == 0 || y < x;
      if (counts) work += args.second.degree(y) + 1;
      if (args.ranks == nullptr) continue;
      const std::uint32_t* const row = args.second.begin(y);
      args.ranks[arc] =
          y < x ? static_cast<std::uint32_t>(sets::lower_bound(row, args.second.end(y), x) - row) : 0;
    }
    work = lanes.sum(work);
    if (lanes.leads()) args.work[x] = work < kMostWork ? static_cast<std::uint32_t>(work) : kMostWork;
  }
}

}  // namespace motiflux::local_counts
