// Histograms of wedges with middles of several kinds: a counter for each kind at each end z.
//
// A root takes a block, and all counters are in device memory. The number of middles of one kind at an end is
// known only after all wedges, so the products are computed in a second pass, over the wedges of the first
// kind.
#pragma once

#include "motiflux/local_counts/wedges.cuh"

namespace motiflux::local_counts {

inline constexpr std::uint32_t kMostKinds = 8;

struct WedgeKind {
  view::Adjacency first;
  view::Adjacency second;
  std::uint64_t number;
};

struct KindArgs {
  WedgeKind kinds[kMostKinds];
  std::uint32_t count;
  std::uint32_t below;  // only ends below the root count
  Frame frame;
  Roots roots;
  std::uint32_t vertices;
  std::uint32_t* counters;  // [blocks][count][vertices], zero
  std::uint64_t* total;     // two words, or null
  std::uint64_t* ends;      // [vertices], or null
};

class KindCounter {
 public:
  MOTIFLUX_DEVICE KindCounter(const KindArgs& args, unsigned char* shared)
      : args_(args),
        scratch_(*reinterpret_cast<Scratch*>(shared)),
        counters_(args.counters + std::uint64_t{blockIdx.x} * args.count * args.vertices) {}

  MOTIFLUX_DEVICE void run() {
    for_each_heavy(args_.roots, args_.frame, scratch_,
                   [&](std::uint32_t x, std::uint32_t, std::uint64_t) { take(x); });
    if (args_.total != nullptr) {
      const Number found = sum_of_block(lanes_, scratch_, whole_, failed_);
      if (threadIdx.x == 0) failed_ |= device::add_128(args_.total, found.low, found.high);
    }
    fail(args_.frame, failed_);
  }

 private:
  MOTIFLUX_DEVICE std::uint32_t& counter(std::uint32_t kind, std::uint32_t z) const {
    return counters_[std::uint64_t{kind} * args_.vertices + z];
  }

  MOTIFLUX_DEVICE void take(std::uint32_t x) {
    for (std::uint32_t kind = 0; kind < args_.count; ++kind)
      for_each_end(x, kind, [&](std::uint32_t z) { device::fast_add(counter(kind, z), 1u); });
    __syncthreads();
    for_each_end(x, 0, [&](std::uint32_t z) { meet(z); });
    __syncthreads();
    for (std::uint32_t kind = 1; kind < args_.count; ++kind)
      for_each_end(x, kind, [&](std::uint32_t z) { counter(kind, z) = 0; });
    if (args_.ends == nullptr) return;
    const Number found = sum_of_block(lanes_, scratch_, whole_, failed_);
    whole_ = {};
    if (threadIdx.x != 0) return;
    failed_ |= found.high != 0;
    args_.ends[x] = found.low;
  }

  // Adds the product of the kinds at z, once.
  MOTIFLUX_DEVICE void meet(std::uint32_t z) {
    const std::uint32_t among = device::device_wide(counter(0, z)).exchange(0u, device::Order::kRelaxed);
    if (among == 0) return;
    std::uint64_t found = 1;
    for (std::uint32_t kind = 0; kind < args_.count; ++kind) {
      const std::uint64_t there = kind == 0 ? among : counter(kind, z);
      for (std::uint64_t chosen = 0; chosen < args_.kinds[kind].number; ++chosen) {
        if (chosen >= there) return;
        failed_ |= multiply(found, there - chosen);
      }
    }
    failed_ |= add(whole_, {found, 0});
  }

  template <class Use>
  MOTIFLUX_DEVICE void for_each_end(std::uint32_t x, std::uint32_t kind, Use&& use) {
    const WedgeKind& wedges = args_.kinds[kind];
    const std::uint64_t row = wedges.first.offsets[x];
    const bool all = args_.below == 0;
    const auto look = [&](std::uint64_t at, std::uint64_t& begin, std::uint32_t& size) {
      const std::uint32_t y = wedges.first.neighbors[row + at];
      begin = wedges.second.offsets[y];
      const std::uint32_t* const from = wedges.second.neighbors + begin;
      const std::uint32_t* const end = wedges.second.end(y);
      size = static_cast<std::uint32_t>((all ? end : sets::lower_bound(from, end, x)) - from);
    };
    const Team block{lanes_.in_block(), blockDim.x / Lanes::kLanes};
    for_each_chunk(lanes_, args_.frame, block, wedges.first.degree(x), look,
                   [&](std::uint64_t, std::uint64_t begin, std::uint32_t size) {
                     for_each_neighbor(lanes_, wedges.second.neighbors + begin, size,
                                       [&](std::uint64_t, std::uint32_t z) {
                                         if (z != x) use(z);
                                       });
                   });
  }

  const KindArgs& args_;
  Lanes lanes_;
  Scratch& scratch_;
  std::uint32_t* counters_;
  Number whole_{};
  bool failed_ = false;
};

// The body of the kernel.
MOTIFLUX_DEVICE void count_kinds(const KindArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  KindCounter(args, shared_memory).run();
}

}  // namespace motiflux::local_counts
