// After windows were rewritten: the entries before each leaf, where rows begin and end, and their headers.
#pragma once

#include "motiflux/changing/gpma_rewrite.cuh"

namespace motiflux::changing {

// The sum over the threads of the block before this one; `total`: over all.
MOTIFLUX_DEVICE std::uint64_t sums_before_in_block(std::uint64_t value, std::uint64_t& total) {
  __shared__ std::uint64_t sums[kPackedWarps];
  const lanes::Group<32> warp;
  std::uint64_t through = value;
  for (std::uint32_t step = 1; step < 32; step *= 2) {
    const std::uint64_t other =
        warp.broadcast(through, warp.lane() >= step ? warp.lane() - step : warp.lane());
    if (warp.lane() >= step) through += other;
  }
  if (warp.lane() == 31) sums[warp.in_block()] = through;
  __syncthreads();
  std::uint64_t before = 0;
  total = 0;
  for (std::uint32_t other = 0; other < kPackedWarps; ++other) {
    if (other < warp.in_block()) before += sums[other];
    total += sums[other];
  }
  __syncthreads();
  return before + through - value;
}

MOTIFLUX_DEVICE std::uint64_t entries_of_leaf(const PackedArray& array, std::uint64_t leaf) {
  return leaf < array.leaves ? array.counts[leaf] & ~PackedArray::kMoved : 0;
}

template <class Visit>
MOTIFLUX_DEVICE void for_each_sum_tile(const PackedArgs& args, Visit&& visit) {
  for (std::uint64_t tile = blockIdx.x; tile * kSumTile < args.target.leaves; tile += gridDim.x)
    visit(tile, tile * kSumTile + std::uint64_t{threadIdx.x} * kSumsOfThread);
}

MOTIFLUX_DEVICE std::uint64_t entries_of_thread(const PackedArray& array, std::uint64_t leaf) {
  std::uint64_t entries = 0;
  for (std::uint32_t of = 0; of < kSumsOfThread; ++of) entries += entries_of_leaf(array, leaf + of);
  return entries;
}

MOTIFLUX_DEVICE void sum_tiles(const PackedArgs& args) {
  for_each_sum_tile(args, [&](std::uint64_t tile, std::uint64_t leaf) {
    std::uint64_t total;
    sums_before_in_block(entries_of_thread(args.target, leaf), total);
    if (threadIdx.x == 0) args.tile_sums[tile] = total;
  });
}

// By one block: the entries before each tile.
MOTIFLUX_DEVICE void add_up_tiles(const PackedArgs& args) {
  const std::uint64_t tiles = (args.target.leaves + kSumTile - 1) / kSumTile;
  std::uint64_t before = 0;
  for (std::uint64_t base = 0; base < tiles; base += blockDim.x) {
    const std::uint64_t tile = base + threadIdx.x;
    std::uint64_t total;
    const std::uint64_t sum = tile < tiles ? args.tile_sums[tile] : 0;
    const std::uint64_t own = sums_before_in_block(sum, total);
    if (tile < tiles) args.tile_sums[tile] = before + own;
    before += total;
  }
  if (threadIdx.x == 0) args.target.before[args.target.leaves] = before;
}

MOTIFLUX_DEVICE void sum_leaves(const PackedArgs& args) {
  for_each_sum_tile(args, [&](std::uint64_t tile, std::uint64_t leaf) {
    std::uint64_t total;
    std::uint64_t before =
        args.tile_sums[tile] + sums_before_in_block(entries_of_thread(args.target, leaf), total);
    for (std::uint32_t of = 0; of < kSumsOfThread && leaf + of < args.target.leaves; ++of) {
      args.target.before[leaf + of] = before;
      before += entries_of_leaf(args.target, leaf + of);
    }
  });
}

// Calls visit(slot) for each slot of a written leaf, and for the slot behind the leaf, where a row begins or
// ends: 0, the end of the array, or a slot whose source differs from the one before.
template <class Visit>
MOTIFLUX_DEVICE void for_each_border(const PackedArray& array, std::uint64_t leaf, std::uint32_t lane,
                                     Visit&& visit) {
  for (std::uint32_t place = lane; place <= array.leaf_slots(); place += 32) {
    const std::uint64_t slot = (leaf << array.leaf_shift) + place;
    if (slot == 0 || slot == array.slots() || array.sources[slot] != array.sources[slot - 1]) visit(slot);
  }
}

// Calls visit(leaf, lane) for each written leaf, by the lanes of a warp, and done(leaf) by one lane.
template <class Visit, class Done>
MOTIFLUX_DEVICE void for_each_written_leaf(const PackedArray& array, Visit&& visit, Done&& done) {
  const lanes::Group<32> warp;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t base = std::uint64_t{warp.in_grid()} * 32; base < array.leaves; base += step) {
    const std::uint64_t own = base + warp.lane();
    const bool written = own < array.leaves && (array.counts[own] & PackedArray::kMoved) != 0;
    for_each_bit(warp.ballot(written), [&](std::uint32_t leaf) { visit(base + leaf, warp.lane()); });
    if (written) done(own);
  }
}

