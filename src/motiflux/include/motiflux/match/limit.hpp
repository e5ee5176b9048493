// Stopping a count at its limit.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/match/task.hpp"

namespace motiflux::match {

// Stops all groups once more embeddings than the limit are found. Called by the leading lane only.
MOTIFLUX_DEVICE void check_limit(Control& control, std::uint64_t limit) {
  if (limit == kNoLimit) return;
  const bool beyond = device::device_wide(control.found[1]).load(device::Order::kRelaxed) > 0 ||
                      device::device_wide(control.found[0]).load(device::Order::kRelaxed) > limit;
  if (beyond)
    device::device_wide(control.stop)
        .fetch_max(static_cast<std::uint32_t>(Stop::kLimit), device::Order::kRelaxed);
}

}  // namespace motiflux::match
