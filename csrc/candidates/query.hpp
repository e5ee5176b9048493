// A pattern and a graph as input of the candidate space.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/filter.hpp"

namespace motiflux::candidates {

inline constexpr std::size_t kMaxKinds = 64;

// How a query edge is followed from one of its ends.
struct ArcKind {
  bool out;                                   // along arcs as they are given
  bool in;                                    // against arcs; an undirected graph has `out` only
  std::span<const std::uint8_t> edge_labels;  // 1 at each allowed code; empty: all
  std::span<const std::uint8_t> out_arcs;     // 1 for each allowed arc, in row order; empty: all
  std::span<const std::uint8_t> in_arcs;
};

struct QueryVertex {
  std::vector<std::uint32_t> labels;      // codes, ascending; empty: any
  std::span<const std::uint8_t> allowed;  // 1 for each allowed vertex; empty: all
  std::uint64_t min_out_degree;
  std::uint64_t min_in_degree;
};

struct QueryEdge {
  std::uint32_t source;
  std::uint32_t target;
  std::uint32_t forward;   // kind, seen from the source
  std::uint32_t backward;  // kind, seen from the target
};

struct Query {
  std::vector<QueryVertex> vertices;
  std::vector<QueryEdge> edges;
  std::vector<ArcKind> kinds;
  bool injective;  // distinct query vertices have distinct images
};

struct DataGraph {
  graph::ArcRows out;
  graph::ArcRows in;
  // Vertices grouped by label, ascending within each; a graph of one label has one group.
  std::span<const std::uint64_t> label_offsets;
  std::span<const std::uint32_t> by_label;
  std::uint32_t edge_labels;  // the number of edge labels

  std::uint32_t vertices() const { return static_cast<std::uint32_t>(out.offsets.size() - 1); }
};

inline std::uint64_t degree(const graph::ArcRows& rows, std::uint32_t vertex) {
  return rows.offsets[vertex + 1] - rows.offsets[vertex];
}

inline bool passes(std::span<const std::uint8_t> mask, std::uint64_t index) {
  return mask.empty() || mask[index] != 0;
}

}  // namespace motiflux::candidates
