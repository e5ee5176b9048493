// Giving up the GIL for a while, in a way that the interpreter's end survives.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <stdexcept>

#include "common/live_work.hpp"

namespace motiflux {

// Frees the GIL until it is destroyed, and counts as live work meanwhile: the interpreter waits for it at its
// end, since a daemon thread that asked for the GIL afterwards would be unwound through destructors, which
// aborts the process. Once the interpreter ends, the GIL is kept.
class FreeGil {
 public:
  FreeGil() {
    try {
      live_.emplace([] {});
    } catch (const std::runtime_error&) {
      return;
    }
    release_.emplace();
  }
  FreeGil(const FreeGil&) = delete;
  FreeGil& operator=(const FreeGil&) = delete;

 private:
  std::optional<LiveWork> live_;  // goes last: with the GIL back
  std::optional<nanobind::gil_scoped_release> release_;
};

}  // namespace motiflux
