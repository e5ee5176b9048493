// The copies that a query edge may fall on, by pairs of vertices.
//
//   offsets    [vertices + 1]  the pairs of each vertex
//   neighbors  [pairs]         the other vertex, ascending for each vertex
//   starts     [pairs + 1]     the first copy of each pair; its copies ascend by their main value
//
// So the copies of a vertex are a range of places too. The same range again, sorted by main value:
//
//   row_columns [columns][copies]  the values of each column
//   row_others  [copies]           the other vertex
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
  std::vector<const std::int64_t*> row_columns;  // empty where there are no rows
  const std::uint32_t* row_others = nullptr;

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
  Range row(std::uint32_t from) const { return {starts[offsets[from]], starts[offsets[from + 1]]}; }
};

}  // namespace motiflux::copies
