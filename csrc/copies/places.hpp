// Finding places in sorted copies.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "copies/index.hpp"

namespace motiflux::copies {

// Whether a value is less than another: integers, or the bits of doubles.
inline bool less(bool floats, std::int64_t a, std::int64_t b) {
  return floats ? std::bit_cast<double>(a) < std::bit_cast<double>(b) : a < b;
}

// The first place from which `fits` does not hold; it holds for a prefix. Looks near the start first.
template <class Fits>
Place behind(Place first, Place last, Fits&& fits) {
  Place step = 1;
  while (first < last && fits(first)) {
    const Place next = first + step;
    if (next >= last || !fits(next)) {
      Place low = first + 1, high = std::min(next, last);
      while (low < high) {
        const Place middle = low + (high - low) / 2;
        if (fits(middle))
          low = middle + 1;
        else
          high = middle;
      }
      return low;
    }
    first = next + 1;
    step *= 2;
  }
  return first;
}

template <class Fits>
Place bisect(Place first, Place last, Fits&& fits) {
  while (first < last) {
    const Place middle = first + (last - first) / 2;
    if (fits(middle))
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

// The same without branches that depend on what is read: faster where that is in caches.
template <class Fits>
Place bisect_evenly(Place first, Place last, Fits&& fits) {
  Place size = last - first;
  if (size == 0) return first;
  while (size > 1) {
    const Place half = size / 2;
    first += half & -static_cast<Place>(fits(first + half - 1));
    size -= half;
  }
  return first + static_cast<Place>(fits(first));
}

// The same where few places are left, which are in caches: without branches that depend on what is read.
template <class Fits>
Place bisect_briefly(Place first, Place last, Fits&& fits) {
  constexpr Place kCounted = 8;
  Place size = last - first;
  while (size > kCounted) {
    const Place half = size / 2;
    first += half * static_cast<Place>(fits(first + half - 1));
    size -= half;
  }
  Place fitting = 0;
  for (Place at = 0; at < size; ++at) fitting += static_cast<Place>(fits(first + at));
  return first + fitting;
}

// The same in copies of a vertex by main value, of which samples are read first.
template <class FitsValue, class Fits>
Place bisect_row(const CopyIndex& rows, Range row, FitsValue&& fits_value, Fits&& fits) {
  constexpr Place kSampled = CopyIndex::kSampled;
  if (row.size() <= 2 * kSampled) return bisect(row.first, row.last, fits);
  const Place begin = (row.first + kSampled - 1) / kSampled, end = (row.last - 1) / kSampled + 1;
  const Place sample = bisect(begin, end, [&](Place at) { return fits_value(rows.row_samples[at]); });
  return bisect(sample > begin ? (sample - 1) * kSampled + 1 : row.first,
                sample < end ? sample * kSampled : row.last, fits);
}

}  // namespace motiflux::copies
