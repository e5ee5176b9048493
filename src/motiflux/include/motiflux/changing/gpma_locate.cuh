// The leaf of each update, and the windows that are rewritten.
//
// A thread finds the leaf of an update in the index, whose top levels are in shared memory. Updates are in
// the order of entries, so those of a leaf, or of any window, lie side by side. The first update of each leaf
// then climbs to the smallest window whose entries, with all updates of the window, keep within the bounds of
// its level. Of windows that contain each other, the largest is rewritten: once, with all its updates.
#pragma once

#include "motiflux/changing/gpma.hpp"
#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/lanes/group.hpp"

namespace motiflux::changing {

// The top of the index as a search tree: node 1 is the middle of all leaves, the children of node i are 2 i
// and 2 i + 1.
MOTIFLUX_DEVICE void load_pivots(const PackedArray& array, std::uint64_t* pivots, std::uint32_t levels) {
  for (std::uint32_t node = 1 + threadIdx.x; node < std::uint32_t{1} << levels; node += blockDim.x) {
    std::uint64_t first = 0, last = array.leaves;
    std::uint32_t depth = 0;
    while (node >> (depth + 1) != 0) ++depth;
    while (depth > 0 && first < last) {
      const std::uint64_t middle = first + (last - first) / 2;
      --depth;
      if ((node >> depth & 1) != 0)
        first = middle + 1;
      else
        last = middle;
    }
    if (first < last) pivots[node] = array.firsts[first + (last - first) / 2];
  }
}

// The last leaf whose first entry is less than `key`, or leaf 0.
MOTIFLUX_DEVICE std::uint64_t leaf_below(const PackedArray& array, const std::uint64_t* pivots,
                                         std::uint32_t levels, std::uint64_t key) {
  std::uint64_t first = 0, last = array.leaves;
  std::uint32_t node = 1;
  for (std::uint32_t level = 0; level < levels && first < last; ++level) {
    const std::uint64_t middle = first + (last - first) / 2;
    const bool right = pivots[node] < key;
    node = 2 * node + right;
    if (right)
      first = middle + 1;
    else
      last = middle;
  }
  first = first_not(first, last, [&](std::uint64_t leaf) { return array.firsts[leaf] < key; });
  return first == 0 ? 0 : first - 1;
}

// The entries of a leaf that are less than `key`.
MOTIFLUX_DEVICE std::uint32_t entries_below(const PackedArray& array, std::uint64_t leaf, std::uint64_t key) {
  const std::uint32_t count = array.count(leaf);
  return static_cast<std::uint32_t>(first_not(0, count, [&](std::uint64_t number) {
    return array.key((leaf << array.leaf_shift) + array.place(static_cast<std::uint32_t>(number), count)) <
           key;
  }));
}

// The leaf of a deletion: equal entries may lie in several leaves, and each deletion takes one of them.
MOTIFLUX_DEVICE std::uint64_t leaf_of_entry(const PackedArgs& args, std::uint64_t leaf,
                                            const PackedUpdate& update) {
  const PackedArray& array = args.array;
  for (std::uint32_t turn = update.turn;; ++leaf) {
    const std::uint32_t equal =
        entries_below(array, leaf, update.key + 1) - entries_below(array, leaf, update.key);
    if (turn < equal) return leaf;
    turn -= equal;
    if (leaf + 1 == array.leaves || array.firsts[leaf + 1] > update.key) {
      device::fast_add(args.choice->missing, 1u);
      return leaf;
    }
  }
}

MOTIFLUX_DEVICE void locate(const PackedArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(memory);
  auto* pivots = reinterpret_cast<std::uint64_t*>(memory);
  load_pivots(args.array, pivots, args.index_levels);
  __syncthreads();
  for (std::uint64_t number = thread_in_grid(); number < args.update_count; number += threads_of_grid()) {
    const PackedUpdate update = args.updates[number];
    std::uint64_t leaf = leaf_below(args.array, pivots, args.index_levels, update.key);
    if (!update.inserts()) leaf = leaf_of_entry(args, leaf, update);
    args.leaf_of[number] = static_cast<std::uint32_t>(leaf);
  }
}

MOTIFLUX_DEVICE std::uint64_t first_update_from(const PackedArgs& args, std::uint64_t leaf,
                                                std::uint64_t first, std::uint64_t last) {
  return first_not(first, last, [&](std::uint64_t number) { return args.leaf_of[number] < leaf; });
}

// The first update behind `number` that is in `leaf` or later; most are near.
MOTIFLUX_DEVICE std::uint64_t update_behind(const PackedArgs& args, std::uint64_t number,
                                            std::uint64_t leaf) {
  std::uint64_t first = number, step = 1;
  while (first + step < args.update_count && args.leaf_of[first + step] < leaf) {
    first += step;
    step *= 2;
  }
  const std::uint64_t last = first + step < args.update_count ? first + step : args.update_count;
  return first_update_from(args, leaf, first, last);
}

// Whether a window of `leaves` leaves may have this number of entries.
MOTIFLUX_DEVICE bool fits(const PackedArgs& args, std::uint32_t level, std::uint64_t leaves,
                          std::uint64_t entries) {
  const std::uint64_t slots = leaves << args.array.leaf_shift, leaf = args.array.leaf_slots();
  // Spread evenly, no leaf has more or fewer entries than a leaf may have.
  const std::uint64_t most = slots * args.most[level] >> 16, of_leaf = leaf * args.most[0] >> 16;
  const std::uint64_t least = (slots * args.least[level] + 0xffff) >> 16,
                      of_each = (leaf * args.least[0] + 0xffff) >> 16;
  return entries <= most && entries <= leaves * of_leaf && entries >= least && entries >= leaves * of_each;
}

MOTIFLUX_DEVICE bool is_first_of_leaf(const PackedArgs& args, std::uint64_t number) {
  return number == 0 || args.leaf_of[number - 1] != args.leaf_of[number];
}

// Marks the smallest window within bounds around the leaf of an update. The host sees to it that the whole
// array is within bounds.
MOTIFLUX_DEVICE void climb(const PackedArgs& args, std::uint64_t number) {
  const std::uint64_t leaf = args.leaf_of[number];
  std::uint64_t first = number, end = update_behind(args, number, leaf + 1);
  for (std::uint32_t level = 0;; ++level) {
    const std::uint64_t from = leaf >> level << level, behind = leaf_behind(args.array, from, level);
    if (level > 0) {
      first = first_update_from(args, from, 0, first);
      end = first_update_from(args, behind, end, args.update_count);
    }
    const std::uint64_t inserts = inserts_before(args, end) - inserts_before(args, first);
    const std::uint64_t entries =
        args.array.before[behind] - args.array.before[from] + 2 * inserts - (end - first);
    if (level < args.top_level && !fits(args, level, behind - from, entries)) continue;
    args.marks[args.marks_at[level] + (leaf >> level)] = 1;
    device::device_wide(args.choice->levels).fetch_or(std::uint64_t{1} << level, device::Order::kRelaxed);
    return;
  }
}

MOTIFLUX_DEVICE void mark_windows(const PackedArgs& args) {
  for (std::uint64_t number = thread_in_grid(); number < args.update_count; number += threads_of_grid())
    if (is_first_of_leaf(args, number)) climb(args, number);
}

MOTIFLUX_DEVICE std::uint32_t level_of(const PackedArgs& args, std::uint64_t levels, std::uint64_t leaf) {
  std::uint32_t level = args.top_level;
  while (level > 0 && ((levels >> level & 1) == 0 || args.marks[args.marks_at[level] + (leaf >> level)] == 0))
    --level;
  return level;
}

MOTIFLUX_DEVICE void add_large(const PackedArgs& args, Window window) {
  const std::uint64_t leaves = leaf_behind(args.array, window.leaf, window.level) - window.leaf;
  const std::uint64_t tiles = ((leaves << args.array.leaf_shift) + kTileSlots - 1) / kTileSlots;
  // One addition, so that windows are in the order of their tiles.
  const std::uint64_t at = device::fast_add(args.choice->large, (std::uint64_t{1} << kLargeShift) + tiles);
  window.first_tile = at & ((std::uint64_t{1} << kLargeShift) - 1);
  args.large[at >> kLargeShift] = window;
}

MOTIFLUX_DEVICE void list_windows(const PackedArgs& args) {
  const lanes::Group<32> warp;
  const std::uint64_t levels = args.choice->levels;
  const std::uint64_t turns = (args.update_count + 31) / 32 * 32;  // all lanes take part
  for (std::uint64_t number = thread_in_grid(); number < turns; number += threads_of_grid()) {
    Window window{};
    std::uint32_t slots = 0;  // 0: no window begins with this update
    if (number < args.update_count && is_first_of_leaf(args, number)) {
      const std::uint64_t leaf = args.leaf_of[number];
      const std::uint32_t level = level_of(args, levels, leaf);
      const std::uint64_t from = leaf >> level << level;
      if (number == 0 || args.leaf_of[number - 1] < from) {
        const std::uint64_t behind = leaf_behind(args.array, from, level);
        window = {static_cast<std::uint32_t>(from),
                  level,
                  static_cast<std::uint32_t>(number),
                  static_cast<std::uint32_t>(update_behind(args, number, behind)),
                  0,
                  args.array.before[behind] - args.array.before[from]};
        const std::uint64_t size = std::uint64_t{args.array.leaf_slots()} << level;
        slots = size <= kMediumSlots ? static_cast<std::uint32_t>(size) : ~std::uint32_t{0};
      }
    }
    const bool small = slots != 0 && slots <= kSmallSlots;
    const std::uint32_t smalls = warp.ballot(small);
    std::uint32_t at = 0;
    if (smalls != 0 && warp.leads()) at = device::fast_add(args.choice->small, count_bits(smalls));
    at = warp.broadcast(at);
    if (small) {
      args.windows[at + count_bits(smalls & bits_below(warp.lane()))] = window;
    } else if (slots != 0 && slots <= kMediumSlots) {
      const std::uint32_t from_back = device::fast_add(args.choice->medium, 1u);
      args.windows[args.window_capacity - 1 - from_back] = window;
    } else if (slots != 0) {
      add_large(args, window);
    }
  }
}

}  // namespace motiflux::changing
