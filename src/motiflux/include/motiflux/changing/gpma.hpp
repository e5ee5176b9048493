// A packed memory array of the entries of all rows (GAMMA, V-C; GPMA), and what its kernels are given.
//
// Entries (vertex, neighbour) lie in ascending order in an array of slots with gaps. The array is cut into
// leaves of a power of two of slots. The entries of a leaf are spread evenly, the first one in its first
// slot: entry q of c is in slot q * slots / c, so the number of entries alone says which slots have one. A
// gap repeats the entry before it. Hence any range of slots is sorted.
//
//   leaf 0, 5 entries          leaf 1, 3 entries          leaves of 8 slots
//   sources    0 0 0 0 1 1 1 1     1 1 1 4 4 4 4 4
//   neighbors  2 2 5 7 7 0 0 3     8 8 8 0 0 2 2 2
//   firsts     (0, 2)              (1, 8)              the index: the key of each leaf's first entry
//   before     0                   5                8  entries before each leaf
//
// A window of level l is 2^l leaves, aligned; the last one of a level may have fewer. Each level has bounds
// of the entries per slot. Every leaf has at least one entry, unless the array has none.
#pragma once

#include "motiflux/changing/write_rows.cuh"
#include "motiflux/view/changing.hpp"

namespace motiflux::changing {

inline constexpr std::uint32_t kWindowLevels = 33;
inline constexpr std::uint32_t kPackedThreads = 256, kPackedWarps = kPackedThreads / 32;
// Slots of the windows that a warp rewrites, and of those that fit into the shared memory of a block.
inline constexpr std::uint32_t kSmallSlots = 32, kMediumSlots = 4096;
// Slots of a large window that a block moves at a time.
inline constexpr std::uint32_t kTileSlots = kMediumSlots;
inline constexpr std::uint32_t kLargeShift = 40;
// Small windows that a warp has at a time.
inline constexpr std::uint32_t kWindowsOfWarp = 16;
// Leaves whose counts a block sums up at a time, and those of a thread.
inline constexpr std::uint32_t kSumTile = 4096, kSumsOfThread = kSumTile / kPackedThreads;

// An entry as a number, in the order of entries.
MOTIFLUX_HOST_DEVICE inline std::uint64_t key_of(std::uint32_t source, std::uint32_t neighbor) {
  return std::uint64_t{source} << 32 | neighbor;
}

struct PackedArray {
  std::uint32_t* sources;
  std::uint32_t* neighbors;
  std::uint64_t* firsts;
  std::uint32_t* counts;  // of entries of each leaf; kMoved: the leaf was written since rows were found
  std::uint64_t* before;  // leaves + 1
  std::uint64_t leaves;
  std::uint32_t leaf_shift;  // a leaf has 2^leaf_shift slots, at most 32
  std::uint32_t unused;

  static constexpr std::uint32_t kMoved = std::uint32_t{1} << 31;

  MOTIFLUX_HOST_DEVICE std::uint32_t leaf_slots() const { return std::uint32_t{1} << leaf_shift; }
  MOTIFLUX_HOST_DEVICE std::uint64_t slots() const { return leaves << leaf_shift; }
  MOTIFLUX_HOST_DEVICE std::uint64_t key(std::uint64_t slot) const {
    return key_of(sources[slot], neighbors[slot]);
  }
  MOTIFLUX_HOST_DEVICE std::uint32_t count(std::uint64_t leaf) const {
    return static_cast<std::uint32_t>(before[leaf + 1] - before[leaf]);
  }
  // The slot in a leaf of its entry `number`, if it has `count`.
  MOTIFLUX_HOST_DEVICE std::uint32_t place(std::uint32_t number, std::uint32_t count) const {
    return (number << leaf_shift) / count;
  }
  // The entries of a leaf with `count` that are before one of its slots.
  MOTIFLUX_HOST_DEVICE std::uint32_t entries_before(std::uint32_t place, std::uint32_t count) const {
    return (place * count + leaf_slots() - 1) >> leaf_shift;
  }
  MOTIFLUX_HOST_DEVICE bool has_entry(std::uint64_t slot) const {
    const std::uint32_t place = static_cast<std::uint32_t>(slot) & (leaf_slots() - 1);
    const std::uint32_t entries = count(slot >> leaf_shift);
    return entries_before(place, entries) != entries_before(place + 1, entries);
  }
  // The entries before a slot, or before the end of the array.
  MOTIFLUX_HOST_DEVICE std::uint64_t rank(std::uint64_t slot) const {
    const std::uint64_t leaf = slot >> leaf_shift;
    if (leaf == leaves) return before[leaves];
    return before[leaf] + entries_before(static_cast<std::uint32_t>(slot) & (leaf_slots() - 1), count(leaf));
  }
};

// Where the rows of all vertices are: slots, and headers for searches.
struct PackedRows {
  std::uint64_t* begins;
  std::uint64_t* ends;
  view::ChangingRow* rows;
  std::uint64_t vertices;
};

// An insertion or deletion of an entry. Updates come in the order of keys; those of one key are all of one
// kind.
struct PackedUpdate {
  std::uint64_t key;
  std::uint32_t inserts_before;  // earlier updates that insert
  std::uint32_t turn;            // earlier deletions of the same key; kInserts: an insertion

