// Releasing the GIL for a while, safely at interpreter exit.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <stdexcept>

#include "common/live_work.hpp"

namespace motiflux {

// Releases the GIL until destroyed, and counts as live work meanwhile: the interpreter waits for it at exit,
// since a daemon thread that asked for the GIL later would be unwound through destructors, which aborts the
// process. Once interpreter exit has begun, the GIL is kept.
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
  std::optional<LiveWork> live_;  // destroyed after the GIL is taken back
  std::optional<nanobind::gil_scoped_release> release_;
};

}  // namespace motiflux
