// Closed walks of five steps, from their greatest vertex x: a block takes it. All other vertices are less, so
// that a hub is reached only from its lesser neighbours.
//
//   x twice:  x a x b c    x once:  x a b c e      first counter of b: wedges from x to b
//                                                  second: over its neighbours c, the wedges to c
#pragma once

#include "motiflux/local_counts/five/arrays.cuh"

namespace motiflux::local_counts {

class ClosedWalks {
 public:
  MOTIFLUX_DEVICE ClosedWalks(const CounterArgs& args, unsigned char* shared)
      : args_(args),
        graph_(args.graph),
        scratch_(*reinterpret_cast<Scratch*>(shared)),
        block_{lanes_.in_block(), blockDim.x / Lanes::kLanes},
        ends_(open_counters(args, shared, scratch_)) {}

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
    for_each_lesser([](std::uint32_t) {},
                    [&](std::uint32_t, std::uint64_t begin, std::uint32_t size) {
                      for_each_neighbor(lanes_, graph_.rows.neighbors + begin, size,
                                        [&](std::uint64_t, std::uint32_t b) { ends_.meet(b); });
                    });
    __syncthreads();
    const std::uint32_t touched = scratch_.counts[0];
    std::uint64_t own = look_beyond(x, touched);
    __syncthreads();
    const std::uint64_t closed = wedges_to_neighbors();
    if (threadIdx.x == 0) own += 2 * lesser_ * closed;
    add_middles(closed);
    __syncthreads();
    for (std::uint32_t at = threadIdx.x; at < touched; at += blockDim.x) ends_.reset(ends_.touched[at]);
    own = lanes_.sum(own);
    if (lanes_.leads()) graph_.add(34, x, own);
  }

  // The entries of a row that are less than x.
  MOTIFLUX_DEVICE std::uint32_t below(std::uint32_t vertex, std::uint32_t x) const {
    const std::uint32_t* const row = graph_.rows.begin(vertex);
    return static_cast<std::uint32_t>(sets::lower_bound(row, graph_.rows.end(vertex), x) - row);
  }

  // Calls meet(a) on some lane for each neighbour a of x that is less, and use(a, begin, size) with a whole
  // warp for the part of its row with vertices less than x, unless that is empty.
  template <class Meet, class Use>
  MOTIFLUX_DEVICE void for_each_lesser(Meet&& meet, Use&& use) const {
    const auto look = [&](std::uint64_t at, std::uint64_t& begin, std::uint32_t& size) {
      const std::uint32_t a = graph_.rows.neighbors[row_ + at];
      meet(a);
      begin = graph_.rows.offsets[a];
      size = args_.ranks[row_ + at];  // the place of x
    };
    for_each_chunk(lanes_, args_.frame, block_, lesser_, look,
                   [&](std::uint64_t at, std::uint64_t begin, std::uint32_t size) {
                     use(graph_.rows.neighbors[row_ + at], begin, size);
                   });
  }

  // Finds the second counters of the vertices touched, and adds the walks with them in the middle. Returns
  // all these, each lane its share.
  MOTIFLUX_DEVICE std::uint64_t look_beyond(std::uint32_t x, std::uint32_t touched) const {
    std::uint64_t once = 0;
    const auto look = [&](std::uint64_t at, std::uint64_t& begin, std::uint32_t& size) {
      begin = graph_.rows.offsets[ends_.touched[at]];
      size = below(ends_.touched[at], x);
    };
    for_each_chunk(lanes_, args_.frame, block_, touched, look,
                   [&](std::uint64_t at, std::uint64_t begin, std::uint32_t size) {
                     std::uint64_t beyond = 0;
                     for_each_neighbor(lanes_, graph_.rows.neighbors + begin, size,
                                       [&](std::uint64_t, std::uint32_t c) { beyond += ends_.first(c); });
                     beyond = lanes_.sum(beyond);
                     if (!lanes_.leads() || beyond == 0) return;
                     const std::uint32_t b = ends_.touched[at];
                     const std::uint64_t number = ends_.first(b) * beyond;
                     ends_.set_second(b, static_cast<std::uint32_t>(beyond));
                     once += number;
                     graph_.add(34, b, 2 * number);
                   });
    return once;
  }

  MOTIFLUX_DEVICE std::uint64_t wedges_to_neighbors() const {
    std::uint64_t closed = 0;
    for (std::uint32_t at = lanes_.lane(); at < lesser_; at += Lanes::kLanes)
      closed += ends_.first(graph_.rows.neighbors[row_ + at]);
    return lanes_.sum(closed);
  }

  // Adds the walks with a lesser neighbour beside x.
  MOTIFLUX_DEVICE void add_middles(std::uint64_t closed) const {
    for_each_lesser(
        [&](std::uint32_t a) { graph_.add(34, a, closed + std::uint64_t{2} * lesser_ * ends_.first(a)); },
        [&](std::uint32_t a, std::uint64_t begin, std::uint32_t size) {
          std::uint64_t beyond = 0;
          for_each_neighbor(lanes_, graph_.rows.neighbors + begin, size,
                            [&](std::uint64_t, std::uint32_t b) { beyond += ends_.second(b); });
          beyond = lanes_.sum(beyond);
          if (lanes_.leads()) graph_.add(34, a, 2 * beyond);
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

// The body of the kernel.
MOTIFLUX_DEVICE void count_closed_walks(const CounterArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  ClosedWalks(args, shared_memory).run();
}

}  // namespace motiflux::local_counts
