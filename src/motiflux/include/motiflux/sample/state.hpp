// A partial sample: the values of its levels so far, and its weight.
//
// Policies and their callers read a state only by value(level) and vertex(level), so that a kernel may choose
// its memory.
#pragma once

#include "motiflux/sample/graph.hpp"

namespace motiflux::sample {

struct State {
  const CandidateGraph* graph;
  double weight;  // kUnit times the number of maps that the sample represents; 0: it died
  std::uint32_t values[view::kMaxLevels];

  MOTIFLUX_HOST_DEVICE std::uint32_t value(std::uint32_t level) const { return values[level]; }
  MOTIFLUX_HOST_DEVICE std::uint32_t vertex(std::uint32_t level) const {
    return vertex_of(graph->level[level], values[level]);
  }
  MOTIFLUX_HOST_DEVICE void take(std::uint32_t level, std::uint32_t value) { values[level] = value; }
};

}  // namespace motiflux::sample
