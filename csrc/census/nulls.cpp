#include "census/nulls.hpp"

#include <algorithm>

namespace motiflux::census {

void count_nulls(const Wiring& wiring, double proposals, std::uint64_t seed, const Workers& workers,
                 NullCensus& result) {
  const std::size_t graphs = result.bins.size();
  // Threads left over by few graphs count together.
  const int inside =
      std::max(1, workers.threads / static_cast<int>(std::clamp<std::size_t>(graphs, 1, 1024)));
  parallel_for(workers, graphs, 1, [&](std::size_t at, std::size_t) {
    const Workers own{inside, workers.stop};
    const Rewired graph = rewired(wiring, proposals, seed, at, own);
    const SortedRows reverse = sorted_to(graph.sources, graph.targets, wiring.vertices);
    const SortedRows forward = transposed(reverse, wiring.vertices);
    result.bins[at] =
        count_bins(forward.view(), reverse.view(), wiring.vertices, result.kinds, result.size, own);
    result.swaps.fetch_add(graph.swaps, std::memory_order_relaxed);
    result.finished[at] = 1;
    result.done.fetch_add(1, std::memory_order_relaxed);
  });
}

}  // namespace motiflux::census
