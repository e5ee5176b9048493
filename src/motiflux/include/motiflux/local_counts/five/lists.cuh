// The reverse arcs of symmetric rows, and the common neighbours of the ends of each arc (arrays.cuh).
//
// The list of an arc from u to v, u < v, has room for the row of u: | starts[u] | one row | one row | ...
// So nothing has to be summed up before they are written.
#pragma once

#include "motiflux/local_counts/five/arrays.cuh"

namespace motiflux::local_counts {

struct ListArgs {
  FiveGraph graph;
  view::Adjacency above;        // arcs to greater vertices: the end of each row
  const std::uint32_t* ranks;   // of order.cuh
  std::uint32_t* edges;         // of `graph`, to be written, or null
  const std::uint64_t* starts;  // [vertices]: of the lists of the arcs from a vertex to greater ones
  Frame frame;
  std::uint64_t arcs;
  std::uint64_t links;  // whether to write `reverse` and `begins`, else the lists
};

// Writes both for the arcs between x and lesser vertices.
MOTIFLUX_DEVICE void link_row(const ListArgs& args, const Lanes& lanes, std::uint32_t x) {
  const view::Adjacency& rows = args.graph.rows;
  for (std::uint64_t arc = rows.offsets[x] + lanes.lane(); arc < rows.offsets[x + 1]; arc += Lanes::kLanes) {
    const std::uint32_t y = rows.neighbors[arc];
    if (y >= x) return;
    const std::uint64_t back = rows.offsets[y] + args.ranks[arc];
    const std::uint64_t first = rows.offsets[y + 1] - args.above.degree(y);
    const std::uint64_t begin = args.starts[y] + (back - first) * rows.degree(y);
    args.graph.reverse[arc] = back;
    args.graph.reverse[back] = arc;
    args.graph.begins[arc] = begin;
    args.graph.begins[back] = begin;
    if (args.edges == nullptr) continue;
    args.edges[arc] = args.edges[back] = static_cast<std::uint32_t>(args.above.offsets[y] + (back - first));
  }
}

// Writes the list of an arc: the entries of one row that are in the other.
MOTIFLUX_DEVICE void write_list(const ListArgs& args, const Lanes& lanes, std::uint64_t arc,
                                sets::Span walked, sets::Span other) {
  std::uint32_t* out = args.graph.lists + args.graph.begins[arc];
  for (std::uint64_t first = 0; first < walked.size(); first += Lanes::kLanes) {
    const std::uint64_t at = first + lanes.lane();
    const std::uint32_t w = at < walked.size() ? walked.first[at] : 0;
    const bool found = at < walked.size() && sets::contains(other, w);
    const std::uint32_t all = lanes.ballot(found);
    if (found) out[count_bits(all & bits_below(lanes.lane()))] = w;
    out += count_bits(all);
  }
}

// The body of the kernel.
MOTIFLUX_DEVICE void list_triangles(const ListArgs& args) {
  const Lanes lanes;
  const std::uint32_t warps = gridDim.x * (blockDim.x / Lanes::kLanes);
  const view::Adjacency& rows = args.graph.rows;
  if (args.links != 0) {
    for (std::uint64_t after = lanes.in_grid(); after < args.graph.vertices; after += warps)
      link_row(args, lanes, static_cast<std::uint32_t>(args.graph.vertices - 1 - after));
    return;
  }
  const auto row = [&](std::uint32_t vertex) { return sets::Span{rows.begin(vertex), rows.end(vertex)}; };
  const auto look = [&](std::uint64_t arc, std::uint64_t&, std::uint32_t& size) {
    size =
        args.graph.closed[arc] > 0 && rows.neighbors[args.graph.reverse[arc]] < rows.neighbors[arc] ? 1 : 0;
  };
  for_each_chunk(lanes, args.frame, Team{lanes.in_grid(), warps}, args.arcs, look,
                 [&](std::uint64_t arc, std::uint64_t, std::uint32_t) {
                   const sets::Span u = row(rows.neighbors[args.graph.reverse[arc]]);
                   const sets::Span v = row(rows.neighbors[arc]);
                   const bool shorter = u.size() <= v.size();
                   write_list(args, lanes, arc, shorter ? u : v, shorter ? v : u);
                 });
}

}  // namespace motiflux::local_counts
