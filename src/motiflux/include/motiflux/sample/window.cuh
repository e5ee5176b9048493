// 32 candidates that the lanes of a warp test at once, for the lanes whose samples they are candidates of.
#pragma once

#include "motiflux/lanes/group.hpp"
#include "motiflux/sample/desk.hpp"
#include "motiflux/sample/sieve.hpp"

namespace motiflux::sample {

using Lanes = lanes::Group<kGroup>;

template <class Policy, Pick pick = Policy::kPick>
class Window {
 public:
  MOTIFLUX_DEVICE explicit Window(Slots*) {}

  // Tests a candidate on each lane for which there is one. All lanes come.
  MOTIFLUX_DEVICE void test(const Lanes& lanes, bool there, const DeskState& state, std::uint32_t level,
                            const Row& row, std::uint64_t index, const Key&) {
    bool passed = false;
    if (there) passed = Policy::refine(*state.graph, state, level, row, row[index]);
    passed_ = lanes.ballot(passed);
  }

  // Tells a lane's sieve of `count` candidates from that of lane `first` on: the row's `index` and following.
  MOTIFLUX_DEVICE void tell(Sieve<Policy>& sieve, std::uint32_t first, std::uint32_t count,
                            std::uint64_t index) const {
    sieve.note(passed_ >> first & bits_below(count), static_cast<std::uint32_t>(index % kBlock));
  }

 private:
  std::uint32_t passed_ = 0;
};

template <class Policy>
class Window<Policy, Pick::kWeighted> {
 public:
  MOTIFLUX_DEVICE explicit Window(Slots* slots) : slots_(slots) {}

  MOTIFLUX_DEVICE void test(const Lanes& lanes, bool there, const DeskState& state, std::uint32_t level,
                            const Row& row, std::uint64_t index, const Key& key) {
    double weight = 0, own = 0;
    if (there) weight = Sieve<Policy>::weigh(*state.graph, state, level, row, index, key, own);
    lanes.sync();  // the last window was read
    slots_->weights[lanes.lane()] = weight;
    slots_->keys[lanes.lane()] = own;
    lanes.sync();
  }

  MOTIFLUX_DEVICE void tell(Sieve<Policy>& sieve, std::uint32_t first, std::uint32_t count,
                            std::uint64_t index) const {
    for (std::uint32_t i = 0; i < count; ++i)
      sieve.note(index + i, slots_->weights[first + i], slots_->keys[first + i]);
  }

 private:
  Slots* slots_;
};

}  // namespace motiflux::sample
