// From an edge list to compressed sparse rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"

namespace motiflux::graph {

struct EdgeList {
  std::span<const std::uint32_t> sources;
  std::span<const std::uint32_t> targets;
  std::span<const std::uint32_t> labels;  // empty: one label for all
};

// Row v holds its arcs by (neighbour, label), each once. `copies` has the number of copies of each arc; it is
// empty if no arc was given twice.
struct Rows {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> neighbors;
  std::vector<std::uint32_t> labels;
  std::vector<std::uint32_t> copies;
};

struct Built {
  std::vector<std::uint32_t> order;  // order[new id] = id in the edge list
  Rows forward;
  Rows reverse;              // directed graphs only
  std::uint64_t duplicates;  // edges beyond the first copy
};

// Ids are renumbered by ascending degree (ties keep their order), so that an order restriction u < v is also
// a degree-ordered orientation: a vertex has at most sqrt(2m) greater neighbours. Every id must be below
// `vertices`; throws std::invalid_argument otherwise. Self-loops are left out.
Built build(const EdgeList& edges, std::uint32_t vertices, bool directed, const Workers& workers);

// The positions that sort edges by source, target and label by the ids of `order` (as in Built); the smaller
// end of an undirected edge comes first, and equal edges keep their order. No edge may be a self-loop.
std::vector<std::uint32_t> sort_edges(const EdgeList& edges, std::span<const std::uint32_t> order,
                                      bool directed, const Workers& workers);

}  // namespace motiflux::graph
