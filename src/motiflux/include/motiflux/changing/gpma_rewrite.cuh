// Rewriting windows: entries are copied out, merged with the window's updates, and spread evenly again.
//
//   small windows    several by a warp, whose lanes are dealt out to them in groups
//   medium windows   one by a block, in shared memory
//   large windows    tile by tile, by way of device memory
//
// Each entry finds its new place by itself: from its number, and the insertions and deletions before it.
#pragma once

#include "motiflux/changing/gpma_locate.cuh"

namespace motiflux::changing {

// The rewriting of a window of `args.target`, whose entries were copied to `entries`.
struct Rewriting {
  const PackedArgs* args;
  const std::uint64_t* entries;
  std::uint64_t entry_count;  // before the updates
  std::uint64_t new_count;
  std::uint64_t first_leaf, leaves;
  std::uint32_t first, end;  // updates

  MOTIFLUX_DEVICE Rewriting(const PackedArgs& all, const Window& window, const std::uint64_t* copied)
      : args(&all),
        entries(copied),
        entry_count(window.entries),
        first_leaf(window.leaf),
        first(window.first),
        end(window.end) {
    leaves = all.replaces != 0 ? all.target.leaves
                               : leaf_behind(all.target, window.leaf, window.level) - window.leaf;
    const std::uint64_t inserts = inserts_before(all, end) - inserts_before(all, first);
    new_count = entry_count + 2 * inserts - (end - first);
  }

  MOTIFLUX_DEVICE std::uint64_t items() const { return entry_count + (end - first); }

  // Moves an item: an entry, or an update.
  MOTIFLUX_DEVICE void move(std::uint64_t item) const {
    if (item < entry_count)
      move_entry(item);
    else
      insert(static_cast<std::uint32_t>(first + (item - entry_count)));
  }

  MOTIFLUX_DEVICE void move_entry(std::uint64_t number) const {
    const PackedUpdate* updates = args->updates;
    const std::uint64_t key = entries[number];
    const std::uint64_t at =
        first_not(first, end, [&](std::uint64_t update) { return updates[update].key < key; });
    const std::uint64_t inserts = inserts_before(*args, at) - inserts_before(*args, first);
    std::uint64_t deletes = at - first - inserts;
    if (at < end && updates[at].key == key && !updates[at].inserts()) {
      std::uint64_t own = 0, equal = 0;
      while (at + own < end && updates[at + own].key == key) ++own;
      while (equal < number && entries[number - equal - 1] == key) ++equal;
      if (equal < own) return;
      deletes += own;
    }
    put(number + inserts - deletes, key);
  }

  MOTIFLUX_DEVICE void insert(std::uint32_t update) const {
    if (!args->updates[update].inserts()) return;
    const std::uint64_t key = args->updates[update].key;
    const std::uint64_t entries_through =
        first_not(0, entry_count, [&](std::uint64_t number) { return entries[number] <= key; });
    const std::uint64_t inserts = inserts_before(*args, update) - inserts_before(*args, first);
    put(entries_through + 2 * inserts - (update - first), key);
  }

