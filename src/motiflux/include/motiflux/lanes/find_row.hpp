// Finding the row of an arc with all lanes of a group.
#pragma once

#include "motiflux/lanes/group.hpp"

namespace motiflux::lanes {

// The row that holds the arc: the last one that begins at or before it and is not empty. All lanes probe
// different rows, so that it takes a few rounds of loads instead of one per bit.
template <std::uint32_t Lanes>
MOTIFLUX_DEVICE std::uint32_t find_row(const Group<Lanes>& group, const std::uint64_t* offsets,
                                       std::uint32_t rows, std::uint64_t arc) {
  std::uint32_t first = 0;      // offsets[first] <= arc
  std::uint32_t beyond = rows;  // offsets[beyond] > arc
  while (beyond - first > 1) {
    const std::uint32_t stride = (beyond - first + Lanes) / (Lanes + 1);
    const std::uint64_t probe = std::uint64_t{first} + std::uint64_t{stride} * (group.lane() + 1);
    const bool before = probe < beyond && offsets[probe] <= arc;
    const std::uint32_t passed = count_bits(group.ballot(before));
    const std::uint64_t end = std::uint64_t{first} + std::uint64_t{stride} * (passed + 1);
    first += stride * passed;
    if (end < beyond) beyond = static_cast<std::uint32_t>(end);
  }
  return first;
}

}  // namespace motiflux::lanes
