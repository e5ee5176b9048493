// How the candidates of query vertices are divided into blocks, so that parts of one block of each fit into
// a memory: boxes of the product of all candidates, which have each embedding in one of them.
//
//   buckets of query vertex v   |  0  | 1 |2|3|     by ascending id, of about equal entries
//   cells of an arc u -> v      entries from each bucket of u to each bucket of v
//   box                         some buckets that follow one another, for each query vertex
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace motiflux::graph {

// Entries between buckets.
struct PartWeights {
  static constexpr std::uint32_t kAllTargets = UINT32_MAX;
  struct Arc {
    std::uint32_t source = 0;
    std::uint32_t target = 0;          // or kAllTargets: several, which are not divided and have one bucket
    std::vector<std::uint32_t> cells;  // by bucket of the source, then of the target; at most 2^32 - 1
  };

  // For each query vertex, the ids between its buckets; and before each of these ids the number of its
  // candidates, and of the vertices that are a candidate of any query vertex.
  std::vector<std::vector<std::int64_t>> bounds;
  std::vector<std::vector<std::uint64_t>> candidates;
  std::vector<std::vector<std::uint64_t>> numbers;
  std::vector<Arc> arcs;

  std::size_t buckets(std::uint32_t vertex) const {
    return vertex == kAllTargets ? 1 : bounds[vertex].size() - 1;
  }
};

// What parts cost.
struct PartCosts {
  std::vector<std::uint32_t> arcs;    // those that rows have
  std::vector<std::uint32_t> needed;  // arcs without which there is no embedding
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      less;                                         // the image of the first is less than the second's
  std::vector<std::vector<std::uint32_t>> sources;  // of the rows of each key
  std::uint32_t divisible = 0;                      // query vertices that may be divided
  double beside = 0;                                // bytes for each vertex, beside rows
  double room = 0;                                  // bytes
  std::size_t most = 0;                             // boxes, about
};

struct PartBoxes {
  std::vector<std::uint32_t>
      buckets;               // for each box and query vertex the first bucket, and that behind the last
  std::vector<float> parts;  // for each box about the number of parts that it takes: 1 if it fits
};

PartBoxes divide_part(const PartWeights& weights, const PartCosts& costs);

}  // namespace motiflux::graph
