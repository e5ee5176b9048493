// Bitmaps of the longest rows of a run (view::RowBitmaps), once its touched rows are merged.
//
//   count    sizes of rows           ->  the number of rows of each size class
//   choose   these                   ->  the numbers of the bitmaps: of the largest classes that fit whole
//   write    entries of these rows   ->  bitmaps, by a block each
#pragma once

#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/view/changing.hpp"

namespace motiflux::changing {

// Sizes of one class have the same highest four bits.
inline constexpr std::uint32_t kSizeClasses = 256;

struct RowBitmapsArgs {
  const view::ChangingRow* rows;
  view::RowBitmaps bitmaps;
  view::RowBitmaps* told;   // for searches: the same
  std::uint32_t* numbers;   // RowBitmaps::numbers
  std::uint32_t* classes;   // the number of rows of each size class; zero before `count`
  std::uint32_t* chosen;    // the number of bitmaps; zero before `choose`
  std::uint32_t* vertices;  // of the bitmaps
  std::uint32_t row_count;
  std::uint32_t capacity;  // most bitmaps
};

#if defined(MOTIFLUX_SIMT)

// Classes ascend with sizes.
MOTIFLUX_DEVICE std::uint32_t size_class(std::uint32_t size) {
  std::uint32_t shift = 0;
  while (size >> shift >= 16) ++shift;
  return 8 * shift + (size >> shift);
}

template <class Visit>
MOTIFLUX_DEVICE void for_each_long_row(const RowBitmapsArgs& args, Visit&& visit) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint64_t vertex = blockIdx.x * blockDim.x + threadIdx.x; vertex < args.row_count;
       vertex += threads) {
    const std::uint32_t size = args.rows[vertex].size;
    if (size >= args.bitmaps.least) visit(static_cast<std::uint32_t>(vertex), size);
  }
}

MOTIFLUX_DEVICE void count_sizes(const RowBitmapsArgs& args) {
  for_each_long_row(
      args, [&](std::uint32_t, std::uint32_t size) { device::fast_add(args.classes[size_class(size)], 1u); });
}

MOTIFLUX_DEVICE void choose_rows(const RowBitmapsArgs& args) {
  __shared__ std::uint32_t classes[kSizeClasses];
  __shared__ std::uint32_t least_class;
  for (std::uint32_t number = threadIdx.x; number < kSizeClasses; number += blockDim.x)
    classes[number] = args.classes[number];
  __syncthreads();
  if (threadIdx.x == 0) {
    std::uint32_t least = kSizeClasses, left = args.capacity;
    for (; least > 0 && classes[least - 1] <= left; --least) left -= classes[least - 1];
    least_class = least;
    if (blockIdx.x == 0) *args.told = args.bitmaps;
  }
  __syncthreads();
  for_each_long_row(args, [&](std::uint32_t vertex, std::uint32_t size) {
    std::uint32_t number = view::RowBitmaps::kNone;
    if (size_class(size) >= least_class) {
      number = device::fast_add(*args.chosen, 1u);
      args.vertices[number] = vertex;
    }
    args.numbers[vertex] = number;
  });
}

MOTIFLUX_DEVICE std::uint32_t bits_of_entry(const view::ChangingRow& row, std::uint32_t entry) {
  const bool stays =
      row.lives == nullptr || (row.lives[entry].first == 0 && row.lives[entry].last == view::Life::kForever);
  const std::uint32_t bits =
      stays ? view::RowBitmaps::kHasEntry : view::RowBitmaps::kHasEntry | view::RowBitmaps::kHasLifetime;
  return bits << view::RowBitmaps::shift_of(row.neighbors[entry]);
}

// The first entry of a word writes it; entries are ascending.
MOTIFLUX_DEVICE void write_bits(const view::ChangingRow& row, std::uint32_t entry, std::uint32_t* bitmap) {
  using Bitmaps = view::RowBitmaps;
  const std::uint32_t id = row.neighbors[entry];
  const std::uint64_t word = Bitmaps::word_of(id);
  const bool has_before = entry > 0;
  const std::uint32_t before = has_before ? row.neighbors[entry - 1] : 0;
  if (!has_before || Bitmaps::block_of(before) != Bitmaps::block_of(id))
    bitmap[std::uint64_t{Bitmaps::block_of(id)} * Bitmaps::kWordsOfBlock] = entry;
  if (has_before && Bitmaps::word_of(before) == word) return;
  std::uint32_t bits = 0;
  for (; entry < row.size && Bitmaps::word_of(row.neighbors[entry]) == word; ++entry)
    bits |= bits_of_entry(row, entry);
  bitmap[word] = bits;
}

MOTIFLUX_DEVICE void write_bitmaps(const RowBitmapsArgs& args) {
  const std::uint64_t pairs = std::uint64_t{args.bitmaps.blocks} * view::RowBitmaps::kWordsOfBlock / 2;
  for (std::uint32_t number = blockIdx.x; number < *args.chosen; number += gridDim.x) {
    std::uint32_t* bitmap = args.bitmaps.of(number);
    auto* cleared = reinterpret_cast<std::uint64_t*>(bitmap);
    for (std::uint64_t pair = threadIdx.x; pair < pairs; pair += blockDim.x) cleared[pair] = 0;
    const view::ChangingRow row = args.rows[args.vertices[number]];
    __syncthreads();
    for (std::uint32_t entry = threadIdx.x; entry < row.size; entry += blockDim.x)
      write_bits(row, entry, bitmap);
  }
}

#endif

}  // namespace motiflux::changing

#if defined(MOTIFLUX_SIMT)

extern "C" __global__ void __launch_bounds__(256)
    motiflux_bitmaps_count(const __grid_constant__ motiflux::changing::RowBitmapsArgs args) {
  motiflux::changing::count_sizes(args);
}

extern "C" __global__ void __launch_bounds__(256)
    motiflux_bitmaps_choose(const __grid_constant__ motiflux::changing::RowBitmapsArgs args) {
  motiflux::changing::choose_rows(args);
}

extern "C" __global__ void __launch_bounds__(256)
    motiflux_bitmaps_write(const __grid_constant__ motiflux::changing::RowBitmapsArgs args) {
  motiflux::changing::write_bitmaps(args);
}

#endif
