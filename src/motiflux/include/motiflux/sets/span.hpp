// Ascending lists of distinct vertices, and looking one up in them.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::sets {

struct View {
  const std::uint32_t* first;
  const std::uint32_t* last;

  MOTIFLUX_HOST_DEVICE std::uint64_t size() const { return static_cast<std::uint64_t>(last - first); }
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

#if defined(MOTIFLUX_SIMT)

MOTIFLUX_HOST_DEVICE inline bool contains(View set, std::uint32_t vertex) {
  const std::uint32_t* place = lower_bound(set.first, set.last, vertex);
  return place != set.last && *place == vertex;
}

#else

// On a CPU, no branch depends on the elements: a branch would be foretold wrongly half of the time.
inline bool contains(View set, std::uint32_t vertex) {
  std::uint64_t left = set.size();
  if (left == 0) return false;
  while (left > 1) {
    const std::uint64_t half = left / 2;
    const std::uint64_t below = set.first[half - 1] < vertex;
    set.first += half & (std::uint64_t{0} - below);  // compilers make a branch of a conditional
    left -= half;
  }
  return *set.first == vertex;
}

#endif

}  // namespace motiflux::sets
