// Compressed sparse rows: row v is neighbors[offsets[v] .. offsets[v + 1]), ascending. Rows that a search
// intersects hold no neighbour twice; rows of a graph with parallel edges hold one entry per edge.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::view {

struct Adjacency {
  const std::uint64_t* offsets;  // [vertices + 1]
  const std::uint32_t* neighbors;

  MOTIFLUX_HOST_DEVICE const std::uint32_t* begin(std::uint32_t vertex) const {
    return neighbors + offsets[vertex];
  }
  MOTIFLUX_HOST_DEVICE const std::uint32_t* end(std::uint32_t vertex) const {
    return neighbors + offsets[vertex + 1];
  }
  MOTIFLUX_HOST_DEVICE std::uint64_t degree(std::uint32_t vertex) const {
    return offsets[vertex + 1] - offsets[vertex];
  }
};

}  // namespace motiflux::view
