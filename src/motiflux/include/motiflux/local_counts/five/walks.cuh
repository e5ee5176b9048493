// Closed walks of five steps, from their greatest vertex x: a block takes it. All other vertices are less, so
// that a hub is reached only from its lesser neighbours.
//
//   x twice:  x a x b c    x once:  x a b c e      counters of b: wedges from x to b
//                                                                 over its neighbours c, the wedges to c
//                                                                 for sums at edges: 1 if adjacent to x
#pragma once

#include "motiflux/local_counts/five/arrays.cuh"

namespace motiflux::local_counts {

template <bool kAtEdges>
class ClosedWalks {
  enum Kind : std::uint32_t { kWedges, kBeyond, kNear };

 public:
  MOTIFLUX_DEVICE ClosedWalks(const CounterArgs& args, unsigned char* shared)
      : args_(args),
        graph_(args.graph),
        scratch_(*reinterpret_cast<Scratch*>(shared)),
        block_{lanes_.in_block(), blockDim.x / Lanes::kLanes},
        ends_(open_counters(args, shared, scratch_, kAtEdges ? 3 : 2)) {}

  MOTIFLUX_DEVICE void run() {
    for_each_heavy(args_.roots, args_.frame, scratch_,
                   [&](std::uint32_t x, std::uint32_t, std::uint64_t) { take(x); });
  }

 private:
  MOTIFLUX_DEVICE void take(std::uint32_t x) {
    row_ = graph_.rows.offsets[x];
    lesser_ = below(x, x);
    if (threadIdx.x == 0) scratch_.counts[0] = 0;
    __syncthreads();
    for_each_lesser(
        [&](std::uint64_t, std::uint32_t a) {
          if constexpr (kAtEdges) ends_.set(kNear, a, 1);
        },
        [&](std::uint64_t, std::uint64_t begin, std::uint32_t size) {
          for_each_neighbor(lanes_, graph_.rows.neighbors + begin, size,
                            [&](std::uint64_t, std::uint32_t b) { ends_.meet(b); });
        });
    __syncthreads();
    const std::uint32_t touched = scratch_.counts[0];
    std::uint64_t own = look_beyond(x, touched);
    __syncthreads();
    const std::uint64_t closed = wedges_to_neighbors();
    if (threadIdx.x == 0) own += std::uint64_t{2} * lesser_ * closed;
    if constexpr (kAtEdges)
      add_first_edges(closed);
    else
      add_middles(closed);
    __syncthreads();
    for (std::uint32_t at = threadIdx.x; at < touched; at += blockDim.x) ends_.reset(ends_.touched[at]);
    if constexpr (kAtEdges) {
      for (std::uint32_t at = threadIdx.x; at < lesser_; at += blockDim.x)
        ends_.set(kNear, graph_.rows.neighbors[row_ + at], 0);
    } else {
      own = lanes_.sum(own);
      if (lanes_.leads()) graph_.add(34, x, own);
    }
  }

  // The entries of a row that are less than x.
  MOTIFLUX_DEVICE std::uint32_t below(std::uint32_t vertex, std::uint32_t x) const {
    const std::uint32_t* const row = graph_.rows.begin(vertex);
    return static_cast<std::uint32_t>(sets::lower_bound(row, graph_.rows.end(vertex), x) - row);
  }

  // Calls meet(arc, a) on some lane for each neighbour a of x that is less, and use(arc, begin, size) with a
  // whole warp for the part of its row with vertices less than x, unless that is empty.
  template <class Meet, class Use>
  MOTIFLUX_DEVICE void for_each_lesser(Meet&& meet, Use&& use) const {
    const auto look = [&](std::uint64_t at, std::uint64_t& begin, std::uint32_t& size) {
      const std::uint32_t a = graph_.rows.neighbors[row_ + at];
      meet(row_ + at, a);
      begin = graph_.rows.offsets[a];
      size = args_.ranks[row_ + at];  // the place of x
    };
    for_each_chunk(
        lanes_, args_.frame, block_, lesser_, look,
        [&](std::uint64_t at, std::uint64_t begin, std::uint32_t size) { use(row_ + at, begin, size); });
  }

