// What a search kernel is given, beside its plan, and what it leaves behind.
//
//   Control     one per search, in device memory: the work left, the totals, why to stop
//   Task        the kernel's argument
//   Saved       one per group: where an enumeration that found no room for its rows goes on
#pragma once

#include "motiflux/match/work_queue_task.hpp"
#include "motiflux/view/adjacency.hpp"
#include "motiflux/view/plan.hpp"

namespace motiflux::match {

// Why to stop. A group that pauses saves itself, to go on later from where it stands.
enum class Stop : std::uint32_t { kNone = 0, kPause = 1, kLimit = 2, kHost = 3 };

// Read by the host while the kernel runs; `stop` may be written by it.
struct Control {
  std::uint64_t taken;     // root arcs handed out, from the last to the first: hubs have the highest ids
  std::uint64_t done;      // root arcs finished, less splits that are not
  std::uint64_t found[2];  // 128-bit total of what groups have reported, low word first
  std::uint32_t stop;      // a Stop: the highest that was asked for
  std::uint32_t parked;    // groups that saved themselves, for want of room or to pause
  std::uint32_t overflow;  // whether a number passed 128 bits: the total is of no use
  std::uint32_t stolen;    // how often work changed hands within a block
  // Listing: rows that groups asked room for, one after another, and the complement of the first place that
  // was refused (0 if none was). Later requests were refused too, so all rows before that
  // place, or before `reserved` if none was refused, are written.
  std::uint64_t reserved;
  std::uint64_t refused;
};

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

struct Task {
  view::Adjacency out;  // every arc, for degree bounds and for induced matching
  view::Adjacency in;
  view::Adjacency root;  // the rows of level 1's first source: their arcs are the units of work
  std::uint64_t arcs;
  std::uint64_t all_arcs;  // of all devices that share the search
  std::uint32_t vertices;
  std::uint32_t chunk;  // root arcs that a group takes at a time
  // Chunks are assigned to the devices in turn: this one gets the `first` of each `stride`.
  std::uint32_t first;
  std::uint32_t stride;
  std::uint64_t limit;  // stop once more than this many are known, or kNoLimit
  Control* control;
  // Candidate lists: those of a group lie together, the list of a level `buffer_at[level]` words from there.
  // A level whose candidates are always a part of a row has none.
  std::uint32_t* buffers;
  std::uint64_t group_words;
  std::uint64_t buffer_at[view::kMaxLevels];
  std::uint32_t max_spans;     // most sets that one step intersects
  std::uint32_t shared_bytes;  // shared memory of a group
  std::uint32_t flatten_last;  // whether the last two levels are counted at once
  WorkQueue work_queue;
  // Enumeration only.
  std::uint32_t resume;  // whether groups go on from what they saved
  unsigned char* saved;  // group_bytes for each
  std::uint64_t group_bytes;
  std::uint32_t* rows;  // room for `row_capacity` of them
  std::uint64_t row_capacity;
  std::uint8_t column_levels[view::kMaxLevels];  // the level that each column of a row shows
};

template <class Plan>
struct SearchArgs {
  Plan plan;
  Task task;
};

}  // namespace motiflux::match
