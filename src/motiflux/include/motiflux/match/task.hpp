// The arguments of a search kernel besides its plan, and its results.
//
//   Control     one per search, in device memory: the work left, the totals, the reason to stop
//   Task        the kernel's argument
//   Saved       one per group: the state from which an enumeration without room for rows continues
#pragma once

#include "motiflux/match/work_queue_task.hpp"
#include "motiflux/view/adjacency.hpp"
#include "motiflux/view/plan.hpp"

namespace motiflux::match {

// The reason to stop. A group that pauses saves its state, to continue later.
enum class Stop : std::uint32_t { kNone = 0, kPause = 1, kLimit = 2, kHost = 3 };

// Read by the host while the kernel runs; `stop` may be written by it.
struct Control {
  std::uint64_t taken;     // root arcs handed out, from the last to the first: hubs have the highest ids
  std::uint64_t done;      // root arcs finished, minus unfinished splits
  std::uint64_t found[2];  // 128-bit total reported by groups, low word first
  std::uint32_t stop;      // a Stop: the highest requested
  std::uint32_t parked;    // groups that saved their state, for lack of room or to pause
  std::uint32_t overflow;  // whether a number passed 128 bits: the total is invalid
  std::uint32_t stolen;    // the number of walks shared within a block
  // Listing: the number of rows that groups requested room for, and the complement of the first place that
  // was refused (0 if none was). Later requests were refused too, so all rows before that place, or before
  // `reserved` if none was refused, are written.
  std::uint64_t reserved;
  std::uint64_t refused;
};

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

struct Task {
  view::Adjacency out;  // all arcs, for degree bounds and induced matching
  view::Adjacency in;
  // The rows of level 1's first source, never placed rows: their arcs are the units of work.
  view::Adjacency root;
  std::uint64_t arcs;
  std::uint64_t all_arcs;  // root arcs of all devices that share the search
  std::uint32_t vertices;
  std::uint32_t chunk;  // root arcs that a group takes at a time
  // Chunks are assigned to the devices in turn: this device gets chunk `first` of each `stride`.
  std::uint32_t first;
  std::uint32_t stride;
  std::uint64_t limit;  // stop once more than this many are found, or kNoLimit
  Control* control;
  // Candidate lists: the lists of a group are contiguous, the list of a level `buffer_at[level]` words from
  // their start. A level whose candidates are always a part of a row has none. Searches from updates have no
  // lists of levels 0 and 1. Where they stage rows (match/staged_rows.hpp), the words from that of level 0 on
  // are for these; where rows have two parts (match/two_part_sets.hpp), that of level 1 is a spare one.
  std::uint32_t* buffers;
  std::uint64_t group_words;
  std::uint64_t buffer_at[view::kMaxLevels];
  std::uint32_t max_spans;     // most sets that one step intersects
  std::uint32_t shared_bytes;  // shared memory of a group
  std::uint32_t flatten_last;  // whether the last two levels are counted at once
  WorkQueue work_queue;
  // Enumeration only.
  std::uint32_t resume;  // whether groups continue from their saved states
  unsigned char* saved;  // group_bytes for each
  std::uint64_t group_bytes;
  std::uint32_t* rows;  // room for `row_capacity` rows
  std::uint64_t row_capacity;
  std::uint8_t column_levels[view::kMaxLevels];  // the level of each column of a row
};

template <class Plan>
struct SearchArgs {
  Plan plan;
  Task task;
};

}  // namespace motiflux::match
