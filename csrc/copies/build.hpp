// Indexes of copies (copies/index.hpp) from rows of arcs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/large_pages.hpp"

namespace motiflux::copies {

// Searches read these at random. New elements are not cleared.
template <class T>
using Values = std::vector<T, UnclearedPages<T>>;

// The copies of each vertex by main value.
struct ValueRows {
  std::vector<Values<std::int64_t>> columns;
  Values<std::uint32_t> others;
  Values<std::uint32_t> pairs;
};

struct CopyRows {
  Values<std::uint64_t> offsets;
  Values<std::uint32_t> neighbors;
  Values<std::uint64_t> starts;
  Values<std::int64_t> rows;  // the row of attributes of each copy
  std::vector<Values<std::int64_t>> columns;
  ValueRows by_value;
};

struct CopySource {
  std::span<const std::uint64_t> offsets;  // rows of arcs; arcs to one neighbour follow each other
  std::span<const std::uint32_t> neighbors;
  std::span<const std::uint32_t> edges;  // the edge of each arc; empty: the arc's own number
  std::span<const std::int64_t>
      starts;                // the first row of attributes of each edge; empty: the edge's own number
  std::uint64_t copies = 0;  // rows of attributes
  std::span<const std::uint8_t> arc_mask;              // arcs that are left out, 0; empty: none
  std::span<const std::uint8_t> row_mask;              // rows that are left out, 0; empty: none
  std::vector<std::span<const std::int64_t>> columns;  // by row of attributes; the first is the main one
  bool floats = false;                                 // whether main values are doubles
  bool by_value = false;                               // whether there are rows by main value
};

CopyRows build_copies(const CopySource& source);

// Copies by pairs of vertices, as in CopyRows; the first column is the main one.
struct PairSource {
  std::span<const std::uint64_t> offsets;
  std::span<const std::uint32_t> neighbors;
  std::span<const std::uint64_t> starts;
  std::vector<std::span<const std::int64_t>> columns;
  bool floats = false;  // whether main values are doubles
};

ValueRows sort_by_value(const PairSource& source);

// The same copies by pairs of vertices as rows of their other vertices, without rows by main value. `rows`
// has the row of attributes of each copy.
CopyRows turned_around(const PairSource& source, std::span<const std::int64_t> rows);

// The arc in rows of sources of each arc in rows of targets: rows of targets have `offsets`, and the arcs of
// one target keep their order.
std::vector<std::uint32_t> arcs_by_target(std::span<const std::uint64_t> offsets,
                                          std::span<const std::uint32_t> neighbors);

}  // namespace motiflux::copies
