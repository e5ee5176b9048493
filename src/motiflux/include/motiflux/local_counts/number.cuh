// Sums and products of 128-bit numbers (motiflux/number.hpp) for tables of local counts.
#pragma once

#include "motiflux/device/total.hpp"
#include "motiflux/lanes/group.hpp"
#include "motiflux/number.hpp"

namespace motiflux::local_counts {

MOTIFLUX_DEVICE Number product(std::uint64_t a, std::uint64_t b) {
  return {a * b, high_product(a, b)};
}

// Multiplies in 64 bits; returns whether the product overflowed.
MOTIFLUX_DEVICE bool multiply(std::uint64_t& to, std::uint64_t by) {
  const Number found = product(to, by);
  to = found.low;
  return found.high != 0;
}

// Raises to `power`, at least 1, in 64 bits; returns whether the result overflowed.
MOTIFLUX_DEVICE bool raise(std::uint64_t& to, std::uint32_t power) {
  const std::uint64_t base = to;
  bool passed = false;
  for (std::uint32_t at = 1; at < power; ++at) passed |= multiply(to, base);
  return passed;
}

// The sum over all lanes, in all lanes; sets `passed` if it is 2^128 or more.
template <class Lanes>
MOTIFLUX_DEVICE Number sum(const Lanes& lanes, Number value, bool& passed) {
  constexpr std::uint64_t kHalf = 0xffffffffu;
  const std::uint64_t first = lanes.sum(value.low & kHalf);
  const std::uint64_t second = lanes.sum(value.low >> 32) + (first >> 32);
  const std::uint64_t third = lanes.sum(value.high & kHalf) + (second >> 32);
  const std::uint64_t fourth = lanes.sum(value.high >> 32) + (third >> 32);
  passed |= fourth >> 32 != 0;
  return {(first & kHalf) | second << 32, (third & kHalf) | fourth << 32};
}

}  // namespace motiflux::local_counts
