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

MOTIFLUX_HOST_DEVICE inline bool contains(View set, std::uint32_t vertex) {
  const std::uint32_t* place = lower_bound(set.first, set.last, vertex);
  return place != set.last && *place == vertex;
}

}  // namespace motiflux::sets
