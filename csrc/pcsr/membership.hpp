// The partitions in which each vertex has arcs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"

namespace motiflux::pcsr {

inline constexpr std::size_t kVerticesPerCheck = 1 << 14;

// Arcs of all vertices in one direction.
struct Direction {
  std::span<const std::uint64_t> offsets;  // [vertices + 1]
  std::span<const std::uint32_t> neighbors;
  std::span<const std::uint32_t> labels;  // of edges; empty: one label for all
};

// How arcs are divided: by direction, and within it by the label of the edge or of its target.
struct Division {
  std::span<const Direction> directions;
  std::span<const std::uint32_t> vertex_labels;  // empty: one label for all
  std::uint32_t codes;                           // partitions of each direction
  bool by_target;

  std::size_t vertices() const { return directions[0].offsets.size() - 1; }
  std::uint32_t partitions() const { return codes * static_cast<std::uint32_t>(directions.size()); }
  bool one_code() const { return by_target ? vertex_labels.empty() : directions[0].labels.empty(); }
  // Whether rows of a partition lead to several vertex labels.
  bool has_groups() const { return !by_target && !vertex_labels.empty(); }
  std::uint32_t partition_of(std::size_t direction, std::uint64_t arc) const {
    const auto first = static_cast<std::uint32_t>(direction) * codes;
    if (one_code()) return first;
    const Direction& arcs = directions[direction];
    return first + (by_target ? vertex_labels[arcs.neighbors[arc]] : arcs.labels[arc]);
  }
};

// Partitions of vertex v: partitions[offsets[v] .. offsets[v + 1]), ascending, with its number of arcs in
// each.
struct Membership {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> partitions;
  std::vector<std::uint32_t> arcs;
};

Membership collect(const Division& division, const Workers& workers);

}  // namespace motiflux::pcsr
