// Numbers of 128 bits that threads add up, a block brings together and a grid adds to one place.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/lanes/group.hpp"

namespace motiflux::local_counts {

struct Wide {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

// Adds to a number; whether the sum passed 2^128.
MOTIFLUX_DEVICE bool add(Wide& to, Wide more) {
  to.low += more.low;
  const std::uint64_t carry = to.low < more.low;
  to.high += more.high;
  const bool passed = to.high < more.high;
  to.high += carry;
  return passed || to.high < carry;
}

MOTIFLUX_DEVICE Wide product(std::uint64_t a, std::uint64_t b) {
  return {a * b, __umul64hi(a, b)};
}

// Multiplies in 64 bits; whether these do not hold the product.
MOTIFLUX_DEVICE bool multiply(std::uint64_t& to, std::uint64_t by) {
  const Wide found = product(to, by);
  to = found.low;
  return found.high != 0;
}

// to^power, at least 1, in 64 bits; whether these do not hold it.
MOTIFLUX_DEVICE bool raise(std::uint64_t& to, std::uint32_t power) {
  const std::uint64_t base = to;
  bool passed = false;
  for (std::uint32_t at = 1; at < power; ++at) passed |= multiply(to, base);
  return passed;
}

// The sum over all lanes, in each; `passed` is set where that is 2^128 or more.
template <class Lanes>
MOTIFLUX_DEVICE Wide sum(const Lanes& lanes, Wide value, bool& passed) {
  constexpr std::uint64_t kHalf = 0xffffffffu;
  const std::uint64_t first = lanes.sum(value.low & kHalf);
  const std::uint64_t second = lanes.sum(value.low >> 32) + (first >> 32);
  const std::uint64_t third = lanes.sum(value.high & kHalf) + (second >> 32);
  const std::uint64_t fourth = lanes.sum(value.high >> 32) + (third >> 32);
  passed |= fourth >> 32 != 0;
  return {(first & kHalf) | second << 32, (third & kHalf) | fourth << 32};
}

// Adds to a number in device memory that others add to; whether it passed 2^128. Exact once all are done: of
// the additions to a word, those that pass it see so in the old value that they get back.
MOTIFLUX_DEVICE bool add_shared(std::uint64_t* low_high, Wide value) {
  const std::uint64_t low = device::device_wide(low_high[0]).fetch_add(value.low, device::Order::kRelaxed);
  const std::uint64_t carry = low + value.low < low;
  bool passed = value.high + carry < carry;
  const std::uint64_t more = value.high + carry;
  if (more == 0) return passed;
  const std::uint64_t high = device::device_wide(low_high[1]).fetch_add(more, device::Order::kRelaxed);
  return passed || high + more < high;
}

}  // namespace motiflux::local_counts
