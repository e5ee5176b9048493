// Encoding vertices for the candidate table (match/filtered_plans.hpp) on the device, from the sizes of rows.
//
// A vertex is a candidate for a column if its label is one of the column's and each row that an item names
// has as many entries as the item asks for. Rows of touched vertices hold all entries of the run.
#pragma once

#include "motiflux/bits.hpp"
#include "motiflux/view/changing.hpp"

namespace motiflux::changing {

struct EncodeItem {
  const view::ChangingRow* rows;
  std::uint32_t least;  // neighbours
  std::uint32_t unused;
};

struct EncodeColumn {
  std::uint32_t first_item, items;
};

struct EncodeArgs {
  std::uint8_t* table;
  const std::uint8_t* labelled;  // as the table: the columns that accept the label of a vertex
  const EncodeColumn* columns;
  const EncodeItem* items;
  const std::uint32_t* vertices;  // to encode, `stride` words apart; null: the first `count`
  std::uint32_t stride;
  std::uint32_t count;
  std::uint32_t column_count;
  std::uint32_t row_bytes;
};

#if defined(MOTIFLUX_SIMT)

// The entries of a row: at most as many neighbours live at any moment.
MOTIFLUX_DEVICE std::uint32_t entries_of(const view::ChangingRow& row) {
  return row.lives != nullptr ? row.size : row.size - row.changes;
}

MOTIFLUX_DEVICE bool is_candidate(const EncodeArgs& args, std::uint32_t vertex, const EncodeColumn& column) {
  for (std::uint32_t item = column.first_item; item < column.first_item + column.items; ++item)
    if (entries_of(args.items[item].rows[vertex]) < args.items[item].least) return false;
  return true;
}

MOTIFLUX_DEVICE void encode_vertex(const EncodeArgs& args, std::uint32_t vertex) {
  const std::uint64_t row = std::uint64_t{vertex} * args.row_bytes;
  for (std::uint32_t byte = 0; byte < args.row_bytes; ++byte) {
    std::uint32_t bits = args.labelled[row + byte];
    for (std::uint32_t left = bits; left != 0; left &= left - 1)
      if (!is_candidate(args, vertex, args.columns[8 * byte + lowest_bit(left)])) bits ^= left & (0 - left);
    args.table[row + byte] = static_cast<std::uint8_t>(bits);
  }
}

#endif

}  // namespace motiflux::changing

#if defined(MOTIFLUX_SIMT)

extern "C" __global__ void motiflux_encode(const __grid_constant__ motiflux::changing::EncodeArgs args) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x; at < args.count; at += threads)
    motiflux::changing::encode_vertex(
        args, args.vertices == nullptr ? at : args.vertices[std::uint64_t{at} * args.stride]);
}

#endif
