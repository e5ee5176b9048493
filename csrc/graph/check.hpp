// Checks rows from outside for all preconditions of a search.
#pragma once

#include <cstdint>
#include <string>

#include "common/parallel.hpp"
#include "graph/filter.hpp"

namespace motiflux::graph {

// Describes the fault of the first faulty row; empty if there is none. Conditions: offsets ascend from 0 to
// the number of arcs; each row ascends by (neighbour, label); neighbours are other vertices; labels are below
// `edge_labels`; copies (empty: one each) are at least 1 and together `edge_rows`.
std::string describe_fault(const ArcRows& rows, std::span<const std::uint32_t> copies,
                           std::uint32_t edge_labels, std::uint64_t edge_rows, const Workers& workers);

}  // namespace motiflux::graph
