#include "graph/count_labels.hpp"

#include <algorithm>
#include <stdexcept>

namespace motiflux::graph {

std::vector<std::int64_t> count_triples(const LabelledArcs& arcs, std::uint64_t first, std::uint64_t last,
                                        std::size_t vertex_labels, std::size_t edge_labels) {
  const auto check = [](std::size_t label, std::size_t labels) {
    if (label >= labels) throw std::invalid_argument("a label is too large");
    return label;
  };
  const auto of_vertex = [&](std::size_t vertex) {
    return arcs.vertex_labels.empty() ? 0 : check(arcs.vertex_labels[vertex], vertex_labels);
  };
  std::vector<std::int64_t> counts(vertex_labels * edge_labels * vertex_labels);
  const auto after = std::upper_bound(arcs.offsets.begin(), arcs.offsets.end(), first);
  auto source = static_cast<std::size_t>(after - arcs.offsets.begin()) - 1;
  for (std::uint64_t arc = first; arc < last; ++source) {
    std::int64_t* of_source = counts.data() + of_vertex(source) * edge_labels * vertex_labels;
    for (const std::uint64_t end = std::min(arcs.offsets[source + 1], last); arc < end; ++arc) {
      const std::size_t edge = arcs.edge_labels.empty() ? 0 : check(arcs.edge_labels[arc], edge_labels);
      ++of_source[edge * vertex_labels + of_vertex(arcs.neighbors[arc])];
    }
  }
  return counts;
}

}  // namespace motiflux::graph
