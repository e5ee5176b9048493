// Numbers of combinations, and the combination of a number: candidates are shared by all members of a set, so
// each unordered combination is made once (section 9 of GENEVA; its algorithms 4 to 6 nest loops instead).
//
// Combinations of n positions p[0] < p[1] < ... have the number C(p[0], 1) + C(p[1], 2) + ... + C(p[n - 1],
// n), so those with the last positions in common follow each other.
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
  for (std::uint32_t at = 0; at < N; ++at) {
    if (high_product(found, size - at) != 0) return kTooMany;
    found = found * (size - at) / (at + 1);  // no remainder
  }
  return found < kTooMany ? found : kTooMany;
}

// The same for any number of members.
MOTIFLUX_HOST_DEVICE inline std::uint64_t choose(std::uint64_t size, std::uint32_t members) {
  if (size < members) return 0;
  std::uint64_t found = 1;
  for (std::uint32_t at = 0; at < members; ++at) {
    if (high_product(found, size - at) != 0) return kTooMany;
    found = found * (size - at) / (at + 1);  // no remainder
  }
  return found < kTooMany ? found : kTooMany;
}

MOTIFLUX_HOST_DEVICE inline std::uint64_t power(std::uint64_t size, std::uint32_t members) {
  std::uint64_t found = 1;
  for (std::uint32_t at = 0; at < members; ++at) found = multiply(found, size);
  return found;
}

// size^N, or kTooMany.
template <std::uint32_t N>
MOTIFLUX_HOST_DEVICE std::uint64_t power(std::uint64_t size) {
  std::uint64_t found = 1;
  for (std::uint32_t at = 0; at < N; ++at) found = multiply(found, size);
  return found;
}

// Combinations of so many of `size` candidates, or tuples. Those of algorithm 6 are tuples but for the last
// two members of the first set.
template <class Shape, std::uint32_t Members, bool IsFirst>
MOTIFLUX_HOST_DEVICE std::uint64_t items_of(std::uint64_t size) {
  if constexpr (Shape::kNested && IsFirst)
    return multiply(power<Members - 2>(size), choose<2>(size));
  else
    return Shape::kTuples || Shape::kNested ? power<Members>(size) : choose<Members>(size);
}

// The larger position of a pair: p * (p - 1) / 2 <= number < p * (p + 1) / 2. Roots may be off by one.
MOTIFLUX_HOST_DEVICE inline std::uint32_t last_of_pair(std::uint64_t number) {
  if (number < std::uint64_t{1} << 30) {
    const std::uint32_t small = static_cast<std::uint32_t>(number);
    std::uint32_t last =
        static_cast<std::uint32_t>(0.5f * (1.0f + sqrtf(1.0f + 8.0f * static_cast<float>(small))));
    if (last * (last - 1) / 2 > small) --last;
    if ((last + 1) * last / 2 <= small) ++last;
    return last;
  }
  std::uint64_t last =
      static_cast<std::uint64_t>(0.5 * (1.0 + sqrt(1.0 + 8.0 * static_cast<double>(number))));
  while (last * (last - 1) / 2 > number) --last;
  while ((last + 1) * last / 2 <= number) ++last;
  return static_cast<std::uint32_t>(last);
}

// The largest position whose combinations begin at most at `number`: C(position, N) <= number. It is below
// `size`.
template <std::uint32_t N>
MOTIFLUX_HOST_DEVICE std::uint32_t last_position(std::uint64_t number, std::uint32_t size) {
  if constexpr (N == 2) {
    return last_of_pair(number);
  } else {
    std::uint32_t first = N - 1, beyond = size;  // C(first, N) <= number < C(beyond, N)
    while (beyond - first > 1) {
      const std::uint32_t middle = first + (beyond - first) / 2;
      if (choose<N>(middle) <= number)
        first = middle;
      else
        beyond = middle;
    }
    return first;
  }
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
  for (std::uint32_t at = 0; at < N; ++at) {
    positions[at] = static_cast<std::uint32_t>(number % size);
    number /= size;
  }
}

// Writes the positions of an item of N of `size` positions, as algorithm 6 nests its loops: those of pairs
// are the inner ones.
template <std::uint32_t N>
MOTIFLUX_HOST_DEVICE void nested(std::uint64_t number, std::uint32_t size, std::uint32_t* positions) {
  const std::uint64_t pairs = choose<2>(size);
  tuple<N - 2>(number / pairs, size, positions);
  combination<2>(number % pairs, size, positions + N - 2);
}

}  // namespace motiflux::pvm
