// Waiting for data.
#pragma once

#include <poll.h>

#include <chrono>

namespace motiflux::feed {

// Whether a descriptor can be read: polls for `spin` before it sleeps. False after `timeout`, or on a signal.
inline bool comes(int descriptor, std::chrono::microseconds spin, std::chrono::milliseconds timeout) {
  pollfd asked{descriptor, POLLIN, 0};
  const std::chrono::steady_clock::time_point end = std::chrono::steady_clock::now() + spin;
  do {
    const int ready = poll(&asked, 1, 0);
    if (ready != 0) return ready > 0;
  } while (std::chrono::steady_clock::now() < end);
  return timeout.count() > 0 && poll(&asked, 1, static_cast<int>(timeout.count())) > 0;
}

}  // namespace motiflux::feed
