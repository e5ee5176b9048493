// WanderJoin (Li, Wu, Yi, Zhao, SIGMOD 2016): any candidate of the shortest row; its other query edges are
// tested afterwards.
#pragma once

#include "motiflux/sample/policy.hpp"
#include "motiflux/sample/rules.hpp"

namespace motiflux::sample {

struct WanderJoin {
  static constexpr Pick kPick = Pick::kAny;

  MOTIFLUX_HOST_DEVICE static bool refines(const Level&) { return false; }

  template <class State>
  MOTIFLUX_HOST_DEVICE static bool refine(const CandidateGraph&, const State&, std::uint32_t, const Row&,
                                          std::uint32_t) {
    return true;
  }

  template <class State>
  MOTIFLUX_HOST_DEVICE static double sample(const CandidateGraph&, const State&, std::uint32_t, const Row&,
                                            std::uint32_t) {
    return 1;
  }

  template <class State>
  MOTIFLUX_HOST_DEVICE static bool validate(const CandidateGraph& graph, const State& state,
                                            std::uint32_t level, const Row& row, std::uint32_t candidate) {
    return is_apart(graph, state, level, candidate) && is_joined(graph, state, level, row, candidate);
  }
};

}  // namespace motiflux::sample
