// The orbits of graphlets of up to four vertices at each vertex, from its numbers and those of its row.
//
//   sums     first: the triangles and 4-cycles of a vertex, and the sum of its neighbours' degrees without
//   one orbits   then: all subgraphs, induced or not, in which it has each place; less those of denser ones
//
// A warp takes a vertex. The product of the numbers of vertices and arcs is below 2^62, which bounds all
// numbers but one.
#pragma once

#include "motiflux/local_counts/roots.cuh"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

inline constexpr std::uint32_t kOrbits = 15;

struct OrbitArgs {
  view::Adjacency rows;
  const std::uint64_t* triangles;  // [arcs]
  const std::uint64_t* squares;    // [arcs]: 4-cycles
  Frame frame;
  std::uint32_t vertices;
  std::uint32_t sums;            // whether to write the next three arrays, else the orbits
  std::uint64_t* closed;         // [vertices]: triangles
  std::uint64_t* cycles;         // [vertices]: 4-cycles
  std::uint64_t* ends;           // [vertices]: sum over neighbours of their degrees, each without one
  const std::uint64_t* cliques;  // [vertices]: twice the 4-cliques
  const std::uint64_t* apart;    // [vertices]: diamonds in which it is an end of the missing edge
  std::uint64_t* orbits;         // [vertices][kOrbits]
};

MOTIFLUX_DEVICE std::uint64_t pairs_among(std::uint64_t size) {
  return size < 2 ? 0 : size * (size - 1) / 2;
}

// The sums of a vertex's row.
MOTIFLUX_DEVICE void sum_row(const OrbitArgs& args, const Lanes& lanes, std::uint32_t v) {
  std::uint64_t closed = 0, cycles = 0, ends = 0;
  for (std::uint64_t arc = args.rows.offsets[v] + lanes.lane(); arc < args.rows.offsets[v + 1];
       arc += Lanes::kLanes) {
    closed += args.triangles[arc];
    cycles += args.squares[arc];
    ends += args.rows.degree(args.rows.neighbors[arc]) - 1;
  }
  closed = lanes.sum(closed);
  cycles = lanes.sum(cycles);
  ends = lanes.sum(ends);
  if (!lanes.leads()) return;
  args.closed[v] = closed / 2;
  args.cycles[v] = cycles / 2;
  args.ends[v] = ends;
}

// The subgraphs, induced or not, in all lanes; returns whether a number passed 64 bits.
MOTIFLUX_DEVICE bool count_all(const OrbitArgs& args, const Lanes& lanes, std::uint32_t v, std::uint64_t* n) {
  std::uint64_t through = 0, leaf = 0, pendant = 0, beside = 0, spine = 0;
  for (std::uint64_t arc = args.rows.offsets[v] + lanes.lane(); arc < args.rows.offsets[v + 1];
       arc += Lanes::kLanes) {
    const std::uint32_t u = args.rows.neighbors[arc];
    const std::uint64_t others = args.rows.degree(u) - 1, common = args.triangles[arc];
    through += args.ends[u];
    leaf += pairs_among(others);
    pendant += args.closed[u] - common;
    if (common == 0) continue;
    beside += common * (others - 1);
    spine += pairs_among(common);
  }
  const std::uint64_t degree = args.rows.degree(v), closed = args.closed[v], ends = args.ends[v];
  const std::uint64_t less = degree == 0 ? 0 : degree - 1;
  const Number triples = product(pairs_among(degree), degree < 3 ? 0 : degree - 2);
  n[0] = degree;
  n[1] = ends - 2 * closed;
  n[2] = pairs_among(degree) - closed;
  n[3] = closed;
  n[4] = lanes.sum(through) - degree * less - 2 * closed;
  n[5] = less * ends - 2 * closed;
  n[6] = lanes.sum(leaf);
  n[7] = triples.low / 3;
  n[8] = args.cycles[v];
  n[9] = lanes.sum(pendant);
  n[10] = lanes.sum(beside);
  n[11] = closed == 0 ? 0 : closed * (degree - 2);
  n[12] = args.apart[v];
  n[13] = lanes.sum(spine);
  n[14] = args.cliques[v] / 2;
  return triples.high != 0;
}

// Leaves the induced ones: each has the vertex in the place of other subgraphs of the same vertices so often.
MOTIFLUX_DEVICE void subtract_denser(std::uint64_t* n) {
  n[13] -= 3 * n[14];
  n[12] -= 3 * n[14];
  n[11] -= 2 * n[13] + 3 * n[14];
  n[10] -= 2 * n[12] + 2 * n[13] + 6 * n[14];
  n[9] -= 2 * n[12] + 3 * n[14];
  n[8] -= n[12] + n[13] + 3 * n[14];
  n[7] -= n[11] + n[13] + n[14];
  n[6] -= n[9] + n[10] + 2 * n[12] + n[13] + 3 * n[14];
  n[5] -= 2 * n[8] + n[10] + 2 * n[11] + 2 * n[12] + 4 * n[13] + 6 * n[14];
  n[4] -= 2 * n[8] + 2 * n[9] + n[10] + 4 * n[12] + 2 * n[13] + 6 * n[14];
}

// The body of the kernel.
MOTIFLUX_DEVICE void find_orbits(const OrbitArgs& args) {
  const Lanes lanes;
  const std::uint32_t warps = gridDim.x * (blockDim.x / Lanes::kLanes);
  bool failed = false;
  for (std::uint64_t after = lanes.in_grid(); after < args.vertices; after += warps) {
    const auto v = static_cast<std::uint32_t>(args.vertices - 1 - after);  // the last rows are the longest
    if (args.sums != 0) {
      sum_row(args, lanes, v);
      continue;
    }
    std::uint64_t n[kOrbits], mine = 0;
    failed |= count_all(args, lanes, v, n);
    subtract_denser(n);
#pragma unroll
    for (std::uint32_t orbit = 0; orbit < kOrbits; ++orbit) {
      failed |= n[orbit] >> 63 != 0;
      if (lanes.lane() == orbit) mine = n[orbit];
    }
    if (lanes.lane() < kOrbits) args.orbits[std::uint64_t{v} * kOrbits + lanes.lane()] = mine;
  }
  fail(args.frame, failed);
}

}  // namespace motiflux::local_counts
