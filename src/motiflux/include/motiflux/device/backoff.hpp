// Waiting for another thread without taking its memory bandwidth: poll often at first, then less and less
// often.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::device {

class Backoff {
 public:
  // The first `polls` waits return at once; the longest wait takes `longest` nanoseconds.
  MOTIFLUX_DEVICE explicit Backoff(std::uint32_t polls, std::uint32_t longest = kLongest)
      : polls_(polls), longest_(longest) {}

  // Call after each poll without success.
  MOTIFLUX_DEVICE void wait() {
    if (polls_ > 0) {
      --polls_;
      return;
    }
    __nanosleep(nanoseconds_);
    if (nanoseconds_ < longest_) nanoseconds_ *= 2;
  }

 private:
  // Thousands of groups that poll across PCI Express at this interval leave most of its bandwidth to data.
  static constexpr std::uint32_t kLongest = 8192;

  std::uint32_t polls_;
  std::uint32_t longest_;
  std::uint32_t nanoseconds_ = 64;
};

}  // namespace motiflux::device
