// How many arcs there are of each triple of labels: of the source, the edge, and the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace motiflux::graph {

// Rows of arcs with labels. Empty labels: all are 0.
struct LabelledArcs {
  std::span<const std::uint64_t> offsets;
  std::span<const std::uint32_t> neighbors;
  std::span<const std::uint32_t> edge_labels;
  std::span<const std::uint32_t> vertex_labels;
};

// Counts the arcs from `first` to before `last`, by (source * edge labels + edge) * vertex labels + target.
// Throws std::invalid_argument if a label is not below the number of labels.
std::vector<std::int64_t> count_triples(const LabelledArcs& arcs, std::uint64_t first, std::uint64_t last,
                                        std::size_t vertex_labels, std::size_t edge_labels);

}  // namespace motiflux::graph
