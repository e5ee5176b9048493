// Walks that estimate how often the search of a run opens each row, all of a round at once:
//
//   walk     for each level: a thread for each slot draws a node, and measures the places of its children
//   open     a thread for each node adds the rows that are opened there to a table
//   gather   the rows of the table, one after another
//
// The last block of a launch of `walk` adds up the places of all blocks, so that the next launch can draw
// from all children of the level alike.
#pragma once

#include "motiflux/changing/access_walker.hpp"
#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/lanes/group.hpp"
#include "motiflux/random/philox.hpp"

#if defined(MOTIFLUX_SIMT)

namespace motiflux::changing {

inline constexpr std::uint32_t kWalkStream = 0x42000000, kWalkWarps = kWalkThreads / 32;

// Slots of the table that are looked at for a row.
inline constexpr std::uint32_t kMostProbes = 64;

// The sum of the values of this thread and of those before it in the block; all threads call it.
MOTIFLUX_DEVICE std::uint64_t sum_up_to(std::uint64_t value) {
  __shared__ std::uint64_t of_warps[kWalkWarps];
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (std::uint32_t step = 1; step < 32; step *= 2) {
    const std::uint64_t below =
        __shfl_up_sync(~0u, static_cast<unsigned long long>(value), static_cast<int>(step), 32);
    if (lane >= step) value += below;
  }
  __syncthreads();  // no thread reads the sums of a call before
  if (lane == 31) of_warps[warp] = value;
  __syncthreads();
  for (std::uint32_t before = 0; before < warp; ++before) value += of_warps[before];
  return value;
}

// A number from `items` numbers, as many of which are drawn as there are slots, one from each of as many
// equal parts; if there are no more items than slots, the number of the slot. False: none is left for this
// slot.
MOTIFLUX_DEVICE bool draw_item(const WalkArgs& args, std::uint32_t slot, std::uint64_t items,
                               std::uint64_t& item) {
  if (items <= args.slots) {
    item = slot;
    return slot < items;
  }
  const std::uint64_t index = std::uint64_t{args.round} << 32 | slot;
  const random::Words words = random::draw(args.seed, kWalkStream + args.level, index);
  const double at = slot + random::unit(random::joined(words.word[0], words.word[1]));
  item = static_cast<std::uint64_t>(at * (static_cast<double>(items) / args.slots));
  if (item >= items) item = items - 1;  // rounded up
  return true;
}

// The node of the level above that has a place of all places, which becomes its own.
MOTIFLUX_DEVICE std::uint32_t slot_of(const WalkArgs& args, std::uint64_t& place) {
  const std::uint32_t half = (args.level - 1) % 2, all = args.slots / kWalkThreads;
  const std::uint64_t* blocks = args.blocks + std::uint64_t{half} * all;
  const std::uint64_t* sums = args.sums + std::uint64_t{half} * args.slots;
  std::uint32_t first = 0, last = all;
  while (last - first > 1) {
    const std::uint32_t middle = first + (last - first) / 2;
    if (blocks[middle] <= place)
      first = middle;
    else
      last = middle;
  }
  place -= blocks[first];
  const std::uint64_t* of_block = sums + std::uint64_t{first} * kWalkThreads;
  const std::uint64_t* found = sets::lower_bound(of_block, of_block + kWalkThreads, place + 1);
  if (found != of_block) place -= found[-1];
  return static_cast<std::uint32_t>(found - sums);
}

// Draws the node of a slot, and goes to it; false: there is none.
MOTIFLUX_DEVICE bool draw_node(const WalkArgs& args, AccessWalker& walker, std::uint32_t slot) {
  const std::uint64_t place = std::uint64_t{args.level - 1} * args.slots + slot;
  std::uint64_t item;
  args.parents[place] = kNoNode;
  if (!draw_item(args, slot, args.level == 1 ? args.roots : args.levels[args.level - 1].places, item))
    return false;
  if (args.level == 1) {
    args.parents[place] = static_cast<std::uint32_t>(item);
    walker.go_to_root(static_cast<std::uint32_t>(item));
    return true;
  }
  const std::uint32_t parent = slot_of(args, item);
  walker.go_to(args.level - 1, parent);
  if (!walker.go_to_child(item, args.vertices[place])) return false;
  args.parents[place] = parent;
  return true;
}

// What a node of the launch's level stands for.
MOTIFLUX_DEVICE double weight_of(const WalkArgs& args) {
  const bool is_root = args.level == 1;
  const auto items = static_cast<double>(is_root ? args.roots : args.levels[args.level - 1].places);
  const double before = is_root ? 1 : args.levels[args.level - 1].weight;
  return items > args.slots ? before * (items / args.slots) : before;
}

MOTIFLUX_DEVICE void walk(const WalkArgs& args) {
  __shared__ bool is_last;
  AccessWalker walker(args);
  const std::uint32_t slot = blockIdx.x * kWalkThreads + threadIdx.x;
  const std::uint64_t places = draw_node(args, walker, slot) ? walker.places() : 0;
  const std::uint64_t sum = sum_up_to(places);
  const std::uint32_t half = args.level % 2, all = args.slots / kWalkThreads;
  std::uint64_t* blocks = args.blocks + std::uint64_t{half} * all;
  args.sums[std::uint64_t{half} * args.slots + slot] = sum;
  WalkLevel& level = args.levels[args.level];
  if (threadIdx.x == kWalkThreads - 1) {
    blocks[blockIdx.x] = sum;
    is_last = device::device_wide(level.blocks).fetch_add(1, device::Order::kAcqRel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  // Each thread takes neighbouring blocks.
  const std::uint32_t each = (all + kWalkThreads - 1) / kWalkThreads;
  const std::uint32_t first = threadIdx.x * each < all ? threadIdx.x * each : all;
  const std::uint32_t last = first + each < all ? first + each : all;
  std::uint64_t own = 0;
  for (std::uint32_t block = first; block < last; ++block) own += blocks[block];
  const std::uint64_t up_to = sum_up_to(own);
  std::uint64_t before = up_to - own;
  for (std::uint32_t block = first; block < last; ++block) {
    const std::uint64_t of_block = blocks[block];
    blocks[block] = before;
    before += of_block;
  }
  if (threadIdx.x != kWalkThreads - 1) return;
  level.places = up_to;
  level.weight = weight_of(args);
}

MOTIFLUX_DEVICE void add_row(const WalkArgs& args, std::uint32_t name, std::uint32_t vertex,
                             std::uint64_t amount) {
  const std::uint64_t key = (std::uint64_t{name} << 32 | vertex) + 1;
  const std::uint64_t mixed = key * 0x9E3779B97F4A7C15u;
  auto at = static_cast<std::uint32_t>((mixed ^ mixed >> 32) & args.mask);
  for (std::uint32_t probe = 0; probe < kMostProbes; ++probe, at = (at + 1) & args.mask) {
    const auto taken = device::device_wide(args.rows[at].key);
    std::uint64_t found = taken.load(device::Order::kRelaxed);
    while (found == 0)
      if (taken.compare_exchange(found, key, device::Order::kRelaxed)) found = key;
    if (found != key) continue;
    device::fast_add(args.rows[at].times, amount);
    return;
  }
  device::fast_add(*args.left_out, std::uint64_t{1});
}

MOTIFLUX_DEVICE void open(const WalkArgs& args) {
  const std::uint64_t node = std::uint64_t{blockIdx.x} * kWalkThreads + threadIdx.x;
  const auto level = static_cast<std::uint32_t>(node / args.slots) + 1;
  const auto slot = static_cast<std::uint32_t>(node % args.slots);
  if (level > args.level || args.amounts[level] == 0 || args.parents[node] == kNoNode) return;
  AccessWalker walker(args);
  walker.go_to(level, slot);
  walker.open_rows(
      [&](std::uint32_t name, std::uint32_t vertex) { add_row(args, name, vertex, args.amounts[level]); });
}

MOTIFLUX_DEVICE void gather(const WalkArgs& args) {
  const lanes::Group<32> warp;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  // As many turns for all lanes of a warp: the table is no smaller than a warp.
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; at <= args.mask;
       at += threads) {
    const OpenedRow row = args.rows[at];
    const std::uint32_t have = warp.ballot(row.key != 0);
    if (have == 0) continue;
    std::uint64_t first = 0;
    if (warp.leads()) first = device::fast_add(*args.found_count, std::uint64_t{count_bits(have)});
    first = warp.broadcast(first);
    if (row.key != 0) args.found[first + count_bits(have & bits_below(warp.lane()))] = row;
  }
}

}  // namespace motiflux::changing

extern "C" __global__ void __launch_bounds__(motiflux::changing::kWalkThreads)
    motiflux_walk(const __grid_constant__ motiflux::changing::WalkArgs args) {
  motiflux::changing::walk(args);
}

extern "C" __global__ void __launch_bounds__(motiflux::changing::kWalkThreads)
    motiflux_walk_open(const __grid_constant__ motiflux::changing::WalkArgs args) {
  motiflux::changing::open(args);
}

extern "C" __global__ void __launch_bounds__(motiflux::changing::kWalkThreads)
    motiflux_walk_gather(const __grid_constant__ motiflux::changing::WalkArgs args) {
  motiflux::changing::gather(args);
}

#endif
