// Adjacency restricted to the arcs that a query edge may use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"

namespace motiflux::graph {

struct ArcRows {
  std::span<const std::uint64_t> offsets;
  std::span<const std::uint32_t> neighbors;
  std::span<const std::uint32_t> labels;  // empty: one label for all
  std::span<const std::uint8_t> mask;     // 1 for each allowed arc; empty: all
};

// A mask holds 1 at the code of each allowed label, or at the id of each allowed vertex; an empty mask allows
// all.
struct ArcFilter {
  std::span<const std::uint8_t> edge_labels;
  std::span<const std::uint8_t> source_labels;
  std::span<const std::uint8_t> target_labels;
  std::span<const std::uint32_t> vertex_labels;  // code per vertex; empty: one label for all
  std::span<const std::uint8_t> sources;
  std::span<const std::uint8_t> targets;
};

struct NeighborRows {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> neighbors;
};

// Rows of distinct neighbours, ascending, reached by an arc of any of `directions` (one direction, or both
// for query edges that take either arc) that passes the filter.
NeighborRows filter(std::span<const ArcRows> directions, const ArcFilter& allowed, const Workers& workers);

}  // namespace motiflux::graph
