// Sums over the triangles u, v, w of each vertex v, of numbers of the edge from u to w: from each arc u -> v.
#pragma once

#include "motiflux/local_counts/five/arrays.cuh"

namespace motiflux::local_counts {

struct OppositeArgs {
  FiveGraph graph;
  Frame frame;
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

// The body of the kernel.
MOTIFLUX_DEVICE void add_opposites(const OppositeArgs& args) {
  const Lanes lanes;
  const Team grid{lanes.in_grid(), gridDim.x * (blockDim.x / Lanes::kLanes)};
  const auto look = [&](std::uint64_t arc, std::uint64_t&, std::uint32_t& size) {
    size = args.graph.closed[arc] > 0 ? 1 : 0;
  };
  for_each_chunk(
      lanes, args.frame, grid, args.arcs, look,
      [&](std::uint64_t arc, std::uint64_t, std::uint32_t) { add_opposites_of(args.graph, lanes, arc); });
}

}  // namespace motiflux::local_counts
