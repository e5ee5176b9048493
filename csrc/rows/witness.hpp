// Finds the edge of the data graph that each query edge of a match is mapped to.
//
// Edges are numbered as the forward arcs are; of the two arcs of an undirected edge, the arc to the greater
// vertex is numbered. A row is ascending by (neighbour, label), the arcs to smaller vertices first:
//
//   row v:   | to smaller: second arcs | to greater: first arcs, numbered |
//            ^ offsets[v]              ^ number = place - shifts[v]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "rows/gather.hpp"

namespace motiflux::rows {

struct EdgeRows {
  std::span<const std::uint64_t> offsets;
  std::span<const std::uint32_t> neighbors;
  std::span<const std::uint32_t> labels;  // empty: one label for all
  std::span<const std::uint64_t> shifts;  // empty: directed
};

struct QueryEdge {
  std::size_t source, target;            // columns of the block
  bool either;                           // directed graph: an arc one way, else the other
  std::span<const std::uint8_t> labels;  // a byte per label code, empty: any
  std::span<const std::uint8_t> arcs;    // a byte per forward arc, empty: any
};

inline constexpr std::int64_t kNoEdge = -1;

// For each row v of an undirected graph the number of arcs to smaller vertices in rows 0..v.
std::vector<std::uint64_t> edge_shifts(const EdgeRows& edges, const Workers& workers);

// out[query * rows + row] = the first edge, by number, that the query edge may be mapped to in this row;
// kNoEdge if none. Throws std::out_of_range for a cell that is no vertex.
void find_edges(const Block& block, const EdgeRows& edges, std::span<const QueryEdge> queries,
                std::int64_t* out, const Workers& workers);

}  // namespace motiflux::rows
