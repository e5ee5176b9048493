// Touched rows in two parts, as GCSM has them (section V-B), instead of merged ones (write_rows.cuh): the old
// part keeps its order and its places, and entries that change are marked in it by a bit of the id. What
// changes is appended, with lifetimes; of a marked entry, too, so whoever reads the old part leaves it out.
//
//   old part    2   5*  9   12        5 is deleted
//   appended    5   7                 ascending
//   lives      0-3  4-                of each appended entry
//
// The old part lies where merged rows have their entries, the appended ids where they have positions. A
// header names the TouchedRow in place of lifetimes. Units that write or read such rows have
// MOTIFLUX_TWO_PARTS.
#pragma once

#if !defined(MOTIFLUX_TWO_PARTS)
#define MOTIFLUX_TWO_PARTS
#endif
#include "motiflux/changing/write_rows.cuh"
#include "motiflux/match/marks.hpp"

#if defined(MOTIFLUX_SIMT)

namespace motiflux::changing {

using match::kMark;

// Whether the run changes an entry of the old row, or has brought it.
MOTIFLUX_DEVICE bool is_changed(const TouchedRow& row, std::uint32_t entry) {
  const std::uint32_t neighbor = row.old[entry];
  const std::uint32_t from = change_from(row, neighbor);
  if (is_brought(row, from, neighbor)) return true;
  std::uint32_t own = from;
  for (std::uint32_t at = entry; at > 0 && row.old[at - 1] == neighbor; --at) ++own;
  return own < row.change_count && row.changes[own].neighbor == neighbor && row.changes[own].first == 0;
}

MOTIFLUX_DEVICE void append_change(const TouchedRow& row, std::uint32_t number) {
  const Change& change = row.changes[number];
  row.positions[number] = change.neighbor;
  row.lives[number] = {change.first, change.last};
}

MOTIFLUX_DEVICE void mark(const WriteArgs& args, const BlocksOfRows& blocks) {
  for_each_piece(args, blocks, [&](const TouchedRow& row, std::uint32_t first) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t end = first + args.piece_size < row.old_size ? first + args.piece_size : row.old_size;
    for (std::uint32_t entry = first + lane; entry < end; entry += 32)
      row.neighbors[entry] = row.old[entry] | (is_changed(row, entry) ? kMark : 0);
    if (first > 0) return;
    for (std::uint32_t number = lane; number < row.change_count; number += 32) append_change(row, number);
    if (lane == 0)
      args.rows[row.vertex] = {row.neighbors, reinterpret_cast<const view::Life*>(&row), row.moments,
                               row.size, row.change_count};
  });
}

// Writes an entry of the old part that stays. Its place is that among all entries, less those that go before
// it: of equal entries the changed ones come first.
MOTIFLUX_DEVICE void settle_old(const TouchedRow& row, std::uint32_t entry) {
  const std::uint32_t neighbor = row.neighbors[entry];
  if ((neighbor & kMark) != 0) return;
  std::uint32_t change = change_from(row, neighbor), place = entry;
  place += change < row.change_count ? row.changes[change].fresh_before : row.size - row.old_size;
  while (change < row.change_count && row.changes[change].neighbor == neighbor &&
         row.changes[change].first == 0)
    ++change;
  place -= change < row.change_count ? row.changes[change].dead_before : row.size - row.after_size;
  row.after[place] = neighbor;
}

MOTIFLUX_DEVICE void settle_appended(const TouchedRow& row, std::uint32_t number) {
  const Change& change = row.changes[number];
  if (change.last != view::Life::kForever) return;
  const std::uint32_t* behind =
      match::marked_bound(row.neighbors, row.neighbors + row.old_size, std::uint64_t{change.neighbor} + 1);
  const auto before = static_cast<std::uint32_t>(behind - row.neighbors);
  row.after[before + change.fresh_before - change.dead_before] = change.neighbor;
}

MOTIFLUX_DEVICE void settle_parts(const WriteArgs& args, const BlocksOfRows& blocks) {
  for_each_piece(args, blocks, [&](const TouchedRow& row, std::uint32_t first) {
    const std::uint32_t lane = threadIdx.x % 32;
    if (row.after != nullptr) {  // then the run has brought nothing to the old row
      const std::uint32_t end =
          first + args.piece_size < row.old_size ? first + args.piece_size : row.old_size;
      for (std::uint32_t entry = first + lane; entry < end; entry += 32) settle_old(row, entry);
    }
    if (first > 0) return;
    if (row.after != nullptr)
      for (std::uint32_t number = lane; number < row.change_count; number += 32) settle_appended(row, number);
    if (lane == 0) args.rows[row.vertex] = {row.after, nullptr, nullptr, row.after_size, 0};
  });
}

}  // namespace motiflux::changing

extern "C" __global__ void motiflux_merge(const __grid_constant__ motiflux::changing::WritesArgs args) {
  using namespace motiflux::changing;
  for_own_rows(args, [](const WriteArgs& rows, const BlocksOfRows& blocks) { mark(rows, blocks); });
}

extern "C" __global__ void motiflux_settle(const __grid_constant__ motiflux::changing::WritesArgs args) {
  using namespace motiflux::changing;
  for_own_rows(args, [](const WriteArgs& rows, const BlocksOfRows& blocks) { settle_parts(rows, blocks); });
}

#endif
