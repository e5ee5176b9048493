// Numbers of arcs and vertices from which the orbits of five vertices are made, as csrc/local_counts/five
// does: for each orbit a sum of maps of its graphlet at each vertex, linear in the numbers of induced
// subgraphs. Likewise at each edge.
//
//   reverse [arcs]    the arc from v to u, of an arc from u to v
//   begins  [arcs]    where the list of common neighbours of u and v begins; both arcs have the same list
//   lists             | arc to the first greater neighbour of vertex 0 | ... |   ascending, `closed` entries
//   sums [58][vertices]   of orbits 15 to 72, modulo 2^64; at edges [56][edges], of orbits 12 to 67
#pragma once

#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/local_counts/roots.cuh"
#include "motiflux/sets/span.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

inline constexpr std::uint32_t kSmallOrbits = 15;
inline constexpr std::uint32_t kFiveSums = 58;
inline constexpr std::uint32_t kSmallEdgeOrbits = 12;
inline constexpr std::uint32_t kFiveEdgeSums = 56;

struct FiveGraph {
  view::Adjacency rows;
  const std::uint64_t* closed;   // [arcs]: triangles
  const std::uint64_t* squares;  // [arcs]: 4-cycles
  std::uint64_t* reverse;
  std::uint64_t* begins;
  std::uint32_t* lists;
  // Of arcs from u to v that are in triangles; others have no numbers:
  std::uint64_t* ends;         // over common neighbours w: the degree of w
  std::uint64_t* sides;        // over common neighbours w: the triangles of u w
  std::uint64_t* cliques;      // 4-cliques, each twice
  const std::uint32_t* edges;  // of each arc, the number of its edge; null for sums at vertices
  std::uint64_t* sums;
  std::uint64_t places;  // vertices or edges that have sums
  std::uint64_t vertices;

  MOTIFLUX_DEVICE std::uint64_t& sum(std::uint32_t orbit, std::uint32_t vertex) const {
    return sums[(orbit - kSmallOrbits) * places + vertex];
  }
  MOTIFLUX_DEVICE void add(std::uint32_t orbit, std::uint32_t vertex, std::uint64_t more) const {
    if (more != 0) device::fast_add(sum(orbit, vertex), more);
  }
  MOTIFLUX_DEVICE std::uint64_t& edge_sum(std::uint32_t orbit, std::uint32_t edge) const {
    return sums[(orbit - kSmallEdgeOrbits) * places + edge];
  }
  // Adds to the sum of the edge of an arc.
  MOTIFLUX_DEVICE void add_at(std::uint32_t orbit, std::uint64_t arc, std::uint64_t more) const {
    if (more != 0) device::fast_add(edge_sum(orbit, edges[arc]), more);
  }
  // The common neighbours of the ends of an arc.
  MOTIFLUX_DEVICE sets::Span common(std::uint64_t arc) const {
    const std::uint32_t* const first = lists + begins[arc];
    return {first, first + closed[arc]};
  }
  // The arc from u to its neighbour v.
  MOTIFLUX_DEVICE std::uint64_t arc_to(std::uint32_t u, std::uint32_t v) const {
    return rows.place_of(sets::lower_bound(rows.begin(u), rows.end(u), v));
  }
};

// Numbers of each vertex, [kRowSums][vertices].
enum RowSum : std::uint32_t {
  kEnds,       // over neighbours, their degrees
  kSquares,    // over neighbours, the squares of their degrees
  kCubes,      // over neighbours, the cubes of their degrees
  kCorners,    // triangles, each twice
  kTailed,     // over triangles, the degrees of the two others
  kClosed,     // over arcs, the squares of their triangles
  kCycles,     // 4-cycles, each twice
  kCliques,    // 4-cliques, each six times
  kApart,      // over triangles, twice the triangles of the opposite edge
  kSeconds,    // over neighbours, their ends
  kForks,      // over neighbours, their squares
  kTreeSides,  // over neighbours, their degrees times their ends
  kNeighbors,  // over neighbours, their corners
  kRowSums
};

MOTIFLUX_DEVICE std::uint64_t squared(std::uint64_t number) {
  return number * number;
}

// Counters of each vertex, of one block: those of the greatest vertices in shared memory.
//
//   near | first counters | second counters | ... |  of the last `room` vertices
//   far  | first counters | second counters | ... |  of the others
//   touched [vertices]                               those with a first counter that is not 0
struct Counters {
  std::uint32_t* near;
  std::uint32_t* far;
  std::uint32_t* touched;
  std::uint32_t* number;  // of those touched, in shared memory
  std::uint32_t base;     // the first vertex in shared memory
  std::uint32_t room;
  std::uint32_t kinds;  // counters of a vertex

  MOTIFLUX_DEVICE std::uint32_t get(std::uint32_t kind, std::uint32_t z) const {
    return z < base ? far[far_place(kind, z)] : near[near_place(kind, z)];
  }
  MOTIFLUX_DEVICE void set(std::uint32_t kind, std::uint32_t z, std::uint32_t value) const {
    if (z < base)
      far[far_place(kind, z)] = value;
    else
      near[near_place(kind, z)] = value;
  }
  MOTIFLUX_DEVICE std::uint32_t add(std::uint32_t kind, std::uint32_t z, std::uint32_t more) const {
    return z < base ? device::fast_add(far[far_place(kind, z)], more)
                    : device::fast_add(near[near_place(kind, z)], more);
  }
  // Adds 1 to the first counter.
  MOTIFLUX_DEVICE void meet(std::uint32_t z) const {
    if (add(0, z, 1) == 0) touched[device::fast_add(*number, 1u)] = z;
  }
  MOTIFLUX_DEVICE void reset(std::uint32_t z) const {
    for (std::uint32_t kind = 0; kind < kinds; ++kind) set(kind, z, 0);
  }

 private:
  MOTIFLUX_DEVICE std::uint64_t far_place(std::uint32_t kind, std::uint32_t z) const {
    return std::uint64_t{kind} * base + z;
  }
  MOTIFLUX_DEVICE std::uint32_t near_place(std::uint32_t kind, std::uint32_t z) const {
    return kind * room + (z - base);
  }
};

struct CounterArgs {
  FiveGraph graph;
  const std::uint32_t* ranks;
  Frame frame;
  Roots roots;
  std::uint32_t room;  // vertices with counters in shared memory, behind the scratch
  std::uint32_t unused;
  std::uint32_t* far;      // [blocks][kinds][vertices - room], zero
  std::uint32_t* touched;  // [blocks][vertices]
};

// The counters of a block, zero.
MOTIFLUX_DEVICE Counters open_counters(const CounterArgs& args, unsigned char* shared, Scratch& scratch,
                                       std::uint32_t kinds) {
  auto* const near = reinterpret_cast<std::uint32_t*>(shared + kScratchBytes);
  for (std::uint32_t at = threadIdx.x; at < kinds * args.room; at += blockDim.x) near[at] = 0;
  const auto vertices = static_cast<std::uint32_t>(args.graph.vertices);
  const std::uint32_t base = vertices - args.room;
  return {near,
          args.far + std::uint64_t{blockIdx.x} * kinds * base,
          args.touched + std::uint64_t{blockIdx.x} * vertices,
          &scratch.counts[0],
          base,
          args.room,
          kinds};
}

}  // namespace motiflux::local_counts
