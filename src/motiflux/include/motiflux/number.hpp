// 128-bit numbers for kernels, since NVRTC has no such type, and the high half of a 64-bit product.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux {

struct Number {
  std::uint64_t low;
  std::uint64_t high;

  MOTIFLUX_HOST_DEVICE bool is_zero() const { return (low | high) == 0; }
};

MOTIFLUX_HOST_DEVICE inline std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDACC_RTC__)
  return __umul64hi(a, b);
#else
  __extension__ using Product = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Product>(a) * b >> 64);
#endif
}

// Adds modulo 2^128; returns whether the sum overflowed.
MOTIFLUX_HOST_DEVICE inline bool add(Number& sum, const Number& number) {
  sum.low += number.low;
  const std::uint64_t carry = sum.low < number.low;
  const std::uint64_t high = number.high + carry;
  sum.high += high;
  return high < carry || sum.high < high;
}

}  // namespace motiflux
