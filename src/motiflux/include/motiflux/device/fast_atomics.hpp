// Relaxed atomic operations for inner loops, among all threads of the device. They are CUDA's own functions:
// unlike for the built-ins behind atomic_ref, the compiler infers a word's memory, shared or device, and
// takes the instruction for it. They return the old value.
#pragma once

#include "motiflux/device/atomic_ref.hpp"

namespace motiflux::device {

MOTIFLUX_DEVICE std::uint32_t fast_add(std::uint32_t& word, std::uint32_t value) {
#if defined(__CUDACC_RTC__)
  return atomicAdd(&word, value);
#else
  return device_wide(word).fetch_add(value, Order::kRelaxed);
#endif
}

MOTIFLUX_DEVICE std::uint64_t fast_add(std::uint64_t& word, std::uint64_t value) {
#if defined(__CUDACC_RTC__)
  return atomicAdd(reinterpret_cast<unsigned long long*>(&word), value);
#else
  return device_wide(word).fetch_add(value, Order::kRelaxed);
#endif
}

MOTIFLUX_DEVICE std::uint32_t fast_or(std::uint32_t& word, std::uint32_t bits) {
#if defined(__CUDACC_RTC__)
  return atomicOr(&word, bits);
#else
  return device_wide(word).fetch_or(bits, Order::kRelaxed);
#endif
}

// Writes `value` if the word is `expected`.
MOTIFLUX_DEVICE std::uint32_t fast_exchange_if(std::uint32_t& word, std::uint32_t expected,
                                               std::uint32_t value) {
#if defined(__CUDACC_RTC__)
  return atomicCAS(&word, expected, value);
#else
  const std::uint32_t asked = expected;
  while (!device_wide(word).compare_exchange(expected, value, Order::kRelaxed))
    if (expected != asked) return expected;
  return asked;
#endif
}

}  // namespace motiflux::device
