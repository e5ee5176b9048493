// What a kernel that draws is given, and gives back.
#pragma once

#include "motiflux/match/task.hpp"
#include "motiflux/sample/graph.hpp"

namespace motiflux::sample {

struct DrawArgs {
  CandidateGraph graph;
  std::uint64_t seed;
  std::uint64_t first;          // number of the first group
  std::uint32_t count;          // of groups, below 2^26
  std::uint32_t inheritance;    // an Inheritance
  std::uint32_t pool;           // groups, or samples, that a block takes at a time
  std::uint32_t scratch_bytes;  // shared memory of a warp
  match::Control* control;      // to be stopped by; `taken`: groups, or samples, that blocks have
  double* weights;              // [count] sums of the weights of the samples that lived to the end
  std::uint32_t* valid;         // [count] one more than their number; 0: the group was not drawn
  std::uint32_t* work;          // [count]
  // Where each sample goes by itself: by sample, from the first group's on.
  double* sample_weights;      // [32 count]
  std::uint32_t* sample_work;  // [32 count] 0: not drawn
};

}  // namespace motiflux::sample
