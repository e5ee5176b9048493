// Errors about the calls that can still be taken back.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace motiflux::dynamic {

// Two calls can be taken back, so nothing may be written that belongs to neither, and no other call begun.
struct CallsOverlap : std::logic_error {
  CallsOverlap() : std::logic_error("two calls of a monitor can still be taken back") {}
};

// A call has another number than the ones that can be taken back or made final now.
struct NotOpen : std::logic_error {
  NotOpen(std::uint64_t call, const std::string& why)
      : std::logic_error("call " + std::to_string(call) + " of a monitor " + why) {}
};

}  // namespace motiflux::dynamic
