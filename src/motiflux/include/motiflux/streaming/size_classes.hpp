// Sizes of the blocks of a memory pool (docs/design/gpu-streaming.md), in units of 64 bytes:
//
//   class   0 1 2 3   4 5 6 7   8  9 10 11  12 13 14 15  ...
//   units   1 2 3 4   5 6 7 8  10 12 14 16  20 24 28 32  ...    four classes for each doubling
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::streaming {

inline constexpr std::uint32_t kUnitBytes = 64;
// The last class has 2^32 units, more than a pool has.
inline constexpr std::uint32_t kSizeClasses = 124;

// The units of a block of a class.
MOTIFLUX_HOST_DEVICE constexpr std::uint64_t units_of_class(std::uint32_t size_class) {
  if (size_class < 4) return size_class + 1;
  return std::uint64_t{5 + size_class % 4} << (size_class / 4 - 1);
}

// The smallest class whose blocks have so many units, at least 1 and less than 2^32.
MOTIFLUX_HOST_DEVICE constexpr std::uint32_t class_of_units(std::uint64_t units) {
  if (units <= 4) return static_cast<std::uint32_t>(units) - 1;
  std::uint32_t doublings = 0;
  while ((units - 1) >> doublings > 7) ++doublings;
  return 4 * doublings + static_cast<std::uint32_t>((units - 1) >> doublings);
}

// The largest class whose blocks have at most so many units, at least 1.
MOTIFLUX_HOST_DEVICE constexpr std::uint32_t class_within(std::uint64_t units) {
  const std::uint32_t size_class = class_of_units(units);
  return units_of_class(size_class) == units ? size_class : size_class - 1;
}

MOTIFLUX_HOST_DEVICE constexpr std::uint64_t units_of_bytes(std::uint64_t bytes) {
  return (bytes + kUnitBytes - 1) / kUnitBytes;
}

}  // namespace motiflux::streaming
