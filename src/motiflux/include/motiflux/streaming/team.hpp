// Threads that write a batch together: warps of a block, DCSM's super-warp.
#pragma once

#include "motiflux/lanes/group.hpp"

namespace motiflux::streaming {

// The first warps of a block, whose threads call the same functions in the same order; other threads of the
// block have returned. `sums` is shared memory for a word of each warp.
class BlockTeam {
 public:
  MOTIFLUX_DEVICE explicit BlockTeam(std::uint32_t* sums) : BlockTeam(sums, blockDim.x / 32) {}
  MOTIFLUX_DEVICE BlockTeam(std::uint32_t* sums, std::uint32_t warps) : sums_(sums), warps_(warps) {}

  MOTIFLUX_DEVICE std::uint32_t thread() const { return threadIdx.x; }
  MOTIFLUX_DEVICE std::uint32_t threads() const { return 32 * warps_; }
  MOTIFLUX_DEVICE void sync() const { __syncthreads(); }

  // The sum over the threads before this one, and over all.
  MOTIFLUX_DEVICE std::uint32_t sums_before(std::uint32_t value, std::uint32_t& total) const {
    const lanes::Group<32> warp;
    const std::uint32_t before = warp.sums_before(value);
    if (warp.lane() == 31) sums_[warp.in_block()] = before + value;
    __syncthreads();
    std::uint32_t sum = before;
    total = 0;
    for (std::uint32_t other = 0; other < warps_; ++other) {
      if (other < warp.in_block()) sum += sums_[other];
      total += sums_[other];
    }
    __syncthreads();
    return sum;
  }

 private:
  std::uint32_t* sums_;
  std::uint32_t warps_;
};

}  // namespace motiflux::streaming