  // Writes an entry, by its number in the window, and the gaps behind it.
  MOTIFLUX_DEVICE void put(std::uint64_t number, std::uint64_t key) const {
    const PackedArray& to = args->target;
    std::uint64_t leaf = 0;
    std::uint32_t place = static_cast<std::uint32_t>(number), count = static_cast<std::uint32_t>(new_count);
    if (leaves > 1) {
      // Leaf i has the entries from i * new_count / leaves.
      leaf = ((number + 1) * leaves - 1) / new_count;
      const std::uint64_t begin = leaf * new_count / leaves;
      place = static_cast<std::uint32_t>(number - begin);
      count = static_cast<std::uint32_t>((leaf + 1) * new_count / leaves - begin);
    }
    leaf += first_leaf;
    const std::uint64_t slot = leaf << to.leaf_shift;
    for (std::uint32_t at = to.place(place, count), behind = to.place(place + 1, count); at < behind; ++at) {
      to.sources[slot + at] = static_cast<std::uint32_t>(key >> 32);
      to.neighbors[slot + at] = static_cast<std::uint32_t>(key);
    }
    if (place > 0) return;
    to.firsts[leaf] = key;
    to.counts[leaf] = count | PackedArray::kMoved;
  }
};

// Copies the entry of a slot of a window, if there is one, to its number.
MOTIFLUX_DEVICE void copy_out(const PackedArray& array, std::uint64_t first_leaf, std::uint64_t slot,
                              std::uint64_t* entries) {
  const std::uint64_t at = (first_leaf << array.leaf_shift) + slot;
  if (array.has_entry(at)) entries[array.rank(at) - array.before[first_leaf]] = array.key(at);
}

// The lanes that a window gets of a warp, of which `left` of `items` items are to be moved.
MOTIFLUX_DEVICE std::uint32_t lanes_for(GroupSizes sizes, std::uint32_t left, std::uint32_t items) {
  if (left == 0) return 0;
  if (sizes == GroupSizes::kWarp) return 32;
  const std::uint32_t wanted = sizes == GroupSizes::kFixed ? items : left;
  std::uint32_t lanes = 2;
  while (lanes < 32 && 2 * lanes <= wanted) lanes *= 2;
  return lanes;
}

// Deals the lanes of a warp out to windows, one of each lane with `items` items, in groups of 2 to 32, turn
// by turn, until all are done; calls move(window, item).
template <class Move>
MOTIFLUX_DEVICE void deal(const lanes::Group<32>& warp, GroupSizes sizes, std::uint32_t items, Move&& move) {
  std::uint32_t left = items;
  while (warp.ballot(left > 0) != 0) {
    const std::uint32_t wanted = lanes_for(sizes, left, items);
    const std::uint32_t begin = warp.sums_before(wanted);
    const std::uint32_t lanes = begin + wanted <= 32 ? wanted : 0;
    std::uint32_t window = 0;  // the last one whose lanes begin here or before
    for (std::uint32_t step = 16; step > 0; step /= 2)
      if (warp.broadcast(begin, window + step) <= warp.lane()) window += step;
    const std::uint32_t number = warp.lane() - warp.broadcast(begin, window);
    const std::uint32_t there = warp.broadcast(lanes, window), rest = warp.broadcast(left, window);
    const std::uint32_t done = warp.broadcast(items - left, window);
    if (number < there && number < rest) move(window, done + number);
    left -= lanes < left ? lanes : left;
  }
}

MOTIFLUX_DEVICE void rewrite_small(const PackedArgs& args) {
  __shared__ std::uint64_t copies[kPackedWarps][kWindowsOfWarp][kSmallSlots];
  __shared__ Window windows[kPackedWarps][kWindowsOfWarp];
  const lanes::Group<32> warp;
  auto& entries = copies[warp.in_block()];
  auto& own = windows[warp.in_block()];
  const std::uint32_t count = args.choice->small, step = gridDim.x * kPackedWarps * kWindowsOfWarp;
  for (std::uint32_t base = warp.in_grid() * kWindowsOfWarp; base < count; base += step) {
    std::uint32_t slots = 0, items = 0;
    if (warp.lane() < kWindowsOfWarp && base + warp.lane() < count) {
      const Window window = args.windows[base + warp.lane()];
      own[warp.lane()] = window;
      slots = static_cast<std::uint32_t>(leaf_behind(args.array, window.leaf, window.level) - window.leaf)
              << args.array.leaf_shift;
      items = static_cast<std::uint32_t>(window.entries) + window.end - window.first;
    }
    warp.sync();
    deal(warp, args.group_sizes, slots, [&](std::uint32_t window, std::uint32_t slot) {
      copy_out(args.array, own[window].leaf, slot, entries[window]);
    });
    warp.sync();
    deal(warp, args.group_sizes, items, [&](std::uint32_t window, std::uint32_t item) {
      Rewriting(args, own[window], entries[window]).move(item);
    });
    warp.sync();
  }
}

MOTIFLUX_DEVICE void rewrite_medium(const PackedArgs& args) {
  __shared__ std::uint64_t entries[kMediumSlots];
  for (std::uint32_t number = blockIdx.x; number < args.choice->medium; number += gridDim.x) {
    const Window window = args.windows[args.window_capacity - 1 - number];
    const std::uint64_t slots = (leaf_behind(args.array, window.leaf, window.level) - window.leaf)
                                << args.array.leaf_shift;
    for (std::uint64_t slot = threadIdx.x; slot < slots; slot += blockDim.x)
      copy_out(args.array, window.leaf, slot, entries);
    __syncthreads();
    const Rewriting rewriting(args, window, entries);
    for (std::uint64_t item = threadIdx.x; item < rewriting.items(); item += blockDim.x) rewriting.move(item);
    __syncthreads();
  }
}

// Calls visit(window, tile of the window) for the tiles of all large windows, a block each.
template <class Visit>
MOTIFLUX_DEVICE void for_each_tile(const PackedArgs& args, Visit&& visit) {
  const std::uint64_t found = args.choice->large;
  const std::uint64_t windows = found >> kLargeShift, tiles = found & ((std::uint64_t{1} << kLargeShift) - 1);
  for (std::uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::uint64_t behind =
        first_not(0, windows, [&](std::uint64_t number) { return args.large[number].first_tile <= tile; });
    const Window window = args.large[behind - 1];
    visit(window, tile - window.first_tile);
  }
}

MOTIFLUX_DEVICE void copy_large(const PackedArgs& args) {
  for_each_tile(args, [&](const Window& window, std::uint64_t tile) {
    const std::uint64_t slots = (leaf_behind(args.array, window.leaf, window.level) - window.leaf)
                                << args.array.leaf_shift;
    std::uint64_t* entries = args.entries + window.first_tile * kTileSlots;
    const std::uint64_t begin = tile * kTileSlots,
                        end = begin + kTileSlots < slots ? begin + kTileSlots : slots;
    for (std::uint64_t slot = begin + threadIdx.x; slot < end; slot += blockDim.x)
      copy_out(args.array, window.leaf, slot, entries);
  });
}

MOTIFLUX_DEVICE void rewrite_large(const PackedArgs& args) {
  for_each_tile(args, [&](const Window& window, std::uint64_t tile) {
    const Rewriting rewriting(args, window, args.entries + window.first_tile * kTileSlots);
    const std::uint64_t slots = (leaf_behind(args.array, window.leaf, window.level) - window.leaf)
                                << args.array.leaf_shift;
    const std::uint64_t tiles = (slots + kTileSlots - 1) / kTileSlots, items = rewriting.items();
    const std::uint64_t end = items * (tile + 1) / tiles;
    for (std::uint64_t item = items * tile / tiles + threadIdx.x; item < end; item += blockDim.x)
      rewriting.move(item);
  });
}

}  // namespace motiflux::changing
