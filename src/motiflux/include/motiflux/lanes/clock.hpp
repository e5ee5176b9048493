// Time in nanoseconds, to measure how long something takes.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::lanes {

// On a GPU it advances in steps, of about a microsecond on some.
MOTIFLUX_DEVICE std::uint64_t nanoseconds() {
#if defined(__CUDACC_RTC__)
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return static_cast<std::uint64_t>(clock64());  // of the emulator: nanoseconds
#endif
}

}  // namespace motiflux::lanes
