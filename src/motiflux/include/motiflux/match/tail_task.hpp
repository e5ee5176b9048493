// What a kernel that counts tails is given, and what it keeps in shared memory.
#pragma once

#include "motiflux/match/task.hpp"
#include "motiflux/view/tail.hpp"

namespace motiflux::match {

template <class Plan>
struct TailArgs {
  Plan plan;
  Task task;
  view::Tail tail;
};

// 128 bits (match/number.hpp).
struct Number {
  std::uint64_t low;
  std::uint64_t high;

  MOTIFLUX_DEVICE bool is_zero() const { return (low | high) == 0; }
};

// Where a walk below the enumerated levels is, while it is in a level further below.
struct TailFrame {
  Number sum;      // over the candidates that are done
  Number product;  // of what belongs to the candidate at hand, so far
  std::uint32_t child;
  std::uint32_t unused;
};

}  // namespace motiflux::match
