// Copies of rows of the host, in memory of the device (docs/design/out-of-core.md), as kernels see them that
// look rows up in them (MOTIFLUX_BISECTED_COPIES, MOTIFLUX_HASHED_COPIES) or bring whole lines of all other
// rows (MOTIFLUX_STAGED_ROWS). Units with one of these also have MOTIFLUX_ROW_COPIES.
//
//   rowidx     2          5          9           vertices whose rows are copied, ascending
//   rowptr     0 3        7 9        3 7         where: from and behind which entry of `memory`
//   memory   | row of 2 | row of 9 | row of 5 |
//   slots    | - | 5 | - | 2 | 9 | - | - | - |   the same by hash of the vertex, in the next free slot
#pragma once

#include "motiflux/sets/span.hpp"

namespace motiflux::view {

struct CopiedRow {
  std::uint64_t first, behind;
};

// A copied row, found by its vertex; zero: the slot is empty.
struct HashedRow {
  std::uint32_t key;  // the vertex and one
  std::uint32_t size;
  std::uint64_t first;

  MOTIFLUX_HOST_DEVICE static std::uint32_t hash(std::uint32_t vertex) {
    const std::uint32_t mixed = vertex * 0x9E3779B1u;
    return mixed ^ mixed >> 15;
  }
};

struct RowCopies {
  const std::uint32_t* memory;
  std::uint64_t entries;  // of `memory`
  const std::uint32_t* rowidx;
  const CopiedRow* rowptr;
  const HashedRow* slots;
  std::uint32_t count;  // rows
  std::uint32_t mask;   // the number of slots, a power of two, less one

  // Whether a row that begins there is a copy. Addresses are compared as numbers: most are of other memory.
  MOTIFLUX_HOST_DEVICE bool has(const std::uint32_t* row) const {
    return reinterpret_cast<std::uintptr_t>(row) - reinterpret_cast<std::uintptr_t>(memory) <
           entries * sizeof(std::uint32_t);
  }

  MOTIFLUX_HOST_DEVICE sets::Span at(std::uint64_t first, std::uint64_t behind) const {
    return {memory + first, memory + behind};
  }

  // The copy of a vertex's row; a null one: there is none.
  MOTIFLUX_HOST_DEVICE sets::Span find_bisecting(std::uint32_t vertex) const {
    const std::uint32_t* place = sets::lower_bound(rowidx, rowidx + count, vertex);
    if (place == rowidx + count || *place != vertex) return {};
    const CopiedRow row = rowptr[place - rowidx];
    return at(row.first, row.behind);
  }

  MOTIFLUX_HOST_DEVICE sets::Span find_hashed(std::uint32_t vertex) const {
    if (count == 0) return {};
    for (std::uint32_t slot = HashedRow::hash(vertex) & mask;; slot = (slot + 1) & mask) {
      const HashedRow row = slots[slot];
      if (row.key == vertex + 1) return at(row.first, row.first + row.size);
      if (row.key == 0) return {};
    }
  }
};

}  // namespace motiflux::view
