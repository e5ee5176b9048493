#include "sample/embeddings.hpp"

#include <algorithm>

#include "motiflux/sample/choose.hpp"
#include "sample/watch.hpp"

namespace motiflux::sample {
namespace {

// Samples per work item of a thread.
constexpr std::size_t kGrain = 256;

// Draws a tree as the tree estimator does; returns whether it is an embedding.
bool draw_tree(const CandidateGraph& graph, const Key& key, State& state) {
  state.graph = &graph;
  state.weight = first_weight<Tree>(graph);
  for (std::uint32_t level = 0; level < graph.levels; ++level) {
    extend<Tree>(graph, state, level, key);
    if (!(state.weight > 0)) return false;
  }
  return true;
}

}  // namespace

Drawn draw_embeddings(const CandidateGraph& graph, std::uint64_t seed, std::uint64_t first, std::size_t count,
                      const Workers& workers, std::optional<search::Clock::time_point> deadline) {
  struct Chunk {
    std::vector<std::uint32_t> rows;
    bool done = false;
  };
  const Watch watch(workers, deadline);
  std::vector<Chunk> chunks((count + kGrain - 1) / kGrain);
  parallel_for(workers, count, kGrain, [&](std::size_t begin, std::size_t end) {
    Chunk& chunk = chunks[begin / kGrain];
    try {
      watch.look();
    } catch (const Late&) {
      return;
    }
    State state{};
    for (std::size_t i = begin; i < end; ++i) {
      if (!draw_tree(graph, Key{seed, first + i}, state)) continue;
      for (std::uint32_t level = 0; level < graph.levels; ++level) chunk.rows.push_back(state.vertex(level));
    }
    chunk.done = true;
  });
  Drawn drawn;
  for (const Chunk& chunk : chunks) {
    if (!chunk.done) break;
    drawn.rows.insert(drawn.rows.end(), chunk.rows.begin(), chunk.rows.end());
    drawn.samples = std::min(drawn.samples + kGrain, count);
  }
  return drawn;
}

}  // namespace motiflux::sample
