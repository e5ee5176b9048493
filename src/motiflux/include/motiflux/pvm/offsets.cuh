// Writes in two passes, as published before GENEVA (its section 5.1), to compare with: the first pass counts
// the rows of each unit of work, a unit's place is the sum over the units before it, and the second pass
// writes. Units are numbered in the order in which warps take them, so places ascend in that order.
//
//   rows of units    3 0 put off 5 2      | 4 4 parts of the long one
//   places           0 3   3     3 8      | 10 14
#pragma once

#include "motiflux/pvm/units.hpp"

namespace motiflux::pvm {

inline constexpr std::uint32_t kOffsetThreads = 1024;

struct OffsetArgs {
  Work work;                     // of the second pass
  const PhaseControl* measured;  // of the first pass
};

// By one block: turns rows into places, and tells the second pass what the first one put off.
MOTIFLUX_DEVICE void set_places(const OffsetArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(memory);
  auto* sums = reinterpret_cast<std::uint64_t*>(memory);  // of each warp
  const Work& work = args.work;
  const Warp warp;
  const std::uint64_t size = work.before == nullptr ? work.size : rows_of(*work.before);
  const std::uint64_t batches = (size + kBatch - 1) / kBatch;
  const std::uint64_t left = batches < work.first_batch ? 0 : batches - work.first_batch;
  const std::uint64_t units = work.left_count + left + args.measured->long_parts;
  std::uint64_t before = 0;
  for (std::uint64_t first = 0; first < units; first += blockDim.x) {
    const std::uint64_t unit = first + threadIdx.x;
    const std::uint64_t found = unit < units ? work.places[unit] : 0;
    const std::uint64_t rows = found & ~kPutOff;
    std::uint64_t sum = rows;  // of the warp's lanes up to this one
    for (std::uint32_t step = 1; step < 32; step *= 2) {
      const std::uint64_t below =
          __shfl_up_sync(~0u, static_cast<unsigned long long>(sum), static_cast<int>(step), 32);
      if (warp.lane() >= step) sum += below;
    }
    if (warp.lane() == 31) sums[warp.in_block()] = sum;
    __syncthreads();
    std::uint64_t place = before + sum - rows;
    for (std::uint32_t other = 0; other < blockDim.x / 32; ++other) {
      before += sums[other];
      if (other < warp.in_block()) place += sums[other];
    }
    if (unit < units) work.places[unit] = (work.filled + place) | (found & kPutOff);
    __syncthreads();  // sums are read
  }
  if (threadIdx.x != 0) return;
  work.control->reserved = before;
  work.control->long_parts = args.measured->long_parts;
  if (args.measured->overflow != 0) work.control->overflow = 1;
}

}  // namespace motiflux::pvm
