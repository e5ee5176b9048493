// Every possible edge between n vertices has a number; from the number back to the edge.
#pragma once

#include "motiflux/generate/rmat.hpp"

namespace motiflux::generate {

// Edges that there can be: n (n - 1), or half as many if undirected.
MOTIFLUX_HOST_DEVICE constexpr std::uint64_t count_pairs(std::uint64_t vertices, bool directed) {
  if (vertices < 2) return 0;
  const std::uint64_t odd = vertices % 2 ? vertices : vertices - 1;
  return directed ? vertices * (vertices - 1) : odd * ((vertices + 1) / 2 - vertices % 2);
}

// The edge of a number below `count_pairs`. No two have the same; undirected, the smaller id comes first.
//
// Undirected, an odd number of vertices stands in a circle, and a pair is where it begins and how far it
// reaches, at most half around. Of an even number, the last stands in the middle, as far as no other.
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
