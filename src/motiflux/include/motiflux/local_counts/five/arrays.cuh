// Numbers of arcs and vertices from which the orbits of five vertices are made, as csrc/local_counts/five
// does: for each orbit a sum of maps of its graphlet at each vertex, linear in the numbers of induced
// subgraphs.
//
//   reverse [arcs]    the arc from v to u, of an arc from u to v
//   begins  [arcs]    where the list of common neighbours of u and v begins; both arcs have the same list
//   lists             | arc to the first greater neighbour of vertex 0 | ... |   ascending, `closed` entries
//   sums [58][vertices]   of orbits 15 to 72, modulo 2^64
#pragma once

#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/local_counts/roots.cuh"
#include "motiflux/sets/span.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

inline constexpr std::uint32_t kSmallOrbits = 15;
inline constexpr std::uint32_t kFiveSums = 58;
inline constexpr std::uint32_t kFiveOrbits = kSmallOrbits + kFiveSums;

struct FiveGraph {
  view::Adjacency rows;
  const std::uint64_t* closed;   // [arcs]: triangles
  const std::uint64_t* squares;  // [arcs]: 4-cycles
  std::uint64_t* reverse;
  std::uint64_t* begins;
  std::uint32_t* lists;
  // Of arcs from u to v that are in triangles; others have no numbers:
  std::uint64_t* ends;     // over common neighbours w: the degree of w
  std::uint64_t* sides;    // over common neighbours w: the triangles of u w
  std::uint64_t* cliques;  // 4-cliques, each twice
  std::uint64_t* sums;
  std::uint64_t vertices;

  MOTIFLUX_DEVICE std::uint64_t& sum(std::uint32_t orbit, std::uint32_t vertex) const {
    return sums[(orbit - kSmallOrbits) * vertices + vertex];
  }
  MOTIFLUX_DEVICE void add(std::uint32_t orbit, std::uint32_t vertex, std::uint64_t more) const {
    if (more != 0) device::fast_add(sum(orbit, vertex), more);
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

MOTIFLUX_DEVICE std::uint64_t squared(std::uint64_t number) {
  return number * number;
}

// Two counters of each vertex, of one block: those of the greatest vertices in shared memory.
//
//   near | first counters | second counters |  of the last `room` vertices
//   far  | first counters | second counters |  of the others
//   touched [vertices]                         those with a first counter that is not 0
struct Counters {
  std::uint32_t* near;
  std::uint32_t* far;
  std::uint32_t* touched;
  std::uint32_t* number;  // of those touched, in shared memory
  std::uint32_t base;     // the first vertex in shared memory
  std::uint32_t room;

  MOTIFLUX_DEVICE std::uint32_t first(std::uint32_t z) const { return z < base ? far[z] : near[z - base]; }
  MOTIFLUX_DEVICE std::uint32_t second(std::uint32_t z) const {
    return z < base ? far[std::uint64_t{base} + z] : near[room + (z - base)];
  }
  // Adds 1 to the first counter.
  MOTIFLUX_DEVICE void meet(std::uint32_t z) const {
    const std::uint32_t before =
        z < base ? device::fast_add(far[z], 1u) : device::fast_add(near[z - base], 1u);
    if (before == 0) touched[device::fast_add(*number, 1u)] = z;
  }
  MOTIFLUX_DEVICE void add_second(std::uint32_t z) const {
    if (z < base)
      device::fast_add(far[std::uint64_t{base} + z], 1u);
    else
      device::fast_add(near[room + (z - base)], 1u);
  }
  MOTIFLUX_DEVICE void set_second(std::uint32_t z, std::uint32_t value) const {
    if (z < base)
      far[std::uint64_t{base} + z] = value;
    else
      near[room + (z - base)] = value;
  }
  MOTIFLUX_DEVICE void reset(std::uint32_t z) const {
    if (z < base) {
      far[z] = 0;
      far[std::uint64_t{base} + z] = 0;
    } else {
      near[z - base] = 0;
      near[room + (z - base)] = 0;
    }
  }
};

struct CounterArgs {
  FiveGraph graph;
  const std::uint32_t* ranks;
  Frame frame;
  Roots roots;
  std::uint32_t room;  // vertices with counters in shared memory, behind the scratch
  std::uint32_t unused;
  std::uint32_t* far;      // [blocks][2][vertices - room], zero
  std::uint32_t* touched;  // [blocks][vertices]
};

// The counters of a block, zero.
MOTIFLUX_DEVICE Counters open_counters(const CounterArgs& args, unsigned char* shared, Scratch& scratch) {
  auto* const near = reinterpret_cast<std::uint32_t*>(shared + kScratchBytes);
  for (std::uint32_t at = threadIdx.x; at < 2 * args.room; at += blockDim.x) near[at] = 0;
  const auto vertices = static_cast<std::uint32_t>(args.graph.vertices);
  const std::uint32_t base = vertices - args.room;
  return {near,
          args.far + std::uint64_t{blockIdx.x} * 2 * base,
          args.touched + std::uint64_t{blockIdx.x} * vertices,
          &scratch.counts[0],
          base,
          args.room};
}

}  // namespace motiflux::local_counts
