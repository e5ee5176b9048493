// Every possible edge between n vertices has a number; this maps numbers to edges.
#pragma once

#include "motiflux/generate/rmat.hpp"

namespace motiflux::generate {

// The number of possible edges: n (n - 1), or half of that if undirected.
MOTIFLUX_HOST_DEVICE constexpr std::uint64_t count_pairs(std::uint64_t vertices, bool directed) {
  if (vertices < 2) return 0;
  const std::uint64_t odd = vertices % 2 ? vertices : vertices - 1;
  return directed ? vertices * (vertices - 1) : odd * ((vertices + 1) / 2 - vertices % 2);
}

// The edge of a number below `count_pairs`. Different numbers have different edges; undirected, the smaller
// id comes first.
//
// Undirected: an odd number of vertices is arranged in a circle, and a pair is its start and its distance, at
// most half around. If their number is even, the last vertex is in the centre, a further distance.
MOTIFLUX_HOST_DEVICE constexpr Edge pair_of(std::uint64_t number, std::uint64_t vertices, bool directed) {
  const std::uint64_t around = vertices % 2 || directed ? vertices : vertices - 1;
  const std::uint64_t reaches = directed ? vertices - 1 : vertices / 2;
  const std::uint64_t begin = number / reaches, reach = number % reaches;
  std::uint64_t end = begin + reach + 1;
  if (end >= around) end -= around;
  if (around != vertices && reach + 1 == reaches) end = vertices - 1;
  if (!directed && begin > end) return {static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(begin)};
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

}  // namespace motiflux::generate