  // Finds what is beyond the vertices b touched, and adds the walks with b opposite x, or those by an edge
  // opposite x. Returns the walks of the vertices, each lane its share.
  MOTIFLUX_DEVICE std::uint64_t look_beyond(std::uint32_t x, std::uint32_t touched) const {
    std::uint64_t once = 0;
    const auto look = [&](std::uint64_t at, std::uint64_t& begin, std::uint32_t& size) {
      begin = graph_.rows.offsets[ends_.touched[at]];
      size = below(ends_.touched[at], x);
    };
    for_each_chunk(lanes_, args_.frame, block_, touched, look,
                   [&](std::uint64_t item, std::uint64_t begin, std::uint32_t size) {
                     const std::uint32_t b = ends_.touched[item];
                     const std::uint64_t wedges = ends_.get(kWedges, b);
                     std::uint64_t beyond = 0;
                     for_each_neighbor(lanes_, graph_.rows.neighbors + begin, size,
                                       [&](std::uint64_t at, std::uint32_t c) {
                                         const std::uint32_t there = ends_.get(kWedges, c);
                                         beyond += there;
                                         if constexpr (kAtEdges)
                                           if (c > b) graph_.add_at(28, begin + at, 2 * wedges * there);
                                       });
                     beyond = lanes_.sum(beyond);
                     if (!lanes_.leads() || beyond == 0) return;
                     ends_.set(kBeyond, b, static_cast<std::uint32_t>(beyond));
                     once += wedges * beyond;
                     if constexpr (!kAtEdges) graph_.add(34, b, 2 * wedges * beyond);
                   });
    return once;
  }

  MOTIFLUX_DEVICE std::uint64_t wedges_to_neighbors() const {
    std::uint64_t closed = 0;
    for (std::uint32_t at = lanes_.lane(); at < lesser_; at += Lanes::kLanes)
      closed += ends_.get(kWedges, graph_.rows.neighbors[row_ + at]);
    return lanes_.sum(closed);
  }

  // Adds the walks with a lesser neighbour a beside x.
  MOTIFLUX_DEVICE void add_middles(std::uint64_t closed) const {
    for_each_lesser(
        [&](std::uint64_t, std::uint32_t a) {
          graph_.add(34, a, closed + std::uint64_t{2} * lesser_ * ends_.get(kWedges, a));
        },
        [&](std::uint64_t arc, std::uint64_t begin, std::uint32_t size) {
          std::uint64_t beyond = 0;
          for_each_neighbor(lanes_, graph_.rows.neighbors + begin, size,
                            [&](std::uint64_t, std::uint32_t b) { beyond += ends_.get(kBeyond, b); });
          beyond = lanes_.sum(beyond);
          if (lanes_.leads()) graph_.add(34, graph_.rows.neighbors[arc], 2 * beyond);
        });
  }

  // Adds the walks by the edge from x to a, and by those from a to other vertices.
  MOTIFLUX_DEVICE void add_first_edges(std::uint64_t closed) const {
    for_each_lesser(
        [&](std::uint64_t arc, std::uint32_t a) {
          graph_.add_at(28, arc, 2 * (closed + std::uint64_t{lesser_} * ends_.get(kWedges, a)));
        },
        [&](std::uint64_t arc, std::uint64_t begin, std::uint32_t size) {
          std::uint64_t beyond = 0;
          for_each_neighbor(lanes_, graph_.rows.neighbors + begin, size,
                            [&](std::uint64_t at, std::uint32_t b) {
                              const std::uint64_t there = ends_.get(kBeyond, b);
                              beyond += there;
                              graph_.add_at(28, begin + at, 2 * there + (ends_.get(kNear, b) ? lesser_ : 0));
                            });
          beyond = lanes_.sum(beyond);
          if (lanes_.leads()) graph_.add_at(28, arc, 2 * beyond);
        });
  }

  const CounterArgs& args_;
  const FiveGraph& graph_;
  Lanes lanes_;
  Scratch& scratch_;
  const Team block_;
  const Counters ends_;
  std::uint64_t row_ = 0;
  std::uint32_t lesser_ = 0;
};

// The body of the kernels.
template <bool at_edges>
MOTIFLUX_DEVICE void count_closed_walks(const CounterArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  ClosedWalks<at_edges>(args, shared_memory).run();
}

}  // namespace motiflux::local_counts
