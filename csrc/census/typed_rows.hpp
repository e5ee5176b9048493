// Adjacent pairs of a graph with their kinds: whether one arc joins them, and in which direction, or both do.
//
//   arcs 0->1, 1->0, 0->2:   row 0: 1 (both) 2 (out)    row 1: 0 (both)    row 2: 0 (in)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::census {

// As seen from the vertex whose row it is.
inline constexpr std::uint8_t kOut = 0, kIn = 1, kBoth = 2;
inline constexpr int kKinds = 3;

constexpr int reversed(int kind) {
  return kind == kBoth ? kBoth : 1 - kind;
}

// Calls use(neighbour, kind) for each neighbour in two ascending rows, of the arcs from a vertex and to it.
template <class Use>
void merge(const std::uint32_t* to, const std::uint32_t* to_end, const std::uint32_t* from,
           const std::uint32_t* from_end, Use&& use) {
  while (to != to_end || from != from_end) {
    const bool out = from == from_end || (to != to_end && *to <= *from);
    const bool in = to == to_end || (from != from_end && *from <= *to);
    const std::uint32_t v = out ? *to : *from;
    while (to != to_end && *to == v) ++to;
    while (from != from_end && *from == v) ++from;
    use(v, out && in ? kBoth : out ? kOut : kIn);
  }
}

struct TypedRows {
  std::uint32_t vertices = 0;
  std::vector<std::uint64_t> offsets;  // [vertices + 1]
  std::vector<std::uint64_t> above;    // [vertices]: the first entry of a row that is greater than its vertex
  std::vector<std::uint32_t> neighbors;  // ascending, each once
  std::vector<std::uint8_t> kinds;       // of the same entries

  std::uint64_t degree(std::uint32_t v) const { return offsets[v + 1] - offsets[v]; }
};

// From the arcs from each vertex and to it; a neighbour may be repeated in a row. Those of an undirected
// graph are the same rows, and all kinds kBoth.
TypedRows typed_rows(const view::Adjacency& forward, const view::Adjacency& reverse, std::uint32_t vertices,
                     const Workers& workers);

struct SortedRows {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> neighbors;

  view::Adjacency view() const { return {offsets.data(), neighbors.data()}; }
};

// The arcs to each vertex; of those, the arcs from each vertex.
SortedRows sorted_to(std::span<const std::uint32_t> sources, std::span<const std::uint32_t> targets,
                     std::uint32_t vertices);
SortedRows transposed(const SortedRows& rows, std::uint32_t vertices);

}  // namespace motiflux::census
