// Memory that is asked for before it is read.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::device {

// Has the line of an address of device memory brought to the second cache; nobody waits for it.
MOTIFLUX_DEVICE void fetch_line(const void* address) {
#if defined(__CUDACC_RTC__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#else
  static_cast<void>(address);
#endif
}

}  // namespace motiflux::device
