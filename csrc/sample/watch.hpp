// Whether samplers should stop.
#pragma once

#include <cstdint>
#include <optional>

#include "common/parallel.hpp"
#include "search/control.hpp"

namespace motiflux::sample {

// Thrown after the deadline.
struct Late {};

class Watch {
 public:
  Watch(const Workers& workers, std::optional<search::Clock::time_point> deadline)
      : workers_(workers), deadline_(deadline) {}

  // Throws Late after the deadline, Cancelled if asked to stop.
  void look() const {
    workers_.check();
    if (deadline_ && search::Clock::now() >= *deadline_) throw Late{};
  }

 private:
  const Workers& workers_;
  const std::optional<search::Clock::time_point> deadline_;
};

// Work between checks: well under a millisecond.
inline constexpr std::uint64_t kCheckEvery = 1 << 14;

}  // namespace motiflux::sample
