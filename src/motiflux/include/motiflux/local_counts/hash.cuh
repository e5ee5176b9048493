// A small set of vertices with a number each, in shared memory, of one warp: open addressing.
//
//   keys    [slots]   the vertex, or kNoVertex        slots is a power of two, more than there are vertices
//   counts  [slots]
#pragma once

#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/lanes/group.hpp"

namespace motiflux::local_counts {

inline constexpr std::uint32_t kNoVertex = ~std::uint32_t{0};

struct Hash {
  std::uint32_t* keys;
  std::uint32_t* counts;
  std::uint32_t slots;

  // Makes an empty table with slots for twice `most` vertices.
  template <class Lanes>
  MOTIFLUX_DEVICE void clear(const Lanes& lanes, std::uint32_t most, std::uint32_t capacity) {
    slots = Lanes::kLanes;
    while (slots < 2 * most && slots < capacity) slots *= 2;
    lanes.sync();
    for (std::uint32_t at = lanes.lane(); at < slots; at += Lanes::kLanes) {
      keys[at] = kNoVertex;
      counts[at] = 0;
    }
    lanes.sync();
  }

  MOTIFLUX_DEVICE std::uint32_t first(std::uint32_t vertex) const {
    return (vertex * 2654435761u) >> 15 & (slots - 1);
  }

  // The slot of the vertex, inserted if new.
  MOTIFLUX_DEVICE std::uint32_t place(std::uint32_t vertex) const {
    for (std::uint32_t at = first(vertex);; at = (at + 1) & (slots - 1)) {
      const std::uint32_t there = device::fast_exchange_if(keys[at], kNoVertex, vertex);
      if (there == kNoVertex || there == vertex) return at;
    }
  }

  MOTIFLUX_DEVICE std::uint32_t add(std::uint32_t vertex) const {
    return device::fast_add(counts[place(vertex)], 1u);
  }

  MOTIFLUX_DEVICE bool has(std::uint32_t vertex) const {
    for (std::uint32_t at = first(vertex);; at = (at + 1) & (slots - 1)) {
      if (keys[at] == vertex) return true;
      if (keys[at] == kNoVertex) return false;
    }
  }

  MOTIFLUX_DEVICE std::uint32_t get(std::uint32_t vertex) const {
    for (std::uint32_t at = first(vertex);; at = (at + 1) & (slots - 1)) {
      if (keys[at] == vertex) return counts[at];
      if (keys[at] == kNoVertex) return 0;
    }
  }
};

}  // namespace motiflux::local_counts
