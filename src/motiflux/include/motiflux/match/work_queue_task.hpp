// Where work changes hands between the groups of a running search: match/work_queue.hpp says how.
#pragma once

#include "motiflux/match/state.hpp"
#include "motiflux/view/plan.hpp"

namespace motiflux::match {

struct WorkQueueCounts {
  std::uint64_t wanted;   // tickets taken by those who wait
  std::uint64_t claimed;  // claims to one, and attempts at a claim that are about to be withdrawn
  std::uint64_t issued;   // tickets that someone brings a split for
};

inline constexpr std::uint32_t kMostGroups = 16;  // of a block

// Turns between looks whether another group waits for work: some microseconds.
inline constexpr std::int32_t kCheckTurns = 64;

// A walk to go on with, and how to get there.
struct Split {
  Cursor cursor;  // `base` is known at level 1 only: other levels' sets are computed anew
  std::uint32_t level;
  std::uint32_t vertices[view::kMaxLevels];  // of the levels before
};

inline constexpr std::uint32_t kClosedCopies = 32;
inline constexpr std::uint32_t kClosedStride = 32;  // words: a line of memory

// Zero before each launch, but for the splits.
struct WorkQueue {
  WorkQueueCounts* counts;
  std::uint32_t* closed;     // kClosedCopies words
  std::uint32_t* states;     // [seats]
  Split* splits;             // [seats]
  std::uint32_t wait_slots;  // a power of two, at least the number of groups; 0 if nothing changes hands
};

}  // namespace motiflux::match
