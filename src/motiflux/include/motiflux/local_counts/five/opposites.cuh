// Sums over the triangles u, v, w of each vertex v, of numbers of the edge from u to w: from each arc u -> v.
// For sums at edges: sums over the triangles of each edge, of numbers of w and of the arcs to it.
#pragma once

#include "motiflux/local_counts/five/arrays.cuh"

namespace motiflux::local_counts {

struct OppositeArgs {
  FiveGraph graph;
  Frame frame;
  const std::uint64_t* of;  // [kRowSums][vertices], of close.cuh: for sums at edges
  std::uint64_t arcs;
};

MOTIFLUX_DEVICE void add_opposites_of(const FiveGraph& graph, const Lanes& lanes, std::uint64_t arc) {
  const std::uint32_t u = graph.rows.neighbors[graph.reverse[arc]], v = graph.rows.neighbors[arc];
  const sets::Span list = graph.common(arc);
  std::uint64_t ends = 0, cycles = 0, squares = 0, sides = 0, cliques = 0;
  for (std::uint64_t at = lanes.lane(); at < list.size(); at += Lanes::kLanes) {
    const std::uint64_t side = graph.arc_to(u, list.first[at]);
    ends += graph.ends[side];
    cycles += graph.squares[side];
    squares += squared(graph.closed[side]);
    sides += graph.sides[side];
    cliques += graph.cliques[side];
  }
  ends = lanes.sum(ends);
  cycles = lanes.sum(cycles);
  squares = lanes.sum(squares);
  sides = lanes.sum(sides);
  cliques = lanes.sum(cliques);
  if (lanes.lane() == 0) graph.add(46, v, ends);
  if (lanes.lane() == 1) graph.add(52, v, cycles);
  if (lanes.lane() == 2) graph.add(54, v, squares);
  if (lanes.lane() == 3) graph.add(59, v, sides);
  if (lanes.lane() == 4) graph.add(65, v, cliques);
}

MOTIFLUX_DEVICE void add_sides_of(const OppositeArgs& args, const Lanes& lanes, std::uint64_t arc) {
  constexpr std::uint32_t kOrbitsHere[] = {23, 26, 33, 36, 39, 45, 47, 52, 53, 54, 59};
  constexpr std::uint32_t kSums = 11;
  const FiveGraph& graph = args.graph;
  const std::uint32_t u = graph.rows.neighbors[graph.reverse[arc]], v = graph.rows.neighbors[arc];
  const sets::Span list = graph.common(arc);
  std::uint64_t n[kSums] = {};
  for (std::uint64_t at = lanes.lane(); at < list.size(); at += Lanes::kLanes) {
    const std::uint32_t w = list.first[at];
    const std::uint64_t side = graph.arc_to(u, w), other = graph.arc_to(v, w);
    const std::uint64_t closed = graph.closed[side], degree = graph.rows.degree(w);
    n[0] += args.of[kEnds * graph.vertices + w];
    n[1] += squared(degree);
    n[2] += closed * degree;
    n[3] += args.of[kCorners * graph.vertices + w];
    n[4] += graph.ends[side];
    n[5] += graph.squares[side];
    n[6] += squared(closed);
    n[7] += graph.sides[graph.reverse[side]];
    n[8] += graph.sides[side];
    n[9] += closed * graph.closed[other];
    n[10] += graph.cliques[side];
  }
#pragma unroll
  for (std::uint32_t at = 0; at < kSums; ++at) {
    const std::uint64_t found = lanes.sum(n[at]);
    if (lanes.lane() == at) graph.add_at(kOrbitsHere[at], arc, found);
  }
}

// The body of the kernels.
template <bool at_edges>
MOTIFLUX_DEVICE void add_opposites(const OppositeArgs& args) {
  const Lanes lanes;
  const Team grid{lanes.in_grid(), gridDim.x * (blockDim.x / Lanes::kLanes)};
  const auto look = [&](std::uint64_t arc, std::uint64_t&, std::uint32_t& size) {
    size = args.graph.closed[arc] > 0 ? 1 : 0;
  };
  for_each_chunk(lanes, args.frame, grid, args.arcs, look,
                 [&](std::uint64_t arc, std::uint64_t, std::uint32_t) {
                   if constexpr (at_edges)
                     add_sides_of(args, lanes, arc);
                   else
                     add_opposites_of(args.graph, lanes, arc);
                 });
}

}  // namespace motiflux::local_counts
