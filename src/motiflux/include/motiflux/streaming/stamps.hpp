// When each update passes from stage to stage, in nanoseconds, in units with MOTIFLUX_STAGE_TIMES.
//
//   stamps[moment % stamp_count]    when the update was at each Stamp, by whichever thread had it then
#pragma once

#include "motiflux/lanes/clock.hpp"
#include "motiflux/streaming/stages.hpp"

namespace motiflux::streaming {

enum class Stamp : std::uint32_t {
  kSeen,       // the updater has it
  kBegun,      // its batch begins
  kPublished,  // its batch is in the graph
  kIssued,     // it is on the work list, and executors are told that it is published
  kTaken,      // an executor has it, and knows that
  kReady,      // its roots are written
  kSearched,   // its last part was searched
  kAnswered,   // its totals are on their way to the host
  kTold,       // the host is told that it and all before are finished
};
inline constexpr std::uint32_t kStamps = 9;

struct UpdateStamps {
  std::uint64_t at[kStamps];
};

MOTIFLUX_DEVICE std::uint64_t stamp_now() {
#if defined(MOTIFLUX_STAGE_TIMES)
  return lanes::nanoseconds();
#else
  return 0;
#endif
}

// Called by one thread. `count`: of stamps, a power of two.
MOTIFLUX_DEVICE void write_stamp(UpdateStamps* stamps, std::uint32_t count, std::uint64_t moment, Stamp stamp,
                                 std::uint64_t now) {
#if defined(MOTIFLUX_STAGE_TIMES)
  device::device_wide(stamps[moment & (count - 1)].at[static_cast<std::uint32_t>(stamp)])
      .store(now, device::Order::kRelaxed);
#else
  static_cast<void>(stamps), static_cast<void>(count), static_cast<void>(moment);
  static_cast<void>(stamp), static_cast<void>(now);
#endif
}

}  // namespace motiflux::streaming
