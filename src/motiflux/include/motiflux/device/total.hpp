// A total of up to 128 bits that many threads add to.
#pragma once

#include "motiflux/device/atomic_ref.hpp"

namespace motiflux::device {

// Adds to the total whose low word is low_high[0] and whose high word is low_high[1].
//
// Exact once all adding threads are done, however they interleave: the additions to the low word happen in
// some order, and each time it passes 2^64 exactly one of them sees it in the old value returned. In between,
// the two words may lack a carry and must not be read as a total.
//
// It cannot overflow where nothing else is added: that takes at least 2^64 additions, centuries of work.
MOTIFLUX_DEVICE void add_128(std::uint64_t* low_high, std::uint64_t value) {
  const std::uint64_t old = device_wide(low_high[0]).fetch_add(value, Order::kRelaxed);
  const bool carries = old + value < old;
  if (carries) device_wide(low_high[1]).fetch_add(std::uint64_t{1}, Order::kRelaxed);
}

// The same for a number of 128 bits. Returns whether the total has passed 2^128: at least one of the adding
// threads gets true.
MOTIFLUX_DEVICE bool add_128(std::uint64_t* low_high, std::uint64_t low, std::uint64_t high) {
  const std::uint64_t old = device_wide(low_high[0]).fetch_add(low, Order::kRelaxed);
  const std::uint64_t carry = old + low < old;
  const std::uint64_t upper = high + carry;
  if (upper < carry) return true;
  if (upper == 0) return false;
  const std::uint64_t before = device_wide(low_high[1]).fetch_add(upper, Order::kRelaxed);
  return before + upper < before;
}

}  // namespace motiflux::device