// Several threads may find a border, and write the same.
MOTIFLUX_DEVICE void find_rows(const PackedArgs& args) {
  const PackedArray& array = args.target;
  for_each_written_leaf(
      array,
      [&](std::uint64_t leaf, std::uint32_t lane) {
        for_each_border(array, leaf, lane, [&](std::uint64_t slot) {
          if (slot < array.slots()) args.rows.begins[array.sources[slot]] = slot;
          if (slot > 0) args.rows.ends[array.sources[slot - 1]] = slot;
        });
      },
      [](std::uint64_t) {});
}

MOTIFLUX_DEVICE bool has_entries(const PackedArgs& args, std::uint32_t vertex) {
  const std::uint64_t begin = args.rows.begins[vertex];
  return begin < args.rows.ends[vertex] && begin < args.target.slots() &&
         args.target.sources[begin] == vertex;
}

// Rows that have lost their last entry: no leaf tells of them.
MOTIFLUX_DEVICE void empty_rows(const PackedArgs& args) {
  for (std::uint64_t number = thread_in_grid(); number < args.update_count; number += threads_of_grid()) {
    const auto vertex = static_cast<std::uint32_t>(args.updates[number].key >> 32);
    if (!has_entries(args, vertex)) args.rows.begins[vertex] = args.rows.ends[vertex] = 0;
  }
}

MOTIFLUX_DEVICE void write_header(const PackedArray& array, const PackedRows& rows, std::uint32_t vertex) {
  const std::uint64_t begin = rows.begins[vertex], end = rows.ends[vertex];
  const auto size = static_cast<std::uint32_t>(end - begin);
  const auto entries = size == 0 ? 0 : static_cast<std::uint32_t>(array.rank(end) - array.rank(begin));
  const std::uint32_t* neighbors = array.neighbors + begin;
  rows.rows[vertex] = {neighbors, nullptr, neighbors, size, size - entries};
}

MOTIFLUX_DEVICE void write_headers(const PackedArgs& args) {
  const PackedArray& array = args.target;
  for_each_written_leaf(
      array,
      [&](std::uint64_t leaf, std::uint32_t lane) {
        for_each_border(array, leaf, lane, [&](std::uint64_t slot) {
          if (slot < array.slots()) write_header(array, args.rows, array.sources[slot]);
          if (slot > 0) write_header(array, args.rows, array.sources[slot - 1]);
        });
      },
      [&](std::uint64_t leaf) { array.counts[leaf] &= ~PackedArray::kMoved; });
  for (std::uint64_t number = thread_in_grid(); number < args.update_count; number += threads_of_grid())
    write_header(array, args.rows, static_cast<std::uint32_t>(args.updates[number].key >> 32));
}

// Copies where rows are to arrays for more vertices, and writes all headers.
MOTIFLUX_DEVICE void extend_rows(const PackedArgs& args) {
  for (std::uint64_t vertex = thread_in_grid(); vertex < args.rows.vertices; vertex += threads_of_grid()) {
    const bool there = vertex < args.old_rows.vertices;
    args.rows.begins[vertex] = there ? args.old_rows.begins[vertex] : 0;
    args.rows.ends[vertex] = there ? args.old_rows.ends[vertex] : 0;
    write_header(args.array, args.rows, static_cast<std::uint32_t>(vertex));
  }
}

}  // namespace motiflux::changing
