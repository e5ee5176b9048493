// A copy of consecutive rows of compressed sparse rows, opened by the offsets of all rows:
//
//   offsets     | 0, 3, 7, 12, 14, ...            of all rows
//   the copy                 | row 2 | row 3 |    base: where row 0 would begin, 7 entries before, modulo
//   2^64
//
// The members are those of placed rows (adjacency.hpp).
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::view {

struct RowTile {
  const std::uint64_t* offsets;
  std::uint64_t base;

  // Addresses are computed as numbers, since the base is outside of the copy.
  MOTIFLUX_HOST_DEVICE const std::uint32_t* at(std::uint64_t place) const {
    return reinterpret_cast<const std::uint32_t*>(
        static_cast<std::uintptr_t>(base + sizeof(std::uint32_t) * place));
  }
  // As with a pointer to all neighbours.
  MOTIFLUX_HOST_DEVICE const std::uint32_t* operator+(std::uint64_t place) const { return at(place); }
  MOTIFLUX_HOST_DEVICE std::uint32_t operator[](std::uint64_t place) const { return *at(place); }
  // A place modulo 2^62, if the entry is one of another tile.
  MOTIFLUX_HOST_DEVICE std::uint64_t place_of(const std::uint32_t* entry) const {
    return (reinterpret_cast<std::uintptr_t>(entry) - base) / sizeof(std::uint32_t);
  }
  MOTIFLUX_HOST_DEVICE const std::uint32_t* begin(std::uint32_t vertex) const { return at(offsets[vertex]); }
  MOTIFLUX_HOST_DEVICE const std::uint32_t* end(std::uint32_t vertex) const {
    return at(offsets[std::uint64_t{vertex} + 1]);
  }
};

}  // namespace motiflux::view
