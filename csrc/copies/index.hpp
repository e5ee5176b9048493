// The copies that a query edge may fall on, by pairs of vertices.
//
//   offsets    [vertices + 1]  the pairs of each vertex
//   neighbors  [pairs]         the other vertex, ascending for each vertex
//   starts     [pairs + 1]     the first copy of each pair; its copies ascend by their main value
//   lasts      [pairs]         the greatest main value of each pair; null without columns
//
// So the copies of a vertex are a range of places too. The same range again, sorted by main value:
//
//   row_columns [columns][copies]  the values of each column
//   row_others  [copies]           the other vertex
//   row_pairs   [copies]           its place among the neighbours of the vertex
//   row_samples [copies / 32]      every 32nd value of the first column: bisections read few lines of memory
//   row_starts  [vertices + 1]     the first copy of each vertex: starts at offsets, without a second look-up
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "copies/network.hpp"

namespace motiflux::copies {

struct CopyIndex {
  const std::uint64_t* offsets = nullptr;
  const std::uint32_t* neighbors = nullptr;
  const std::uint64_t* starts = nullptr;
  const std::int64_t* lasts = nullptr;
  std::vector<const std::int64_t*> row_columns;  // empty where there are no rows
  const std::uint32_t* row_others = nullptr;
  const std::uint32_t* row_pairs = nullptr;
  const std::uint64_t* row_starts = nullptr;
  const std::int64_t* row_samples = nullptr;
  static constexpr std::uint64_t kSampled = 32;

  // The copies between two vertices; none if no edge joins them. The pair is looked for at `guess` first, a
  // place in the row of `from`.
  Range find(std::uint32_t from, std::uint32_t to, std::uint64_t guess) const {
    const std::uint32_t* first = neighbors + offsets[from];
    const std::uint32_t* last = neighbors + offsets[from + 1];
    const std::uint32_t* at = first + guess;
    if (guess >= static_cast<std::uint64_t>(last - first) || *at != to)
      at = std::lower_bound(first, last, to);
    if (at == last || *at != to) return {};
    const std::uint64_t* start = starts + (at - neighbors);
    return {start[0], start[1]};
  }

  // The copies of all pairs of a vertex.
  Range row(std::uint32_t from) const {
    if (row_starts) return {row_starts[from], row_starts[from + 1]};
    return {starts[offsets[from]], starts[offsets[from + 1]]};
  }
};

}  // namespace motiflux::copies
