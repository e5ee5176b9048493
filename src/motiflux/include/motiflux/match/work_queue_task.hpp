// The memory of the global work queue (match/work_queue.hpp), as an argument of kernels.
#pragma once

#include "motiflux/match/state.hpp"
#include "motiflux/view/plan.hpp"

namespace motiflux::match {

struct WorkQueueCounts {
  std::uint64_t wanted;   // tickets taken by waiting groups
  std::uint64_t claimed;  // claims of a ticket, and attempted claims about to be withdrawn
  std::uint64_t issued;   // tickets with a split published or on its way
};

inline constexpr std::uint32_t kMostGroups = 16;  // of a block

// Turns between checks whether another group waits for work: some microseconds.
inline constexpr std::int32_t kCheckTurns = 64;

// A walk to continue, and the vertices of the levels before it.
struct Split {
  Cursor cursor;  // `base` is valid only at level 1: other levels' sets are recomputed
  std::uint32_t level;
  std::uint32_t root;                        // number of the update root, if there is one
  std::uint32_t vertices[view::kMaxLevels];  // of the levels before
};

inline constexpr std::uint32_t kClosedCopies = 32;
inline constexpr std::uint32_t kClosedStride = 32;  // words: a memory line

// Zero before each launch, except for the splits.
struct WorkQueue {
  WorkQueueCounts* counts;
  std::uint32_t* closed;     // kClosedCopies words
  std::uint32_t* states;     // [wait_slots]
  Split* splits;             // [wait_slots]
  std::uint32_t wait_slots;  // a power of two, at least the number of groups; 0 without a queue
};

}  // namespace motiflux::match
