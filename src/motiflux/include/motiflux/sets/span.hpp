// Ascending lists of distinct vertices, and lookups in them.
#pragma once

#include "motiflux/platform.hpp"

#if !defined(MOTIFLUX_SIMT)
#include <algorithm>
#endif

namespace motiflux::sets {

struct Span {
  const std::uint32_t* first = nullptr;
  const std::uint32_t* last = nullptr;

  MOTIFLUX_HOST_DEVICE std::size_t size() const { return static_cast<std::size_t>(last - first); }
  MOTIFLUX_HOST_DEVICE const std::uint32_t* begin() const { return first; }
  MOTIFLUX_HOST_DEVICE const std::uint32_t* end() const { return last; }
};

// First element of [first, last) that is not less than `value`.
template <class T>
MOTIFLUX_HOST_DEVICE inline const T* lower_bound(const T* first, const T* last, std::uint64_t value) {
  while (first < last) {
    const T* middle = first + (last - first) / 2;
    if (*middle < value)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

// The same, in few steps if the element is near the first.
template <class T>
MOTIFLUX_HOST_DEVICE inline const T* gallop(const T* first, const T* last, std::uint64_t value) {
  std::size_t step = 1;
  for (; step < static_cast<std::size_t>(last - first) && first[step - 1] < value; step *= 2) first += step;
  return lower_bound(first, step < static_cast<std::size_t>(last - first) ? first + step : last, value);
}

#if defined(MOTIFLUX_SIMT)

MOTIFLUX_HOST_DEVICE inline bool contains(Span set, std::uint32_t vertex) {
  const std::uint32_t* place = lower_bound(set.first, set.last, vertex);
  return place != set.last && *place == vertex;
}

#else

// Longer lists leave the caches; there a predicted branch starts the next load early.
inline constexpr std::size_t kLongestWithoutBranches = std::size_t{1} << 17;

// On a CPU, no branch depends on the elements of a shorter list: half of the branches would be mispredicted.
inline bool contains(Span set, std::uint32_t vertex) {
  std::size_t left = set.size();
  if (left > kLongestWithoutBranches) return std::binary_search(set.first, set.last, vertex);
  if (left == 0) return false;
  while (left > 1) {
    const std::size_t half = left / 2;
    const std::size_t below = set.first[half - 1] < vertex;
    set.first += half & (std::size_t{0} - below);  // compilers make a branch of a conditional
    left -= half;
  }
  return *set.first == vertex;
}

#endif

}  // namespace motiflux::sets
