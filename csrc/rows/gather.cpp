#include "rows/gather.hpp"

#include <algorithm>

namespace motiflux::rows {
namespace {

// Calls visit(row, column, cell) for all cells, some rows at a time: a column's part of the output and the
// rows it is read from fit into the cache together.
template <class Visit>
void by_column(const Block& block, const Workers& workers, Visit&& visit) {
  constexpr std::size_t kTileRows = 512;
  const std::size_t grain = std::max<std::size_t>(1, kGrainCells / std::max<std::size_t>(1, block.columns));
  parallel_for(workers, block.rows(), grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t tile = begin; tile < end; tile += kTileRows) {
      const std::size_t last = std::min(end, tile + kTileRows);
      for (std::size_t column = 0; column < block.columns; ++column)
        for (std::size_t row = tile; row < last; ++row)
          visit(row, column, block.cells[row * block.columns + column]);
    }
  });
}

}  // namespace

void gather_rows(const Block& block, std::span<const std::int64_t> ids, std::int64_t* out,
                 const Workers& workers) {
  parallel_for(workers, block.cells.size(), kGrainCells, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) out[at] = id_of(ids, block.cells[at]);
  });
}

void gather_columns(const Block& block, std::span<const std::int64_t> ids, std::int64_t* out,
                    const Workers& workers) {
  const std::size_t rows = block.rows();
  by_column(block, workers, [&](std::size_t row, std::size_t column, std::uint32_t cell) {
    out[column * rows + row] = id_of(ids, cell);
  });
}

void transpose(const Block& block, std::uint32_t* out, const Workers& workers) {
  const std::size_t rows = block.rows();
  by_column(block, workers, [&](std::size_t row, std::size_t column, std::uint32_t cell) {
    out[column * rows + row] = cell;
  });
}

}  // namespace motiflux::rows
