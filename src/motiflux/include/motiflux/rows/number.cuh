// The kernel that converts found rows into the user's ids, and each row into all of its images.
//
//   vertices  | a b c d | e f g h |                    rows as they were stored
//   columns   | a e . | b f . | c g . | d h . |        or these
//   sources   | 0 1 2 3 | 1 2 3 0 | ...                the source column of each cell of a row's images
//   out       | A B C D | B C D A | ... | E F G H |    cells are written in turn, by neighbouring threads
//
// A block takes a tile of rows at a time: their ids are looked up once, into shared memory.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::rows {

struct NumberArgs {
  const std::uint32_t* vertices;
  const std::int64_t* ids;
  const std::uint8_t* sources;
  std::int64_t* out;
  std::uint64_t cells;        // of `out`: the images of the last row may be cut
  std::uint64_t capacity;     // of each column, if `vertices` are in columns; 0: they are in rows
  std::uint32_t columns;      // of a row
  std::uint32_t image_cells;  // of all images of a row
  std::uint32_t tile_rows;    // rows whose ids fit into shared memory
};

#if defined(MOTIFLUX_SIMT)

MOTIFLUX_DEVICE void number_tile(const NumberArgs& args, std::uint64_t first_row, std::int64_t* ids) {
  const std::uint64_t first_cell = first_row * args.image_cells;
  const std::uint64_t left = args.cells - first_cell;
  const std::uint32_t whole = args.tile_rows * args.image_cells;
  const std::uint32_t cells = left < whole ? static_cast<std::uint32_t>(left) : whole;
  const std::uint32_t rows = (cells + args.image_cells - 1) / args.image_cells;
  __syncthreads();  // no thread reads the last tile any more
  if (args.capacity == 0) {
    const std::uint32_t* const vertices = args.vertices + first_row * args.columns;
    for (std::uint32_t i = threadIdx.x; i < rows * args.columns; i += blockDim.x)
      ids[i] = args.ids[vertices[i]];
  } else {
    for (std::uint32_t i = threadIdx.x; i < rows * args.columns; i += blockDim.x) {
      const std::uint32_t column = i / rows;
      const std::uint32_t row = i - column * rows;
      ids[row * args.columns + column] = args.ids[args.vertices[column * args.capacity + first_row + row]];
    }
  }
  __syncthreads();
  std::int64_t* const out = args.out + first_cell;
  // The position of the next cell, without a division per cell, which would take longer than the cell.
  const std::uint32_t step = blockDim.x % args.image_cells;
  const std::uint32_t row_step = blockDim.x / args.image_cells * args.columns;
  std::uint32_t within = threadIdx.x % args.image_cells;
  std::uint32_t row = threadIdx.x / args.image_cells * args.columns;
  for (std::uint32_t cell = threadIdx.x; cell < cells; cell += blockDim.x) {
    out[cell] = ids[row + args.sources[within]];
    within += step;
    row += row_step;
    if (within >= args.image_cells) {
      within -= args.image_cells;
      row += args.columns;
    }
  }
}

MOTIFLUX_DEVICE void number(const NumberArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(memory);
  auto* const ids = reinterpret_cast<std::int64_t*>(memory);
  const std::uint64_t rows = (args.cells + args.image_cells - 1) / args.image_cells;
  const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * args.tile_rows;
  for (std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x) * args.tile_rows; first < rows;
       first += stride)
    number_tile(args, first, ids);
}

#endif

}  // namespace motiflux::rows

#if defined(MOTIFLUX_SIMT)

extern "C" __global__ void motiflux_number(const __grid_constant__ motiflux::rows::NumberArgs args) {
  motiflux::rows::number(args);
}

#endif
