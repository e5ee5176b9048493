// What the kernels that find rows (find_rows.cuh) are given, and what they write.
#pragma once

#include "motiflux/view/hash_rows.hpp"
#include "motiflux/view/interval_rows.hpp"

namespace motiflux::pcsr {

// Entries of a partition's neighbours.
struct FoundRow {
  std::uint64_t first;
  std::uint64_t size;
};

template <class Rows>
struct FindArgs {
  Rows rows;
  const std::uint32_t* vertices;  // null: 0, 1, ...
  const std::uint32_t* labels;    // of all vertices; null: whole rows
  FoundRow* found;                // [count], or null
  std::uint64_t* total;           // to add to
  std::uint64_t count;
  std::uint32_t label;        // of the neighbours
  std::uint32_t index_words;  // shared memory of the interval index
};

inline constexpr std::uint32_t kFindThreads = 256;  // most of a block

}  // namespace motiflux::pcsr
