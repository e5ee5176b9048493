// Numbers of combinations, and the combination of a number: candidates are shared by all members of a set, so
// each unordered combination is made once (section 9 of GENEVA; its algorithms 4 to 6 nest loops instead).
//
// Combinations of n positions p[0] < p[1] < ... have the number C(p[0], 1) + C(p[1], 2) + ... + C(p[n - 1], n),
// so those with the last positions in common follow each other.
#pragma once

#include "motiflux/number.hpp"

#if !defined(__CUDACC_RTC__)
#include <cmath>
#endif

namespace motiflux::pvm {

inline constexpr std::uint64_t kTooMany = std::uint64_t{1} << 62;

MOTIFLUX_HOST_DEVICE inline std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  return high_product(a, b) != 0 || a * b > kTooMany ? kTooMany : a * b;
}

// C(size, N), or kTooMany.
template <std::uint32_t N>
MOTIFLUX_HOST_DEVICE std::uint64_t choose(std::uint64_t size) {
  if (size < N) return 0;
  std::uint64_t found = 1;
#pragma unroll
  for (std::uint32_t at = 0; at < N; ++at) {
    if (high_product(found, size - at) != 0) return kTooMany;
    found = found * (size - at) / (at + 1);  // no remainder
  }
  return found < kTooMany ? found : kTooMany;
}

// size^N, or kTooMany.
template <std::uint32_t N>
MOTIFLUX_HOST_DEVICE std::uint64_t power(std::uint64_t size) {
  std::uint64_t found = 1;
#pragma unroll
  for (std::uint32_t at = 0; at < N; ++at) found = multiply(found, size);
  return found;
}

// Combinations, or tuples, of so many of `size` candidates.
template <class Shape, std::uint32_t Members>
MOTIFLUX_HOST_DEVICE std::uint64_t items_of(std::uint64_t size) {
  return Shape::kTuples ? power<Members>(size) : choose<Members>(size);
}

// The largest position whose combinations begin at most at `number`: C(position, N) <= number. It is below
// `size`.
template <std::uint32_t N>
MOTIFLUX_HOST_DEVICE std::uint32_t last_position(std::uint64_t number, std::uint32_t size) {
  std::uint32_t first = N - 1, beyond = size;  // C(first, N) <= number < C(beyond, N)
  if (N == 2) {
    // Within one of the root; doubles have 53 bits.
    const double root = 0.5 + sqrt(0.25 + 2.0 * static_cast<double>(number));
    const std::uint64_t guess = static_cast<std::uint64_t>(root);
    first = guess > 2 ? static_cast<std::uint32_t>(guess - 2) : 1;
    while (first + 1 < size && choose<2>(first + 1) <= number) ++first;
    while (first > 1 && choose<2>(first) > number) --first;
    return first;
  }
  while (beyond - first > 1) {
    const std::uint32_t middle = first + (beyond - first) / 2;
    if (choose<N>(middle) <= number)
      first = middle;
    else
      beyond = middle;
  }
  return first;
}

// Writes the positions of a combination of N of `size` positions.
template <std::uint32_t N>
MOTIFLUX_HOST_DEVICE void combination(std::uint64_t number, std::uint32_t size, std::uint32_t* positions) {
  if constexpr (N == 1) {
    positions[0] = static_cast<std::uint32_t>(number);
  } else if constexpr (N > 1) {
    const std::uint32_t last = last_position<N>(number, size);
    positions[N - 1] = last;
    combination<N - 1>(number - choose<N>(last), last, positions);
  }
}

// Writes the positions of a tuple of N of `size` positions.
template <std::uint32_t N>
MOTIFLUX_HOST_DEVICE void tuple(std::uint64_t number, std::uint32_t size, std::uint32_t* positions) {
#pragma unroll
  for (std::uint32_t at = 0; at < N; ++at) {
    positions[at] = static_cast<std::uint32_t>(number % size);
    number /= size;
  }
}

}  // namespace motiflux::pvm
