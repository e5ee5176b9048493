// The census of random graphs.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "census/bins.hpp"
#include "census/rewire.hpp"

namespace motiflux::census {

// What threads fill in; complete results stay if the work is cancelled.
struct NullCensus {
  NullCensus(int kinds, int size, std::size_t graphs)
      : bins(graphs), finished(graphs, 0), kinds(kinds), size(size) {}

  std::vector<Bins> bins;              // of each graph
  std::vector<std::uint8_t> finished;  // whether its bins are there
  std::atomic<std::uint64_t> done{0}, swaps{0};
  const int kinds, size;
};

// Makes graphs number 0, 1, ... and counts the bins of each. Throws Cancelled.
void count_nulls(const Wiring& wiring, double proposals, std::uint64_t seed, const Workers& workers,
                 NullCensus& result);

}  // namespace motiflux::census
