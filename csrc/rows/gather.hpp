// Converts blocks of matches, [rows, columns] of internal ids, into output arrays.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>

#include "common/parallel.hpp"

namespace motiflux::rows {

inline constexpr std::size_t kGrainCells = 1 << 16;  // cells per work item

struct Block {
  std::span<const std::uint32_t> cells;  // row after row
  std::size_t columns;

  std::size_t rows() const { return columns == 0 ? 0 : cells.size() / columns; }
};

// Throws std::out_of_range for a cell that is no valid index.
inline std::int64_t id_of(std::span<const std::int64_t> ids, std::uint32_t cell) {
  if (cell >= ids.size()) throw std::out_of_range("a row names a vertex that is not there");
  return ids[cell];
}

// out[row * columns + column] = ids[cell]. Throws std::out_of_range for a cell that is no valid index.
void gather_rows(const Block& block, std::span<const std::int64_t> ids, std::int64_t* out,
                 const Workers& workers);

// out[column * rows + row] = ids[cell]. Throws as gather_rows does.
void gather_columns(const Block& block, std::span<const std::int64_t> ids, std::int64_t* out,
                    const Workers& workers);

// out[column * rows + row] = cell.
void transpose(const Block& block, std::uint32_t* out, const Workers& workers);

}  // namespace motiflux::rows
