// Sums over pairs of vertices p, q with common neighbours, from each p: a block takes it.
//
//   counters of q   common neighbours of p and q; 0 of p itself
//                   edges between common neighbours of p and q
//                   for sums at edges: over common neighbours v, the triangles of v q
#pragma once

#include "motiflux/local_counts/five/arrays.cuh"

namespace motiflux::local_counts {

template <bool kAtEdges>
class PairCounter {
  enum Kind : std::uint32_t { kCommon, kEdges, kRoofs };

 public:
  MOTIFLUX_DEVICE PairCounter(const CounterArgs& args, unsigned char* shared)
      : args_(args),
        graph_(args.graph),
        scratch_(*reinterpret_cast<Scratch*>(shared)),
        block_{lanes_.in_block(), blockDim.x / Lanes::kLanes},
        others_(open_counters(args, shared, scratch_, kAtEdges ? 3 : 2)) {}

  MOTIFLUX_DEVICE void run() {
    for_each_heavy(args_.roots, args_.frame, scratch_, [&](std::uint32_t p, std::uint32_t, std::uint64_t) {
      // With one neighbour, p has no pair with two common ones.
      if (graph_.rows.degree(p) > 1) take(p);
    });
  }

 private:
  MOTIFLUX_DEVICE void take(std::uint32_t p) {
    row_ = graph_.rows.offsets[p];
    degree_ = graph_.rows.degree(p);
    if (threadIdx.x == 0) scratch_.counts[0] = 0;
    __syncthreads();
    for_each_behind([&](std::uint64_t, std::uint64_t begin, std::uint32_t size) {
      for_each_neighbor(lanes_, graph_.rows.neighbors + begin, size, [&](std::uint64_t at, std::uint32_t q) {
        if (q == p) return;
        others_.meet(q);
        if constexpr (kAtEdges)
          if (const std::uint64_t closed = graph_.closed[begin + at]; closed > 0)
            others_.add(kRoofs, q, static_cast<std::uint32_t>(closed));
      });
    });
    __syncthreads();
    add_spines(p);
    __syncthreads();
    if constexpr (kAtEdges)
      add_first_edges();
    else
      add_middles(p);
    __syncthreads();
    close(p);
  }

  // Calls use(arc, begin, size) for the rows of the neighbours of p.
  template <class Use>
  MOTIFLUX_DEVICE void for_each_behind(Use&& use) const {
    const auto look = [&](std::uint64_t at, std::uint64_t& begin, std::uint32_t& size) {
      const std::uint32_t v = graph_.rows.neighbors[row_ + at];
      begin = graph_.rows.offsets[v];
      size = static_cast<std::uint32_t>(graph_.rows.offsets[v + 1] - begin);
    };
    for_each_chunk(
        lanes_, args_.frame, block_, degree_, look,
        [&](std::uint64_t at, std::uint64_t begin, std::uint32_t size) { use(row_ + at, begin, size); });
  }

  // For each edge ab between neighbours of p, and each q adjacent to both: an edge for q; and the common
  // neighbours of p and q for a and b, or for the edges of the triangle.
  MOTIFLUX_DEVICE void add_spines(std::uint32_t p) const {
    const auto look = [&](std::uint64_t at, std::uint64_t& begin, std::uint32_t& size) {
      begin = graph_.begins[row_ + at];
      size = static_cast<std::uint32_t>(graph_.closed[row_ + at]);
    };
    for_each_chunk(lanes_, args_.frame, block_, degree_, look,
                   [&](std::uint64_t at, std::uint64_t begin, std::uint32_t size) {
                     add_spines_from(p, row_ + at, graph_.lists + begin, size);
                   });
  }

  // `first` is the arc from p to a; `list` has their common neighbours.
  MOTIFLUX_DEVICE void add_spines_from(std::uint32_t p, std::uint64_t first, const std::uint32_t* list,
                                       std::uint32_t size) const {
    const std::uint32_t a = graph_.rows.neighbors[first];
    const auto look = [&](std::uint64_t at, std::uint64_t& begin, std::uint32_t& common) {
      if (list[at] < a) return;
      const std::uint64_t arc = graph_.arc_to(a, list[at]);
      begin = graph_.begins[arc];
      common = static_cast<std::uint32_t>(graph_.closed[arc]);
    };
    std::uint64_t of_a = 0;
    for_each_chunk(lanes_, args_.frame, Team{0, 1}, size, look,
                   [&](std::uint64_t at, std::uint64_t begin, std::uint32_t common) {
                     std::uint64_t sum = 0;
                     for_each_neighbor(lanes_, graph_.lists + begin, common,
                                       [&](std::uint64_t, std::uint32_t q) {
                                         if (q == p) return;
                                         others_.add(kEdges, q, 1);
                                         sum += others_.get(kCommon, q);
                                       });
                     of_a += sum;
                     sum = lanes_.sum(sum);
                     if (!lanes_.leads()) return;
                     if constexpr (kAtEdges) {
                       graph_.add_at(57, graph_.arc_to(p, list[at]), sum);
                       graph_.add_at(58, graph_.arc_to(a, list[at]), sum);
                     } else {
                       graph_.add(64, list[at], sum);
                     }
                   });
    if constexpr (kAtEdges)
      put_at(57, first, of_a);
    else
      put(64, a, of_a);
  }

