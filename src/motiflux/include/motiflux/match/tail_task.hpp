// The arguments of kernels that count tails, and their state in shared memory.
#pragma once

#include "motiflux/match/state.hpp"
#include "motiflux/match/task.hpp"
#include "motiflux/number.hpp"
#include "motiflux/view/tail.hpp"

namespace motiflux::match {

// A kept number, and its key: the vertices that it depends on.
struct KeptNumber {
  std::uint32_t state;  // 0: free; 1: being written; else its level
  std::uint32_t key[view::kMostKeyWords];
  Number number;
};

template <class Plan>
struct TailArgs {
  Plan plan;
  Task task;
  view::Tail tail;
  KeptNumber* kept;         // zero at first
  std::uint32_t kept_mask;  // number of places - 1; 0 if nothing is kept
  std::uint32_t unused;
};

// The position of a walk below the enumerated levels, while it is in a level further below.
struct TailFrame {
  Number sum;      // over the finished candidates
  Number product;  // of the current candidate's numbers so far
  Cursor walk;     // not the level's own cursor: the level may be enumerated
  std::uint32_t child;
  std::uint32_t unused;
};

}  // namespace motiflux::match
