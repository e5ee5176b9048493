// Alley (Kim, Kim, Kang, Han, SIGMOD 2021), without branching: the shortest row is refined to the candidates
// joined to all earlier levels. Repeated vertices are rejected afterwards.
#pragma once

#include "motiflux/sample/policy.hpp"
#include "motiflux/sample/rules.hpp"

namespace motiflux::sample {

struct Alley {
  static constexpr Pick kPick = Pick::kRefined;

  MOTIFLUX_HOST_DEVICE static bool refines(const Level& level) { return level.source_count > 1; }

  template <class State>
  MOTIFLUX_HOST_DEVICE static bool refine(const CandidateGraph& graph, const State& state,
                                          std::uint32_t level, const Row& row, std::uint32_t candidate) {
    return is_joined(graph, state, level, row, candidate);
  }

  template <class State>
  MOTIFLUX_HOST_DEVICE static double sample(const CandidateGraph&, const State&, std::uint32_t, const Row&,
                                            std::uint32_t) {
    return 1;
  }

  template <class State>
  MOTIFLUX_HOST_DEVICE static bool validate(const CandidateGraph& graph, const State& state,
                                            std::uint32_t level, const Row&, std::uint32_t candidate) {
    return is_apart(graph, state, level, candidate);
  }
};

}  // namespace motiflux::sample
