// Writing the changes of a run into rows: before the run is matched, and after it.
//
// The host decides where rows go (gpu/changing/rows.py); these kernels move entries. A warp takes a piece of
// a touched row. The rows of several targets are written by one launch:
//
//   blocks    | 0 1 2 | 3 | 4 5 |        ends: 3 4 6
//   rows of   target 0  1   2
//
//   merge     old row, changes  ->  all entries of the run with their lifetimes, in memory of the run
//   settle    these entries     ->  those that live for ever, in the row's place
//
// Changes of a row are sorted by neighbour and first moment. A change whose lifetime began before the run
// belongs to an entry of the old row; of several equal entries the first ones have changes.
//
// Rows of the monitor itself may have been written before the run is matched. Then the old row has what the
// run brings, too, each neighbour once. merge leaves these entries out: their changes say what they are.
// settle moves no entries of rows that the monitor writes.
#pragma once

#include "motiflux/changing/touched_row.hpp"
#include "motiflux/sets/span.hpp"

namespace motiflux::changing {

struct Piece {
  std::uint32_t row;    // into `touched`
  std::uint32_t first;  // entry
};

struct WriteArgs {
  view::ChangingRow* rows;
  const TouchedRow* touched;
  const Piece* pieces;
  std::uint32_t piece_count;
  std::uint32_t piece_size;
};

// The rows of several targets, each written by blocks of its own; the others up to kMostWrites are not read.
inline constexpr std::uint32_t kMostWrites = 16;
struct WritesArgs {
  WriteArgs writes[kMostWrites];
  std::uint32_t ends[kMostWrites];  // the blocks of these rows and of those before
};

#if defined(MOTIFLUX_SIMT)

// The blocks that write the rows of a target, and the number of this one among them.
struct BlocksOfRows {
  std::uint32_t number, count;
};

// The first change of `neighbor` or later.
MOTIFLUX_DEVICE std::uint32_t change_from(const TouchedRow& row, std::uint32_t neighbor) {
  std::uint32_t first = 0, last = row.change_count;
  while (first < last) {
    const std::uint32_t middle = first + (last - first) / 2;
    if (row.changes[middle].neighbor < neighbor)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

// Entries of the old row before the neighbour of a change which the run has brought.
MOTIFLUX_DEVICE std::uint32_t brought_before(const TouchedRow& row, std::uint32_t change) {
  if (row.brought == 0) return 0;
  return change < row.change_count ? row.moments[2 * row.change_count + change] : row.brought;
}

// Whether the run has brought the neighbour of this first change of it.
MOTIFLUX_DEVICE bool is_brought(const TouchedRow& row, std::uint32_t change, std::uint32_t neighbor) {
  return row.brought != 0 && change < row.change_count && row.changes[change].neighbor == neighbor &&
         row.changes[change].first != 0;
}

// Writes the entry of the old row with this number; `equal_before`: equal entries of the row before it.
MOTIFLUX_DEVICE void merge_entry(const TouchedRow& row, std::uint32_t entry, std::uint32_t neighbor,
                                 std::uint32_t equal_before) {
  const std::uint32_t from = change_from(row, neighbor);
  if (is_brought(row, from, neighbor)) return;
  const std::uint32_t fresh =
      from < row.change_count ? row.changes[from].fresh_before : row.size - (row.old_size - row.brought);
  const std::uint32_t position = entry - brought_before(row, from) + fresh;
  view::Life life{0, view::Life::kForever};
  const std::uint32_t own = from + equal_before;
  if (own < row.change_count && row.changes[own].neighbor == neighbor && row.changes[own].first == 0) {
    life.last = row.changes[own].last;
    row.positions[own] = position;
  }
  row.neighbors[position] = neighbor;
  row.lives[position] = life;
}

MOTIFLUX_DEVICE void merge_old(const TouchedRow& row, std::uint32_t entry) {
  const std::uint32_t neighbor = row.old[entry];
  std::uint32_t equal_before = 0;
  while (equal_before < entry && row.old[entry - equal_before - 1] == neighbor) ++equal_before;
  merge_entry(row, entry, neighbor, equal_before);
}

// `through`: entries of the old row up to the neighbour of the change.
MOTIFLUX_DEVICE void merge_fresh(const TouchedRow& row, std::uint32_t number, std::uint32_t through) {
  const Change change = row.changes[number];
  if (change.first == 0) return;
  if (row.brought != 0) {
    const std::uint32_t from = change_from(row, change.neighbor);
    through -= brought_before(row, from) + (is_brought(row, from, change.neighbor) ? 1 : 0);
  }
  const std::uint32_t position = through + change.fresh_before;
  row.neighbors[position] = change.neighbor;
  row.lives[position] = {change.first, change.last};
  row.positions[number] = position;
}

MOTIFLUX_DEVICE void open_merged(const WriteArgs& args, const TouchedRow& row) {
  args.rows[row.vertex] = {row.neighbors, row.lives, row.moments, row.size, row.change_count};
}

MOTIFLUX_DEVICE void settle_entry(const TouchedRow& row, std::uint32_t entry) {
  if (row.lives[entry].last != view::Life::kForever) return;
  const std::uint32_t* next = sets::lower_bound(row.positions, row.positions + row.change_count, entry);
  const auto before = static_cast<std::uint32_t>(next - row.positions);
  const std::uint32_t dead =
      before < row.change_count ? row.changes[before].dead_before : row.size - row.after_size;
  row.after[entry - dead] = row.neighbors[entry];
}

template <class Write>
MOTIFLUX_DEVICE void for_each_piece(const WriteArgs& args, const BlocksOfRows& blocks, Write&& write) {
  const std::uint32_t warps = blockDim.x / 32 * blocks.count;
  for (std::uint32_t at = blocks.number * (blockDim.x / 32) + threadIdx.x / 32; at < args.piece_count;
       at += warps)
    write(args.touched[args.pieces[at].row], args.pieces[at].first);
}

template <class Write>
MOTIFLUX_DEVICE void for_each_piece(const WriteArgs& args, Write&& write) {
  for_each_piece(args, {blockIdx.x, gridDim.x}, write);
}

// Calls write(rows, blocks) for the rows that this block belongs to.
template <class Write>
MOTIFLUX_DEVICE void for_own_rows(const WritesArgs& all, Write&& write) {
  std::uint32_t number = 0, first = 0;
  while (blockIdx.x >= all.ends[number]) first = all.ends[number++];
  write(all.writes[number], BlocksOfRows{blockIdx.x - first, all.ends[number] - first});
}

MOTIFLUX_DEVICE void merge(const WriteArgs& args, const BlocksOfRows& blocks) {
  for_each_piece(args, blocks, [&](const TouchedRow& row, std::uint32_t first) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t end = first + args.piece_size < row.old_size ? first + args.piece_size : row.old_size;
    for (std::uint32_t entry = first + lane; entry < end; entry += 32) merge_old(row, entry);
    if (first > 0) return;
    for (std::uint32_t number = lane; number < row.change_count; number += 32) {
      const std::uint32_t* place =
          sets::lower_bound(row.old, row.old + row.old_size, std::uint64_t{row.changes[number].neighbor} + 1);
      merge_fresh(row, number, static_cast<std::uint32_t>(place - row.old));
    }
    if (lane == 0) open_merged(args, row);
  });
}

MOTIFLUX_DEVICE void settle(const WriteArgs& args, const BlocksOfRows& blocks) {
  for_each_piece(args, blocks, [&](const TouchedRow& row, std::uint32_t first) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t end = first + args.piece_size < row.size ? first + args.piece_size : row.size;
    if (row.after != nullptr)
      for (std::uint32_t entry = first + lane; entry < end; entry += 32) settle_entry(row, entry);
    if (first == 0 && lane == 0) args.rows[row.vertex] = {row.after, nullptr, nullptr, row.after_size, 0};
  });
}

#endif

}  // namespace motiflux::changing

#if defined(MOTIFLUX_SIMT) && !defined(MOTIFLUX_TWO_PARTS)

extern "C" __global__ void motiflux_merge(const __grid_constant__ motiflux::changing::WritesArgs args) {
  using namespace motiflux::changing;
  for_own_rows(args, [](const WriteArgs& rows, const BlocksOfRows& blocks) { merge(rows, blocks); });
}

extern "C" __global__ void motiflux_settle(const __grid_constant__ motiflux::changing::WritesArgs args) {
  using namespace motiflux::changing;
  for_own_rows(args, [](const WriteArgs& rows, const BlocksOfRows& blocks) { settle(rows, blocks); });
}

#endif
