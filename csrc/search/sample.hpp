// Expected sizes of a search, from random partial embeddings.
//
// A population of partial embeddings grows level by level. Each member draws one of its candidates; its
// weight is the number of candidates, or 0 if the draw is rejected. The mean weight is the factor by which
// the level multiplies the partial embeddings; the next population is drawn from this one in proportion to
// the weights. The product of the means is an unbiased estimate at every level, and populations do not thin
// out with depth as independent walks do: a 32-vertex pattern keeps all its members to the end.
#pragma once

#include <cstdint>
#include <vector>

#include "search/native_plan.hpp"

namespace motiflux::search {

struct SampleOptions {
  std::uint32_t members = 0;   // of the population
  std::uint64_t max_work = 0;  // set elements read; when spent, sampling ends after that level
  std::uint64_t seed = 0;
};

struct LevelEstimate {
  double size = 0;  // partial embeddings up to the level
  // Set elements read to find the candidates of the level; the candidates of a tail's level are found once
  // per embedding of the levels before the tail.
  double scanned = 0;
  double met = 0;           // level of the tail: elements of its sets, counted as often as they are found
  std::uint32_t alive = 0;  // members of the population with a candidate at this level
};

// One estimate per level, or fewer: sampling ends where no member had a candidate (size 0) or the work was
// spent.
std::vector<LevelEstimate> sample_sizes(const NativePlan& native_plan, const SampleOptions& options);

}  // namespace motiflux::search
