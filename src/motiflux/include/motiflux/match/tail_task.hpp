// What a kernel that counts tails is given, and what it keeps in shared memory.
#pragma once

#include "motiflux/match/state.hpp"
#include "motiflux/match/task.hpp"
#include "motiflux/number.hpp"
#include "motiflux/view/tail.hpp"

namespace motiflux::match {

// A number that is kept, under the vertices that it depends on.
struct KeptNumber {
  std::uint32_t state;  // 0: free; 1: being written; else which level it is of
  std::uint32_t key[view::kMostKeyWords];
  Number number;
};

template <class Plan>
struct TailArgs {
  Plan plan;
  Task task;
  view::Tail tail;
  KeptNumber* kept;         // zero at first
  std::uint32_t kept_mask;  // of places; 0 if nothing is kept
  std::uint32_t unused;
};

// Where a walk below the enumerated levels is, while it is in a level further below.
struct TailFrame {
  Number sum;      // over the candidates that are done
  Number product;  // of what belongs to the candidate at hand, so far
  Cursor walk;     // not that of the level itself, which may be enumerated
  std::uint32_t child;
  std::uint32_t unused;
};

}  // namespace motiflux::match
