// A run of updates over a packed memory array: touched rows are merged with the changes of the run into
// memory of the run, as from slack rows (write_rows.cuh), and get back their headers after it.
#pragma once

#include "motiflux/changing/gpma_rows.cuh"

namespace motiflux::changing {

MOTIFLUX_DEVICE void merge_slot(const PackedArray& array, const TouchedRow& row, std::uint64_t begin,
                                std::uint64_t slot) {
  if (!array.has_entry(slot)) return;
  const std::uint32_t neighbor = array.neighbors[slot];
  std::uint32_t equal_before = 0;
  for (std::uint64_t before = slot; before > begin && array.neighbors[before - 1] == neighbor; --before)
    equal_before += array.has_entry(before - 1);
  merge_entry(row, static_cast<std::uint32_t>(array.rank(slot) - array.rank(begin)), neighbor, equal_before);
}

MOTIFLUX_DEVICE void merge_packed(const PackedMergeArgs& args) {
  const PackedArray& array = args.array;
  for_each_piece(args.write, [&](const TouchedRow& row, std::uint32_t first) {
    const std::uint32_t lane = threadIdx.x % 32, piece_size = args.write.piece_size;
    const std::uint64_t begin = args.rows.begins[row.vertex], end = args.rows.ends[row.vertex];
    // Pieces are numbered by entries, and each has its share of the slots.
    const std::uint64_t pieces = row.old_size > piece_size ? (row.old_size + piece_size - 1) / piece_size : 1;
    const std::uint64_t piece = first / piece_size;
    const std::uint64_t last = begin + (end - begin) * (piece + 1) / pieces;
    for (std::uint64_t slot = begin + (end - begin) * piece / pieces + lane; slot < last; slot += 32)
      merge_slot(array, row, begin, slot);
    if (first > 0) return;
    for (std::uint32_t number = lane; number < row.change_count; number += 32) {
      const std::uint32_t* neighbors = array.neighbors;
      const std::uint32_t* place = sets::lower_bound(neighbors + begin, neighbors + end,
                                                     std::uint64_t{row.changes[number].neighbor} + 1);
      const auto slot = static_cast<std::uint64_t>(place - neighbors);
      const std::uint64_t through = begin == end ? 0 : array.rank(slot) - array.rank(begin);
      merge_fresh(row, number, static_cast<std::uint32_t>(through));
    }
    if (lane == 0) open_merged(args.write, row);
  });
}

MOTIFLUX_DEVICE void restore_headers(const PackedMergeArgs& args) {
  for (std::uint64_t number = thread_in_grid(); number < args.touched_count; number += threads_of_grid())
    write_header(args.array, args.rows, args.write.touched[number].vertex);
}

}  // namespace motiflux::changing