  static constexpr std::uint32_t kInserts = ~std::uint32_t{0};

  MOTIFLUX_HOST_DEVICE bool inserts() const { return turn == kInserts; }
};

struct Window {
  std::uint32_t leaf;  // the first one
  std::uint32_t level;
  std::uint32_t first, end;  // updates
  std::uint64_t first_tile;  // of a large window, among the tiles of all large windows
  std::uint64_t entries;     // before the updates
};

// What the kernels that choose windows find.
struct PackedChoice {
  std::uint64_t levels;         // bits: levels with windows
  std::uint64_t large;          // number of large windows << kLargeShift | number of their tiles
  std::uint32_t small, medium;  // numbers of windows
  std::uint32_t missing;        // deletions of entries that are not there
  std::uint32_t unused;
};

// How many lanes of a warp rewrite a small window (V-C).
enum class GroupSizes : std::uint32_t { kWarp, kFixed, kAdaptive };

struct PackedArgs {
  PackedArray array;
  PackedArray target;  // what is written: the same array, or the one that replaces it
  PackedRows rows;
  PackedRows old_rows;  // to be extended
  const PackedUpdate* updates;
  std::uint64_t update_count;
  std::uint64_t insert_count;
  std::uint32_t* leaf_of;  // of each update
  std::uint8_t* marks;     // of all windows, level by level
  Window* windows;         // small ones from the front, medium ones from the back
  std::uint64_t window_capacity;
  Window* large;
  PackedChoice* choice;
  std::uint64_t* entries;    // of large windows: a copy of their entries
  std::uint64_t* tile_sums;  // of counts
  std::uint64_t marks_at[kWindowLevels];
  std::uint32_t most[kWindowLevels], least[kWindowLevels];  // entries of a level per 2^16 slots
  std::uint32_t top_level;
  std::uint32_t index_levels;  // of the search for a leaf that are in shared memory
  GroupSizes group_sizes;
  std::uint32_t replaces;  // whether `target` replaces `array`
};

// The rows of a run of updates.
struct PackedMergeArgs {
  WriteArgs write;
  PackedArray array;
  PackedRows rows;
  std::uint64_t touched_count;
};

#if defined(MOTIFLUX_SIMT)

MOTIFLUX_DEVICE std::uint64_t thread_in_grid() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
MOTIFLUX_DEVICE std::uint64_t threads_of_grid() {
  return std::uint64_t{gridDim.x} * blockDim.x;
}

// The number of updates before one that insert.
MOTIFLUX_DEVICE std::uint64_t inserts_before(const PackedArgs& args, std::uint64_t update) {
  return update == args.update_count ? args.insert_count : args.updates[update].inserts_before;
}

// The first leaf behind a window.
MOTIFLUX_DEVICE std::uint64_t leaf_behind(const PackedArray& array, std::uint64_t leaf, std::uint32_t level) {
  const std::uint64_t behind = leaf + (std::uint64_t{1} << level);
  return behind < array.leaves ? behind : array.leaves;
}

// The first number in [first, last) that is not `below`, where those that are below come first.
template <class Below>
MOTIFLUX_DEVICE std::uint64_t first_not(std::uint64_t first, std::uint64_t last, Below&& below) {
  while (first < last) {
    const std::uint64_t middle = first + (last - first) / 2;
    if (below(middle))
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

#endif

}  // namespace motiflux::changing
