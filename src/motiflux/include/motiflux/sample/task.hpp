// The arguments and results of a kernel that draws samples.
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
  match::Control* control;      // has the stop flag; `taken`: groups, or samples, taken by blocks
  double* weights;              // [count] sums of the weights of valid samples
  std::uint32_t* valid;         // [count] number of valid samples plus 1; 0: the group was not drawn
  std::uint32_t* work;          // [count]
  // If samples are drawn separately: by sample, from the first group's on.
  double* sample_weights;      // [32 count]
  std::uint32_t* sample_work;  // [32 count] 0: not drawn
};

}  // namespace motiflux::sample
