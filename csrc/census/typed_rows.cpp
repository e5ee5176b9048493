#include "census/typed_rows.hpp"

#include <algorithm>

namespace motiflux::census {
namespace {

constexpr std::size_t kMergedArcs = 1 << 16;

std::vector<std::uint64_t> starts(std::span<const std::uint32_t> ends, std::uint32_t vertices) {
  std::vector<std::uint64_t> result(std::size_t{vertices} + 1, 0);
  for (const std::uint32_t v : ends) ++result[v + 1];
  for (std::size_t v = 0; v < vertices; ++v) result[v + 1] += result[v];
  return result;
}

}  // namespace

TypedRows typed_rows(const view::Adjacency& forward, const view::Adjacency& reverse, std::uint32_t vertices,
                     const Workers& workers) {
  TypedRows rows;
  rows.vertices = vertices;
  rows.offsets.assign(std::size_t{vertices} + 1, 0);
  rows.above.assign(vertices, 0);
  const std::span arcs(forward.offsets, std::size_t{vertices} + 1);
  parallel_rows(workers, arcs, kMergedArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const auto v = static_cast<std::uint32_t>(at);
      std::uint64_t size = 0, less = 0;
      merge(forward.begin(v), forward.end(v), reverse.begin(v), reverse.end(v), [&](std::uint32_t u, int) {
        ++size;
        less += u < v;
      });
      rows.offsets[at + 1] = size;
      rows.above[at] = less;
    }
  });
  for (std::size_t v = 0; v < vertices; ++v) {
    rows.offsets[v + 1] += rows.offsets[v];
    rows.above[v] += rows.offsets[v];
  }
  rows.neighbors.resize(rows.offsets[vertices]);
  rows.kinds.resize(rows.offsets[vertices]);
  parallel_rows(workers, arcs, kMergedArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const auto v = static_cast<std::uint32_t>(at);
      std::uint64_t next = rows.offsets[at];
      merge(forward.begin(v), forward.end(v), reverse.begin(v), reverse.end(v),
            [&](std::uint32_t u, std::uint8_t kind) {
              rows.neighbors[next] = u;
              rows.kinds[next++] = kind;
            });
    }
  });
  return rows;
}

SortedRows sorted_to(std::span<const std::uint32_t> sources, std::span<const std::uint32_t> targets,
                     std::uint32_t vertices) {
  // Rows in the order of the arcs; what is transposed ascends.
  SortedRows given{starts(sources, vertices), std::vector<std::uint32_t>(sources.size())};
  std::vector<std::uint64_t> next(given.offsets.begin(), given.offsets.end() - 1);
  for (std::size_t at = 0; at < sources.size(); ++at) given.neighbors[next[sources[at]]++] = targets[at];
  return transposed(given, vertices);
}

SortedRows transposed(const SortedRows& rows, std::uint32_t vertices) {
  SortedRows result{starts(rows.neighbors, vertices), std::vector<std::uint32_t>(rows.neighbors.size())};
  std::vector<std::uint64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  for (std::uint32_t v = 0; v < vertices; ++v)
    for (std::uint64_t at = rows.offsets[v]; at != rows.offsets[v + 1]; ++at)
      result.neighbors[next[rows.neighbors[at]]++] = v;
  return result;
}

}  // namespace motiflux::census
