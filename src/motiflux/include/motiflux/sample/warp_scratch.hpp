// The scratch memory of a warp: what its lanes share of their samples.
//
//   LaneRows               where candidates are refined: the row that each lane goes through
//   WindowWeights          where they have weights: those of the 32 candidates that are being tested
//   values [levels][32]    of the samples: a lane's are a column, so that lanes do not conflict in a bank
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

// The sample of a lane, as policies see it (state.hpp).
struct ScratchState {
  const CandidateGraph* graph;
  std::uint32_t* values;  // its column
  double weight;

  MOTIFLUX_HOST_DEVICE std::uint32_t value(std::uint32_t level) const { return values[level * kGroup]; }
  MOTIFLUX_HOST_DEVICE std::uint32_t vertex(std::uint32_t level) const {
    return vertex_of(graph->level[level], value(level));
  }
  MOTIFLUX_HOST_DEVICE void take(std::uint32_t level, std::uint32_t value) { values[level * kGroup] = value; }
};

}  // namespace motiflux::sample