  // Adds to the numbers of each neighbour v of p, over the q adjacent to v.
  MOTIFLUX_DEVICE void add_middles(std::uint32_t p) const {
    std::uint64_t roofs = 0;
    for_each_behind([&](std::uint64_t first, std::uint64_t begin, std::uint32_t size) {
      std::uint64_t squares = 0, edges = 0;
      for_each_neighbor(lanes_, graph_.rows.neighbors + begin, size, [&](std::uint64_t at, std::uint32_t q) {
        const std::uint64_t common = others_.get(kCommon, q);
        if (common < 2) return;
        squares += squared(common - 1);
        edges += others_.get(kEdges, q);
        roofs += (common - 1) * graph_.closed[begin + at];
      });
      put(49, graph_.rows.neighbors[first], squares);
      put(62, graph_.rows.neighbors[first], edges);
    });
    put(51, p, roofs);
  }

  // Adds to the numbers of the edge from p to each neighbour v, over the q adjacent to v.
  MOTIFLUX_DEVICE void add_first_edges() const {
    for_each_behind([&](std::uint64_t first, std::uint64_t begin, std::uint32_t size) {
      std::uint64_t ends = 0, squares = 0, roofs = 0, beside = 0, edges = 0;
      for_each_neighbor(lanes_, graph_.rows.neighbors + begin, size, [&](std::uint64_t at, std::uint32_t q) {
        const std::uint64_t common = others_.get(kCommon, q);
        if (common < 2) return;
        const std::uint64_t more = common - 1, closed = graph_.closed[begin + at];
        ends += more * graph_.rows.degree(q);
        squares += squared(more);
        roofs += others_.get(kRoofs, q) - closed;
        beside += more * closed;
        edges += others_.get(kEdges, q);
      });
      put_at(30, first, ends);
      put_at(42, first, squares);
      put_at(43, first, roofs);
      put_at(44, first, beside);
      put_at(56, first, edges);
    });
  }

  // Adds to the numbers of p, over all q, and resets the counters.
  MOTIFLUX_DEVICE void close(std::uint32_t p) const {
    std::uint64_t opposite = 0, thrice = 0, chords = 0;
    for (std::uint32_t at = threadIdx.x; at < scratch_.counts[0]; at += blockDim.x) {
      const std::uint32_t q = others_.touched[at];
      const std::uint64_t common = others_.get(kCommon, q), twice = common * (common - 1);
      opposite += twice * graph_.rows.degree(q);
      thrice += twice * common;
      chords += others_.get(kEdges, q) * common;
      others_.reset(q);
    }
    if constexpr (kAtEdges) return;
    put(36, p, opposite);
    put(50, p, thrice);
    put(63, p, chords);
  }

  // Adds the shares of all lanes.
  MOTIFLUX_DEVICE void put(std::uint32_t orbit, std::uint32_t vertex, std::uint64_t share) const {
    const std::uint64_t found = lanes_.sum(share);
    if (lanes_.leads()) graph_.add(orbit, vertex, found);
  }

  MOTIFLUX_DEVICE void put_at(std::uint32_t orbit, std::uint64_t arc, std::uint64_t share) const {
    const std::uint64_t found = lanes_.sum(share);
    if (lanes_.leads()) graph_.add_at(orbit, arc, found);
  }

  const CounterArgs& args_;
  const FiveGraph& graph_;
  Lanes lanes_;
  Scratch& scratch_;
  const Team block_;
  const Counters others_;
  std::uint64_t row_ = 0, degree_ = 0;
};

// The body of the kernels.
template <bool at_edges>
MOTIFLUX_DEVICE void count_pairs(const CounterArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  PairCounter<at_edges>(args, shared_memory).run();
}

}  // namespace motiflux::local_counts
