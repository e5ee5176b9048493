// Input of searches that go from copy to copy (search/copy_walker.hpp), from pair to pair
// (search/pair_walker.hpp) or by wedges (search/wedge_walker.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "copies/index.hpp"

namespace motiflux::search {

// In the levels and variables of a search::NativePlan that has comparisons; each query edge is a variable.
struct CopyWalk {
  struct Edge {
    int ends[2] = {0, 0};                   // levels
    const copies::CopyIndex* rows[2] = {};  // by main value: copies at the vertex of each end
  };

  std::vector<Edge> edges;  // by variable; those of vertices are not used
  int root = 0;             // the variable whose copies the search begins with, and the end they are rows of
  int side = 0;
  std::size_t together = 1;  // partial matches that a search from copy to copy continues together, at most
  static constexpr std::size_t kMostTogether = 4096;
  std::vector<const std::uint8_t*> masks;  // by level: 1 for the data vertices it may have; null: for all

  // From pair to pair: all edges in the order of the search, which begins with the root; else empty. Rows
  // that this order does not read are null, and copies of the root are also found by pairs of vertices.
  std::vector<int> order;
  int leaves = 0;  // how many of the last edges may be counted without being matched: up to 2
  std::vector<const std::int64_t*> root_columns;

  // By wedges: the order has the edges of the core, then the two of the wedge.
  bool by_wedges = false;

  bool by_pairs() const { return !order.empty(); }
  const copies::CopyIndex& root_rows() const { return *edges[static_cast<std::size_t>(root)].rows[side]; }
  // The units of work: copies or pairs of the root.
  std::uint64_t units(std::uint32_t vertices) const {
    return by_pairs() ? root_rows().offsets[vertices] : root_rows().row(vertices - 1).last;
  }
};

}  // namespace motiflux::search
