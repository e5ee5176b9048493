// A group of 8, 16 or 32 neighbouring lanes of a warp that work together.
//
// Every collective names exactly the lanes of the group, so the groups of one warp are independent: none
// waits for another. All lanes of a group must make the same calls in the same order.
#pragma once

#include "motiflux/bits.hpp"

namespace motiflux::lanes {

template <std::uint32_t Lanes>
class Group {
  static_assert(Lanes == 8 || Lanes == 16 || Lanes == 32, "a group has 8, 16 or 32 lanes");

 public:
  static constexpr std::uint32_t kLanes = Lanes;

  MOTIFLUX_DEVICE Group()
      : lane_(threadIdx.x % Lanes),
        first_((threadIdx.x % 32) / Lanes * Lanes),
        mask_(bits_below(Lanes) << first_) {}

  MOTIFLUX_DEVICE std::uint32_t lane() const { return lane_; }
  MOTIFLUX_DEVICE bool leads() const { return lane_ == 0; }

  // Number of the group in its block, and in the grid.
  MOTIFLUX_DEVICE std::uint32_t in_block() const { return threadIdx.x / Lanes; }
  MOTIFLUX_DEVICE std::uint32_t in_grid() const { return blockIdx.x * (blockDim.x / Lanes) + in_block(); }

  // Bit i is set if lane i's condition holds.
  MOTIFLUX_DEVICE std::uint32_t ballot(bool condition) const {
    return (__ballot_sync(mask_, condition) >> first_) & bits_below(Lanes);
  }

  MOTIFLUX_DEVICE std::uint32_t broadcast(std::uint32_t value, std::uint32_t from = 0) const {
    return __shfl_sync(mask_, value, static_cast<int>(from), Lanes);
  }

  MOTIFLUX_DEVICE std::uint64_t broadcast(std::uint64_t value, std::uint32_t from = 0) const {
    return __shfl_sync(mask_, static_cast<unsigned long long>(value), static_cast<int>(from), Lanes);
  }

  MOTIFLUX_DEVICE double broadcast(double value, std::uint32_t from = 0) const {
    return __shfl_sync(mask_, value, static_cast<int>(from), Lanes);
  }

  // The sum over all lanes, in all lanes.
  MOTIFLUX_DEVICE std::uint64_t sum(std::uint64_t value) const {
    for (std::uint32_t step = Lanes / 2; step > 0; step /= 2)
      value += __shfl_xor_sync(mask_, static_cast<unsigned long long>(value), static_cast<int>(step), Lanes);
    return value;
  }

  // The sum over the lane's aligned run of `lanes` lanes: 1, 2, 4, ...
  MOTIFLUX_DEVICE std::uint32_t sum_of(std::uint32_t value, std::uint32_t lanes) const {
    for (std::uint32_t step = lanes / 2; step > 0; step /= 2)
      value += __shfl_xor_sync(mask_, value, static_cast<int>(step), Lanes);
    return value;
  }

  // The sum of floating-point numbers over all lanes: lane l adds the value of lane l ^ 16, then l ^ 8, and
  // so on.
  MOTIFLUX_DEVICE double add_up(double value) const {
    for (std::uint32_t step = Lanes / 2; step > 0; step /= 2)
      value += __shfl_xor_sync(mask_, value, static_cast<int>(step), Lanes);
    return value;
  }

  // The union of the bits of all lanes, in all lanes.
  MOTIFLUX_DEVICE std::uint32_t unite(std::uint32_t bits) const {
    for (std::uint32_t step = Lanes / 2; step > 0; step /= 2)
      bits |= __shfl_xor_sync(mask_, bits, static_cast<int>(step), Lanes);
    return bits;
  }

  // The sum over the lanes before this one.
  MOTIFLUX_DEVICE std::uint32_t sums_before(std::uint32_t value) const {
    std::uint32_t total = value;
    for (std::uint32_t step = 1; step < Lanes; step *= 2) {
      const std::uint32_t below = __shfl_up_sync(mask_, total, step, Lanes);
      if (lane_ >= step) total += below;
    }
    return total - value;
  }

  // Makes the writes of each lane visible to the other lanes.
  MOTIFLUX_DEVICE void sync() const { __syncwarp(mask_); }

 private:
  std::uint32_t lane_;
  std::uint32_t first_;
  std::uint32_t mask_;
};

}  // namespace motiflux::lanes
