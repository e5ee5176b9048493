// Rows of the host's memory that are copied to the device, and the headers that name the copies.
//
// The copies are in DCSR (GCSM, V-B): the ids of the rows, where each begins, and the entries of all rows.
//
//   rowidx   3       8         the vertices
//   rowptr   0       4     6   entries before each row, and all of them
//   colidx   1 2 8 9 3 5       entries
//
// A header names the place of its row, so a search finds a copy without looking it up.
#pragma once

#include "motiflux/view/changing.hpp"

namespace motiflux::changing {

// A row whose header is to name another place in memory of the host.
struct MovedRow {
  const std::uint32_t* neighbors;
  std::uint32_t vertex;
  std::uint32_t size;
};

struct CacheArgs {
  view::ChangingRow* rows;
  const MovedRow* moved;
  std::uint64_t moved_count;
  const std::uint64_t* rowptr;
  const std::uint32_t* rowidx;
  std::uint32_t* colidx;
  std::uint64_t row_count;
};

}  // namespace motiflux::changing

#if defined(MOTIFLUX_SIMT)

namespace motiflux::changing {

// Entries that a warp copies at a time.
inline constexpr std::uint64_t kCopied = 1024;

MOTIFLUX_DEVICE std::uint64_t thread_of_all() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

// The last row that begins at an entry or before it and is not empty there.
MOTIFLUX_DEVICE std::uint64_t row_at(const CacheArgs& args, std::uint64_t entry) {
  std::uint64_t first = 0, last = args.row_count;
  while (last - first > 1) {
    const std::uint64_t middle = first + (last - first) / 2;
    if (args.rowptr[middle] <= entry)
      first = middle;
    else
      last = middle;
  }
  return first;
}

// Copies entries [begin, end) of all rows, from where the headers say that they are.
MOTIFLUX_DEVICE void copy_entries(const CacheArgs& args, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t row = row_at(args, begin); begin < end; ++row) {
    const std::uint64_t first = args.rowptr[row],
                        last = args.rowptr[row + 1] < end ? args.rowptr[row + 1] : end;
    const std::uint32_t* from = args.rows[args.rowidx[row]].neighbors;
    for (std::uint64_t entry = begin + threadIdx.x % 32; entry < last; entry += 32)
      args.colidx[entry] = from[entry - first];
    begin = last;
  }
}

}  // namespace motiflux::changing

extern "C" __global__ void motiflux_cache_move(const __grid_constant__ motiflux::changing::CacheArgs args) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t at = motiflux::changing::thread_of_all(); at < args.moved_count; at += threads)
    args.rows[args.moved[at].vertex] = {args.moved[at].neighbors, nullptr, nullptr, args.moved[at].size, 0};
}

extern "C" __global__ void motiflux_cache_copy(const __grid_constant__ motiflux::changing::CacheArgs args) {
  using namespace motiflux::changing;
  const std::uint64_t total = args.rowptr[args.row_count];
  const std::uint64_t step = std::uint64_t{gridDim.x} * (blockDim.x / 32) * kCopied;
  for (std::uint64_t begin = thread_of_all() / 32 * kCopied; begin < total; begin += step)
    copy_entries(args, begin, begin + kCopied < total ? begin + kCopied : total);
}

extern "C" __global__ void motiflux_cache_open(const __grid_constant__ motiflux::changing::CacheArgs args) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t at = motiflux::changing::thread_of_all(); at < args.row_count; at += threads)
    args.rows[args.rowidx[at]].neighbors = args.colidx + args.rowptr[at];
}

#endif
