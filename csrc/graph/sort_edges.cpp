#include <algorithm>
#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "graph/build.hpp"
#include "graph/grain.hpp"

namespace motiflux::graph {
namespace {

constexpr std::size_t kRowEdges = 1 << 16;

}  // namespace

// A counting sort by the first end, then each row by the second end, the label and the position.
std::vector<std::uint32_t> sort_edges(const EdgeList& edges, std::span<const std::uint32_t> order,
                                      bool directed, const Workers& workers) {
  const std::size_t count = edges.sources.size(), vertices = order.size();
  if (count >= std::uint64_t{1} << 32) throw std::invalid_argument("more than 2^32 - 1 edges in one list");
  std::vector<std::uint32_t> new_id(vertices);
  for (std::size_t v = 0; v < vertices; ++v) new_id[order[v]] = static_cast<std::uint32_t>(v);
  const auto ends_of = [&](std::size_t e) {
    if (edges.sources[e] >= vertices || edges.targets[e] >= vertices)
      throw std::invalid_argument("edge " + std::to_string(e) + ": vertex out of range");
    const std::uint32_t source = new_id[edges.sources[e]], target = new_id[edges.targets[e]];
    const bool swapped = !directed && target < source;
    return swapped ? std::pair(target, source) : std::pair(source, target);
  };
  std::vector<std::uint32_t> fill(vertices, 0);
  const auto next = [&](std::uint32_t row) {
    return std::atomic_ref<std::uint32_t>(fill[row]).fetch_add(1, std::memory_order_relaxed);
  };
  parallel_for(workers, count, kEdgeGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) next(ends_of(e).first);
  });
  std::vector<std::uint64_t> offsets(vertices + 1, 0);
  for (std::size_t v = 0; v < vertices; ++v) offsets[v + 1] = offsets[v] + fill[v];
  std::fill(fill.begin(), fill.end(), 0);
  std::vector<std::uint32_t> sorted(count);
  parallel_for(workers, count, kEdgeGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) {
      const std::uint32_t row = ends_of(e).first;
      sorted[offsets[row] + next(row)] = static_cast<std::uint32_t>(e);
    }
  });
  const auto key = [&](std::uint32_t e) {
    return std::tuple(ends_of(e).second, edges.labels.empty() ? 0 : edges.labels[e], e);
  };
  parallel_rows(workers, offsets, kRowEdges, [&](std::size_t begin, std::size_t end) {
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> row;
    for (std::size_t v = begin; v < end; ++v) {
      row.clear();
      for (std::uint64_t a = offsets[v]; a < offsets[v + 1]; ++a) row.push_back(key(sorted[a]));
      std::sort(row.begin(), row.end(), [&](const auto& a, const auto& b) {
        workers.check();
        return a < b;
      });
      for (std::size_t i = 0; i < row.size(); ++i) sorted[offsets[v] + i] = std::get<2>(row[i]);
    }
  });
  return sorted;
}

}  // namespace motiflux::graph
