// Data on the vertices and arcs of one graph, computed before any table: the place of each reverse arc in
// symmetric rows, and the work of each root.
//
//   lesser [vertices]  number of neighbours of a vertex that are less than it
//   ranks  [arcs]      of an arc from x to y: number of entries of y's row that are less than the greater one
//                      of x and y; so if y < x, the place of x
//   work   [vertices]  of the middles of a vertex: 1 for each, and 1 for each entry of their rows that may
//                      count: more than the number of wedges; but 0 if no two wedges may form a 4-cycle
#pragma once

#include "motiflux/local_counts/ends.cuh"
#include "motiflux/local_counts/roots.cuh"
#include "motiflux/sets/span.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

inline constexpr std::uint32_t kMostWork = ~std::uint32_t{0};

struct RankArgs {
  view::Adjacency rows;
  std::uint32_t vertices;
  std::uint32_t* lesser;  // [vertices]
  std::uint32_t* ranks;   // [arcs], or null: `lesser` is computed
};

MOTIFLUX_DEVICE std::uint32_t entries_below(const view::Adjacency& rows, std::uint32_t of,
                                            std::uint32_t vertex) {
  const std::uint32_t* const row = rows.begin(of);
  return static_cast<std::uint32_t>(sets::lower_bound(row, rows.end(of), vertex) - row);
}

// Computes `lesser`, or `ranks` from it.
MOTIFLUX_DEVICE void find_ranks(const RankArgs& args) {
  if (args.ranks == nullptr) {
    for (std::uint64_t x = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; x < args.vertices;
         x += std::uint64_t{gridDim.x} * blockDim.x) {
      const auto vertex = static_cast<std::uint32_t>(x);
      args.lesser[x] = entries_below(args.rows, vertex, vertex);
    }
    return;
  }
  const Lanes lanes;
  const std::uint32_t warps = gridDim.x * (blockDim.x / Lanes::kLanes);
  for (std::uint64_t x = lanes.in_grid(); x < args.vertices; x += warps) {
    const auto vertex = static_cast<std::uint32_t>(x);
    const std::uint64_t end = args.rows.offsets[x + 1];
    for (std::uint64_t arc = args.rows.offsets[x] + lanes.lane(); arc < end; arc += Lanes::kLanes) {
      const std::uint32_t y = args.rows.neighbors[arc];
      args.ranks[arc] = y < x ? entries_below(args.rows, y, vertex) : args.lesser[y];
    }
  }
}

struct OrderArgs {
  view::Adjacency first;
  view::Adjacency second;
  std::uint32_t vertices;
  std::uint32_t ends;          // of `Ends`
  const std::uint32_t* ranks;  // for kGreatest
  std::uint32_t* work;         // [vertices], at most 2^32 - 1
};

// The work of the arc from x to y.
MOTIFLUX_DEVICE std::uint64_t work_of(const OrderArgs& args, std::uint64_t x, std::uint64_t arc) {
  const std::uint32_t y = args.first.neighbors[arc];
  const auto ends = static_cast<Ends>(args.ends);
  if (ends == Ends::kUnderRoot && y >= x) return 0;
  if (ends != Ends::kGreatest) return args.second.degree(y) + 1;
  const std::uint64_t there = args.second.degree(y) - args.ranks[arc] - (y < x ? 1 : 0);
  return there > 0 ? there + 1 : 0;
}

MOTIFLUX_DEVICE void find_order(const OrderArgs& args) {
  const Lanes lanes;
  const std::uint32_t warps = gridDim.x * (blockDim.x / Lanes::kLanes);
  for (std::uint64_t x = lanes.in_grid(); x < args.vertices; x += warps) {
    std::uint64_t work = 0;
    std::uint32_t middles = 0;
    const std::uint64_t end = args.first.offsets[x + 1];
    for (std::uint64_t arc = args.first.offsets[x] + lanes.lane(); arc < end; arc += Lanes::kLanes) {
      const std::uint64_t more = work_of(args, x, arc);
      work += more;
      middles += more > 0;
    }
    work = lanes.sum(work);
    // 4-cycles have two middles. Other wedges may count one by one.
    if (static_cast<Ends>(args.ends) == Ends::kGreatest && lanes.sum(middles) < 2) work = 0;
    if (lanes.leads()) args.work[x] = work < kMostWork ? static_cast<std::uint32_t>(work) : kMostWork;
  }
}

}  // namespace motiflux::local_counts
