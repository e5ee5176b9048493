// Compressed sparse rows: row v is neighbors[offsets[v] .. offsets[v + 1]), ascending. Rows that a search
// intersects hold no neighbour twice; rows of a graph with parallel edges hold one entry per edge.
//
// Placed rows (units with MOTIFLUX_PLACED_ROWS) may lie anywhere: row v is neighbors[offsets[2 v] ..
// offsets[2 v + 1]), and a row in other memory has a place modulo 2^64:
//
//   neighbors: | row 0 | row 1 | row 2 | row 3 | ...  in memory of the host
//   offsets:   | 0, 3  | x, x + 5 | ...               row 1 is read from a copy on the device
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::view {

struct Adjacency {
  const std::uint64_t* offsets;  // [vertices + 1], or of placed rows [2 * vertices]
  const std::uint32_t* neighbors;

#if defined(MOTIFLUX_PLACED_ROWS)

  MOTIFLUX_HOST_DEVICE std::uint64_t first(std::uint32_t vertex) const {
    return offsets[2 * std::uint64_t{vertex}];
  }
  MOTIFLUX_HOST_DEVICE std::uint64_t behind(std::uint32_t vertex) const {
    return offsets[2 * std::uint64_t{vertex} + 1];
  }
  // The address is computed as a number, since a place may be outside of the array of `neighbors`.
  MOTIFLUX_HOST_DEVICE const std::uint32_t* at(std::uint64_t place) const {
    return reinterpret_cast<const std::uint32_t*>(reinterpret_cast<std::uintptr_t>(neighbors) +
                                                  sizeof(std::uint32_t) * place);
  }
  MOTIFLUX_HOST_DEVICE std::uint64_t place_of(const std::uint32_t* entry) const {
    const std::uintptr_t bytes =
        reinterpret_cast<std::uintptr_t>(entry) - reinterpret_cast<std::uintptr_t>(neighbors);
    return bytes / sizeof(std::uint32_t);
  }

  MOTIFLUX_HOST_DEVICE const std::uint32_t* begin(std::uint32_t vertex) const { return at(first(vertex)); }
  MOTIFLUX_HOST_DEVICE const std::uint32_t* end(std::uint32_t vertex) const { return at(behind(vertex)); }
  MOTIFLUX_HOST_DEVICE std::uint64_t degree(std::uint32_t vertex) const {
    return behind(vertex) - first(vertex);
  }

#else

  // By way of first() and at(), kernels would be compiled to other code, with more registers.
  MOTIFLUX_HOST_DEVICE const std::uint32_t* begin(std::uint32_t vertex) const {
    return neighbors + offsets[vertex];
  }
  MOTIFLUX_HOST_DEVICE const std::uint32_t* end(std::uint32_t vertex) const {
    return neighbors + offsets[vertex + 1];
  }
  MOTIFLUX_HOST_DEVICE std::uint64_t degree(std::uint32_t vertex) const {
    return offsets[vertex + 1] - offsets[vertex];
  }
  MOTIFLUX_HOST_DEVICE std::uint64_t first(std::uint32_t vertex) const { return offsets[vertex]; }
  MOTIFLUX_HOST_DEVICE const std::uint32_t* at(std::uint64_t place) const { return neighbors + place; }
  MOTIFLUX_HOST_DEVICE std::uint64_t place_of(const std::uint32_t* entry) const {
    return static_cast<std::uint64_t>(entry - neighbors);
  }

#endif
};

}  // namespace motiflux::view
