// Shared parts of kernels over the roots of a table: assignment of roots, stopping, overflow.
//
//   order   | root of most work, ..., | ..., root of least work |   a vertex each, none without work
//             0 .. heavy: a block each  heavy .. count: a warp each
//
// A block takes heavy roots until none are left, then its warps take light ones independently. Dynamic shared
// memory begins with a Scratch; the rest is the kernel's.
#pragma once

#include "motiflux/local_counts/number.cuh"
#include "motiflux/match/task.hpp"

namespace motiflux::local_counts {

using Lanes = lanes::Group<32>;

struct Frame {
  match::Control* control;  // has the stop flag; `done` counts roots
  std::uint32_t* failed;    // set if a number of a table passes 64 bits, or a sum 128
};

struct Roots {
  const std::uint32_t* order;
  const std::uint32_t* work;  // of each of `order`, descending: a bound, at most 2^32 - 1
  std::uint32_t heavy;
  std::uint32_t count;
  std::uint64_t* taken;  // [2]: numbers of heavy and of light roots taken
  // This device takes every `stride`-th root of `order` from `first` on; other devices take the others.
  std::uint32_t first;
  std::uint32_t stride;

  MOTIFLUX_DEVICE std::uint64_t place(std::uint64_t at) const { return first + at * stride; }
};

inline constexpr std::uint32_t kMostWarps = 32;
inline constexpr std::uint32_t kMostRegisters = 16;
inline constexpr std::uint32_t kLightRoots = 4;  // light roots that a warp takes at a time

struct Scratch {
  Number sums[kMostWarps];
  std::uint64_t taken;
  std::uint32_t stopped;
  std::uint32_t counts[kMostRegisters];
};

inline constexpr std::uint32_t kScratchBytes = 1024;
static_assert(sizeof(Scratch) <= kScratchBytes);

MOTIFLUX_DEVICE bool is_stopped(const Frame& frame) {
  return device::device_wide(frame.control->stop).load(device::Order::kRelaxed) != 0;
}

MOTIFLUX_DEVICE void fail(const Frame& frame, bool failed) {
  if (failed) device::device_wide(*frame.failed).store(1u, device::Order::kRelaxed);
}

MOTIFLUX_DEVICE void tell_done(const Frame& frame, std::uint64_t roots) {
  device::device_wide(frame.control->done).fetch_add(roots, device::Order::kRelaxed);
}

// Calls use(root, work, at) with all threads of the block for one heavy root after another; `at` is its
// place.
template <class Use>
MOTIFLUX_DEVICE void for_each_heavy(const Roots& roots, const Frame& frame, Scratch& scratch, Use&& use) {
  for (;;) {
    __syncthreads();  // no thread reads the taken root or uses shared memory any more
    if (threadIdx.x == 0) {
      scratch.taken = roots.heavy;
      if (!is_stopped(frame))
        scratch.taken =
            device::device_wide(roots.taken[0]).fetch_add(std::uint64_t{1}, device::Order::kRelaxed);
    }
    __syncthreads();
    const std::uint64_t taken = scratch.taken;
    if (taken >= roots.heavy) return;
    const std::uint64_t at = roots.place(taken);
    use(roots.order[at], roots.work[at], at);
    if (threadIdx.x == 0) tell_done(frame, 1);
  }
}

// Calls use(root, work) with all lanes of a warp for one light root after another.
template <class Use>
MOTIFLUX_DEVICE void for_each_light(const Roots& roots, const Frame& frame, const Lanes& lanes, Use&& use) {
  for (;;) {
    std::uint64_t taken = roots.count;
    if (lanes.leads() && !is_stopped(frame))
      taken =
          roots.heavy +
          device::device_wide(roots.taken[1]).fetch_add(std::uint64_t{kLightRoots}, device::Order::kRelaxed);
    taken = lanes.broadcast(taken);
    if (taken >= roots.count) return;
    const std::uint64_t left = roots.count - taken;
    const std::uint64_t end = taken + (left < kLightRoots ? left : kLightRoots);
    for (std::uint64_t at = taken; at < end; ++at)
      use(roots.order[roots.place(at)], roots.work[roots.place(at)]);
    if (lanes.leads()) tell_done(frame, end - taken);
  }
}

// The sum over all threads of the block, in its first one.
MOTIFLUX_DEVICE Number sum_of_block(const Lanes& lanes, Scratch& scratch, Number value, bool& passed) {
  const Number mine = sum(lanes, value, passed);
  __syncthreads();  // no thread reads the sums any more
  if (lanes.leads()) scratch.sums[lanes.in_block()] = mine;
  __syncthreads();
  Number whole{};
  if (threadIdx.x == 0)
    for (std::uint32_t warp = 0; warp < blockDim.x / Lanes::kLanes; ++warp)
      passed |= add(whole, scratch.sums[warp]);
  return whole;
}

// Warps that work together: all warps of a block, or a single one.
struct Team {
  std::uint32_t warp;
  std::uint32_t warps;
};

// Calls use(at, begin, size) with all lanes of one warp of the team for each of `count` items of nonzero
// size; look(at, begin, size) sets, on one lane, the part of a row of one item. After a stop all sizes are 0:
// the results are not used then.
template <class Look, class Use>
MOTIFLUX_DEVICE void for_each_chunk(const Lanes& lanes, const Frame& frame, Team team, std::uint64_t count,
                                    Look&& look, Use&& use) {
  const std::uint64_t stride = std::uint64_t{Lanes::kLanes} * team.warps;
  for (std::uint64_t base = team.warp; base < count; base += stride) {
    const std::uint64_t at = base + std::uint64_t{lanes.lane()} * team.warps;
    std::uint64_t begin = 0;
    std::uint32_t size = 0;
    if (at < count && !is_stopped(frame)) look(at, begin, size);
    for_each_bit(lanes.ballot(size > 0), [&](std::uint32_t from) {
      use(base + std::uint64_t{from} * team.warps, lanes.broadcast(begin, from), lanes.broadcast(size, from));
    });
  }
}

// Calls use(at, neighbour) on some lane for each part of a row: four loads before the first use.
template <class Use>
MOTIFLUX_DEVICE void for_each_neighbor(const Lanes& lanes, const std::uint32_t* neighbors, std::uint32_t size,
                                       Use&& use) {
  constexpr std::uint32_t kAtOnce = 4;
  for (std::uint64_t first = lanes.lane(); first < size; first += std::uint64_t{kAtOnce} * Lanes::kLanes) {
    std::uint32_t found[kAtOnce];
    for (std::uint32_t i = 0; i < kAtOnce; ++i) {
      const std::uint64_t at = first + std::uint64_t{i} * Lanes::kLanes;
      found[i] = at < size ? neighbors[at] : 0;
    }
    for (std::uint32_t i = 0; i < kAtOnce; ++i) {
      const std::uint64_t at = first + std::uint64_t{i} * Lanes::kLanes;
      if (at < size) use(at, found[i]);
    }
  }
}

}  // namespace motiflux::local_counts
