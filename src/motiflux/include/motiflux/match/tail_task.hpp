// What a kernel that counts tails is given, and what it keeps in shared memory.
#pragma once

#include "motiflux/match/state.hpp"
#include "motiflux/match/task.hpp"
#include "motiflux/number.hpp"
#include "motiflux/view/overlap.hpp"

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

// The same with overlapping components.
template <class Plan>
struct OverlapArgs {
  Plan plan;
  Task task;
  view::Tail tail;
  KeptNumber* kept;
  std::uint32_t kept_mask;
  std::uint32_t unused;
  view::OverlapComponents overlaps;
};

// The state of a branch that is being walked.
struct BranchState {
  Number sum;             // of the ways of all its choices
  std::uint32_t length;   // choices that are written to memory
  std::uint32_t resumes;  // whether its walk resumes once these are paired up
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
