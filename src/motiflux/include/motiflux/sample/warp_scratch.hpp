// The scratch memory of a warp: data of samples that its lanes share.
//
//   LaneRows               if candidates are refined: the current row of each lane
//   WindowWeights          if they have weights: the weights of the 32 candidates being tested
//   values [levels][32]    of the samples: a column per lane, to avoid bank conflicts
#pragma once

#include "motiflux/sample/inherit.hpp"
#include "motiflux/sample/policy.hpp"

namespace motiflux::sample {

struct LaneRows {
  Row rows[kGroup];
  std::uint64_t ids[kGroup];
  std::uint32_t levels[kGroup];
};

struct WindowWeights {
  double weights[kGroup];
  double keys[kGroup];
};

struct WarpScratch {
  LaneRows* lane_rows;
  WindowWeights* window_weights;
  std::uint32_t* values;
};

MOTIFLUX_HOST_DEVICE constexpr std::uint32_t scratch_bytes(Pick pick, std::uint32_t levels) {
  const bool refines = pick == Pick::kRefined || pick == Pick::kWeighted;
  return static_cast<std::uint32_t>((refines ? sizeof(LaneRows) : 0) +
                                    (pick == Pick::kWeighted ? sizeof(WindowWeights) : 0) +
                                    sizeof(std::uint32_t) * kGroup * levels);
}

// The sample of a lane, as a state for policies (state.hpp).
struct ScratchState {
  const CandidateGraph* graph;
  std::uint32_t* values;  // the lane's column
  double weight;

  MOTIFLUX_HOST_DEVICE std::uint32_t value(std::uint32_t level) const { return values[level * kGroup]; }
  MOTIFLUX_HOST_DEVICE std::uint32_t vertex(std::uint32_t level) const {
    return vertex_of(graph->level[level], value(level));
  }
  MOTIFLUX_HOST_DEVICE void take(std::uint32_t level, std::uint32_t value) { values[level * kGroup] = value; }
};

}  // namespace motiflux::sample
