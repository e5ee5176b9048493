// Checks of arguments from Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "common/arrays.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux {

inline void require(bool holds, const char* what) {
  if (!holds) throw nanobind::value_error(what);
}

// Offsets and neighbours.
using PyAdjacency = std::tuple<InputArray<std::uint64_t>, InputArray<std::uint32_t>>;

inline view::Adjacency as_adjacency(const PyAdjacency& arrays, std::size_t vertices) {
  const auto& [offsets, neighbors] = arrays;
  require(offsets.size() == vertices + 1, "adjacencies differ in their number of rows");
  require(offsets.data()[vertices] == neighbors.size(), "offsets do not end at the last neighbour");
  return {offsets.data(), neighbors.data()};
}

}  // namespace motiflux
