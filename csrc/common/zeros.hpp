// Large arrays of zeros, written by several threads, which look whether they are to stop: a gigabyte takes
// half a second.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "common/large_pages.hpp"
#include "common/parallel.hpp"

namespace motiflux {

// Elements are not cleared.
template <class T>
using Uncleared = std::vector<T, UnclearedPages<T>>;

// Throws Cancelled.
template <class T>
Uncleared<T> zeros(std::size_t count, const Workers& workers) {
  constexpr std::size_t kChunk = (std::size_t{1} << 20) / sizeof(T);
  Uncleared<T> found(count);
  parallel_for(workers, count, kChunk, [&](std::size_t begin, std::size_t end) {
    std::fill(found.data() + begin, found.data() + end, T{0});
  });
  return found;
}

}  // namespace motiflux
