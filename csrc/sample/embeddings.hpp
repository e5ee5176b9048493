// Embeddings drawn uniformly at random.
#pragma once

#include <optional>
#include <vector>

#include "common/parallel.hpp"
#include "motiflux/sample/graph.hpp"
#include "search/control.hpp"

namespace motiflux::sample {

struct Drawn {
  std::vector<std::uint32_t> rows;  // data vertices by level, one embedding after another
  std::size_t samples = 0;          // trees drawn, including trees that are no embedding
};

// Draws trees first, first + 1, ..., uniformly, and keeps the embeddings among them, in order. Cancelled by
// the workers' flag; stops early at the deadline. The graph has a tree.
Drawn draw_embeddings(const CandidateGraph& graph, std::uint64_t seed, std::uint64_t first, std::size_t count,
                      const Workers& workers, std::optional<search::Clock::time_point> deadline);

}  // namespace motiflux::sample
