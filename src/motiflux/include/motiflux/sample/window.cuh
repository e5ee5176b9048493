// 32 candidates that the lanes of a warp test at once, for the lanes that own them.
#pragma once

#include "motiflux/lanes/group.hpp"
#include "motiflux/sample/reservoir.hpp"
#include "motiflux/sample/warp_scratch.hpp"

namespace motiflux::sample {

using Lanes = lanes::Group<kGroup>;

template <class Policy, Pick pick = Policy::kPick>
class Window {
 public:
  MOTIFLUX_DEVICE explicit Window(WindowWeights*) {}

  // Tests a candidate on each lane that has one. All lanes call it.
  MOTIFLUX_DEVICE void test(const Lanes& lanes, bool there, const ScratchState& state, std::uint32_t level,
                            const Row& row, std::uint64_t index, const Key&) {
    bool passed = false;
    if (there) passed = Policy::refine(*state.graph, state, level, row, row[index]);
    passed_ = lanes.ballot(passed);
  }

  // Reports `count` candidates to a lane's reservoir, from the candidate of lane `first` on: indices `index`,
  // `index` + 1, ... of the row.
  MOTIFLUX_DEVICE void report_to(CandidateReservoir<Policy>& reservoir, std::uint32_t first,
                                 std::uint32_t count, std::uint64_t index) const {
    reservoir.note(passed_ >> first & bits_below(count), static_cast<std::uint32_t>(index % kBlock));
  }

 private:
  std::uint32_t passed_ = 0;
};

template <class Policy>
class Window<Policy, Pick::kWeighted> {
 public:
  MOTIFLUX_DEVICE explicit Window(WindowWeights* window_weights) : window_weights_(window_weights) {}

  MOTIFLUX_DEVICE void test(const Lanes& lanes, bool there, const ScratchState& state, std::uint32_t level,
                            const Row& row, std::uint64_t index, const Key& key) {
    double weight = 0, own = 0;
    if (there) weight = CandidateReservoir<Policy>::weigh(*state.graph, state, level, row, index, key, own);
    lanes.sync();  // all lanes have read the last window
    window_weights_->weights[lanes.lane()] = weight;
    window_weights_->keys[lanes.lane()] = own;
    lanes.sync();
  }

  MOTIFLUX_DEVICE void report_to(CandidateReservoir<Policy>& reservoir, std::uint32_t first,
                                 std::uint32_t count, std::uint64_t index) const {
    for (std::uint32_t i = 0; i < count; ++i)
      reservoir.note(index + i, window_weights_->weights[first + i], window_weights_->keys[first + i]);
  }

 private:
  WindowWeights* window_weights_;
};

}  // namespace motiflux::sample
