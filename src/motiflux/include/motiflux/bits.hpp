// Sets of at most 32 small numbers (levels of a plan, lanes of a warp) as the bits of a word.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux {

// Position of the lowest bit of `word`, which is not 0.
MOTIFLUX_HOST_DEVICE inline std::uint32_t lowest_bit(std::uint32_t word) {
#if defined(__CUDACC_RTC__)
  return static_cast<std::uint32_t>(__ffs(static_cast<int>(word)) - 1);
#else
  MOTIFLUX_ASSERT(word != 0);
  return static_cast<std::uint32_t>(__builtin_ctz(word));
#endif
}

MOTIFLUX_HOST_DEVICE inline std::uint32_t count_bits(std::uint32_t word) {
#if defined(__CUDACC_RTC__)
  return static_cast<std::uint32_t>(__popc(word));
#else
  return static_cast<std::uint32_t>(__builtin_popcount(word));
#endif
}

// The bits below `position`, which is at most 32.
MOTIFLUX_HOST_DEVICE constexpr std::uint32_t bits_below(std::uint32_t position) {
  return position >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << position) - 1;
}

template <class Visit>
MOTIFLUX_HOST_DEVICE inline void for_each_bit(std::uint32_t word, Visit&& visit) {
  for (; word != 0; word &= word - 1) visit(lowest_bit(word));
}

}  // namespace motiflux
