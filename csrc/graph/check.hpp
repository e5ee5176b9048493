// Rows that come from outside, checked for all that a search relies on without looking.
#pragma once

#include <cstdint>
#include <string>

#include "common/parallel.hpp"
#include "graph/filter.hpp"

namespace motiflux::graph {

// What is wrong with the first row where anything is, empty if nothing is: offsets ascend from 0 to the
// number of arcs; each row ascends by (neighbour, label); neighbours are other vertices; labels are below
// `edge_labels`; copies (empty: one each) are at least 1 and together `edge_rows`.
std::string describe_fault(const ArcRows& rows, std::span<const std::uint32_t> copies,
                           std::uint32_t edge_labels, std::uint64_t edge_rows, const Workers& workers);

}  // namespace motiflux::graph
