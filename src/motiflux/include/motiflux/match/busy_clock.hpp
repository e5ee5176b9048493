// How long the groups of a launch have work: compiled into kernels that measure it, and nothing in others.
//
//   group A   | work       | waits | work of others | leaves
//   group B   | work               | waits          | leaves
//             |<----------- launch ----------------->|        utilisation = work / (groups x launch)
//
// Each group reads the clock of its own multiprocessor. These clocks may differ, so the length of the launch
// is the longest time between the begin and the end of one group.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/match/changing_plan.hpp"

namespace motiflux::match {

template <bool measures>
class BusyClock {
 public:
  MOTIFLUX_DEVICE void begin() {}
  MOTIFLUX_DEVICE void pause() {}
  MOTIFLUX_DEVICE void resume() {}
};

template <>
class BusyClock<true> {
 public:
  MOTIFLUX_DEVICE void begin() { begun_ = since_ = now(); }
  // The group has no work from here on, until it gets some.
  MOTIFLUX_DEVICE void pause() { busy_ += now() - since_; }
  MOTIFLUX_DEVICE void resume() { since_ = now(); }
  // Called by one lane, while the group has no work.
  MOTIFLUX_DEVICE void end(Utilisation& to) const {
    device::device_wide(to.busy).fetch_add(busy_, device::Order::kRelaxed);
    device::device_wide(to.longest).fetch_max(now() - begun_, device::Order::kRelaxed);
    device::device_wide(to.groups).fetch_add(std::uint64_t{1}, device::Order::kRelaxed);
  }

 private:
  static MOTIFLUX_DEVICE std::uint64_t now() { return static_cast<std::uint64_t>(clock64()); }

  std::uint64_t begun_ = 0, since_ = 0, busy_ = 0;
};

}  // namespace motiflux::match
