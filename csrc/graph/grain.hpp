// Sizes of work items of threads that read a graph.
#pragma once

#include <cstddef>

namespace motiflux::graph {

inline constexpr std::size_t kEdgeGrain = 1 << 16;
inline constexpr std::size_t kRowArcs = 1 << 16;  // arcs of whole rows

}  // namespace motiflux::graph
