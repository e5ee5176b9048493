// Rows of a part of a graph, whose vertices are numbered anew in the order of their ids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"

namespace motiflux::graph {

// Entries of some rows, as another process has them: row i is that of vertex rows[i], and has the entries
// from offsets[i] up to offsets[i + 1].
struct Entries {
  std::span<const std::uint32_t> rows;
  std::span<const std::uint64_t> offsets;
  std::span<const std::uint32_t> neighbors;
  std::span<const std::uint32_t> labels;  // of each entry; empty: all are equal
  std::span<const std::uint8_t> sides;    // of each entry, kFromRow | kToRow; empty: both
};

// Whether an entry is an arc of its row's vertex to the neighbour, of the neighbour to the row's vertex, or
// both.
constexpr std::uint8_t kFromRow = 1, kToRow = 2;

struct PartialRows {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> neighbors;
  std::vector<std::uint32_t> labels;  // empty if the entries have none
};

// The rows of vertices 0 .. vertices - 1: the arcs that the entries name, each once, ascending by (neighbour,
// label). Throws std::invalid_argument for a vertex that is not one of these.
PartialRows partial_rows(const Entries& entries, std::uint32_t vertices, const Workers& workers);

// Replaces each value by its position among ascending ids. Throws std::invalid_argument for others.
void to_positions(std::span<const std::uint32_t> ids, std::span<std::uint32_t> values,
                  const Workers& workers);

// The part of each row between two ids: row i has the ascending neighbours from begins[i] up to ends[i], and
// its part those from least[i] up to, without it, most[i]. Replaces begins and ends. Throws
// std::invalid_argument for rows outside `neighbors`.
void narrow_rows(std::span<const std::uint32_t> neighbors, std::span<std::int64_t> begins,
                 std::span<std::int64_t> ends, std::span<const std::int64_t> least,
                 std::span<const std::int64_t> most, const Workers& workers);

}  // namespace motiflux::graph
