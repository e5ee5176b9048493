// Batches of few changes, at most two of a row: most batches of a stream. Nothing is sorted, and the team
// waits for all its threads twice: whether there is memory for all rows, and before the batch is published.
//
//   warp 0          rows 0, n, 2n, ...     n warps prepare rows, each up to kRowsOfWarp at a time, and then
//   warp 1          rows 1, n + 1, ...     copy strips of all rows: 0, n, 2n, ... and 1, n + 1, ...
//   ...
//   last but two    blocks at hand         takes blocks while rows are prepared
//   last but one    works of executors
//   last            the next batch         reads lines and lists changes while the others write
//
// A row may be changed by two updates, at two ids. What is unusual is left to write_batch: a row that is
// changed otherwise, an update without rows, a deletion that makes a new version, short memory, and a row of
// so many entries that all warps are to copy it, once for all of its changes.
//
//   few_rows.hpp       what a batch of few changes has in shared memory
//   list_few.hpp       its changes, from updates
//   find_in_rows.hpp   where ids are in rows
//   prepare_few.hpp    which changes have an effect, and memory for new versions
//   copy_strips.hpp    entries of new versions
//   write_few.hpp      ends of lifetimes, and new versions in their places
#pragma once

#if defined(MOTIFLUX_CHECKS_VERSIONS)
#include "motiflux/streaming/invariants.hpp"
#endif
#include "motiflux/streaming/shortcuts.hpp"
#include "motiflux/streaming/write_versions.hpp"

namespace motiflux::streaming {

inline constexpr std::uint32_t kMostFew = 64;
inline constexpr std::uint32_t kRowsOfWarp = 8;  // that it looks up at a time
// Rows of more entries than kMostOfWarp are written by all warps together. A strip of a row is copied by one
// warp. Of a version, so many ended entries are known as kMostEnded.
#if defined(MOTIFLUX_CHECKS_VERSIONS)
inline constexpr std::uint32_t kMostOfWarp = 6, kStrip = 2, kMostEnded = 2;  // so that tests have all
inline constexpr std::uint32_t kSlots = 2;
#else
inline constexpr std::uint32_t kMostOfWarp = 4096, kStrip = 64, kMostEnded = view::EndedEntries::kMost;
inline constexpr std::uint32_t kSlots = 1024;  // of rows, to find equal ones
#endif
static_assert(kMostEnded <= view::EndedEntries::kMost && kMostOfWarp < view::EndedEntries::kUnknown);

// Of a row's change: no other one of the row.
inline constexpr std::uint32_t kNoChange = ~std::uint32_t{0};

// The newest version of a row before its changes, and what becomes of its entries in the next one.
struct VersionBefore {
  std::uint64_t first;
  std::uint32_t clean_until;
  std::uint32_t ended_before;  // entries whose lifetime has an end
  std::uint32_t ended;         // the same, with those that end before the new version begins
  std::uint32_t known;         // how many of them are known; fewer: none
  std::uint32_t less[2];       // entries before what the row's changes insert; kNoEntry: nothing
  std::uint32_t leaving;       // the entry that ends in the new version, or kNoEntry; its end there
  std::uint32_t leaves;
  view::EndedEntries at;  // the ended ones

  MOTIFLUX_DEVICE bool knows_ended() const { return known == ended; }

  // Whether an entry lives on, and how many before it do; the ended ones are known.
  MOTIFLUX_DEVICE bool lives(std::uint32_t entry, std::uint32_t& before) const {
    bool found = true;
    before = entry;
    for (std::uint32_t number = 0; number < ended; ++number) {
      const std::uint32_t other = at.entries[number];
      before -= other < entry ? 1 : 0;
      found = found && other != entry;
    }
    return found;
  }

  // What the changes insert before an entry.
  MOTIFLUX_DEVICE std::uint32_t inserted_before(std::uint32_t entry) const {
    return (entry >= less[0] ? 1 : 0) + (entry >= less[1] ? 1 : 0);
  }

  // The end in the new version of an entry that lives on.
  MOTIFLUX_DEVICE std::uint32_t end_of(std::uint32_t entry) const {
    return entry == leaving ? leaves : view::Life::kForever;
  }

  // Has an entry end before the new version begins.
  MOTIFLUX_DEVICE void end(std::uint32_t entry) {
    if (knows_ended() && kKnowsEnded && ended < kMostEnded) {
      at.entries[ended] = static_cast<std::uint16_t>(entry);
      ++known;
    }
    ++ended;
  }
};

// Updates whose changes are few, and these changes, in shared memory.
struct FewChanges {
  std::uint32_t updates;  // 0: there are none
  std::uint32_t count;
  std::uint32_t failed, too_long;  // as of a batch
  std::uint32_t pairs;             // whether a row may have two changes
  std::uint64_t keys[kMostFew];
  std::uint32_t update_of[kMostFew];  // as BatchOf::update_of
  std::uint32_t other_of[kMostFew];   // the other change of the row, or kNoChange
  Update updates_of_batch[32];
};

// What is known of their rows when these are prepared.
struct FewRows {
  VersionBefore before[kMostFew];
  std::uint32_t strips[kMostFew];  // that are to be copied for the new version
  std::uint32_t left[kMostFew];    // parts of the new version that are to be written
};

// A batch whose changes are few, as each thread has it: `few`, what is known of its
// rows, and arrays of a larger batch.
template <class Batch>
struct FewBatch {
  std::uint64_t first;
  std::uint32_t updates, changes, rows, pairs;
  std::uint32_t &failed, &too_long;
  std::uint64_t* keys;
  std::uint32_t *update_of, *states, *row_of, *inserted, *newest, *entries;
  std::uint32_t *other_of, *strips, *left;
  VersionBefore* before;
  WrittenRow* written;
  StepTimes* times;

  // `first`: the moment of the first update.
  MOTIFLUX_DEVICE FewBatch(FewChanges& few, FewRows& of_rows, Batch& batch, std::uint64_t first,
                           StepTimes* times)
      : first(first),
        updates(few.updates),
        changes(few.count),
        rows(few.count),
        pairs(few.pairs),
        failed(few.failed),
        too_long(few.too_long),
        keys(few.keys),
        update_of(few.update_of),
        states(batch.states),
        row_of(batch.row_of),
        inserted(batch.inserted),
        newest(batch.newest),
        entries(batch.entries),
        other_of(few.other_of),
        strips(of_rows.strips),
        left(of_rows.left),
        before(of_rows.before),
        written(batch.written),
        times(times) {}

  MOTIFLUX_DEVICE std::uint64_t moment(std::uint32_t change) const {
    return first + (update_of[change] & ~Batch::kFirstPlace);
  }
  MOTIFLUX_DEVICE bool is_effective(std::uint32_t change, std::uint32_t inserts) const {
    return (states[change] & (kEffective | kInserts)) == (kEffective | inserts);
  }

  // The second change of a change's row, or kNoChange; and whether it is that one: then it is written with
  // the first.
  MOTIFLUX_DEVICE std::uint32_t second_of(std::uint32_t change) const {
    const std::uint32_t other = other_of[change];
    return other < changes && other > change ? other : kNoChange;
  }
  MOTIFLUX_DEVICE bool is_second(std::uint32_t change) const { return other_of[change] < change; }

  static constexpr std::uint32_t kFirstPlace = Batch::kFirstPlace;
};

namespace detail {

// The lives of a version of so many entries.
MOTIFLUX_DEVICE view::Life* lives_of(view::Version& version, std::uint32_t size) {
  return reinterpret_cast<view::Life*>(version.ids() + size + size % 2);
}

// The change that a lane has by number, and whether it has one that is the first of its row: changes `first`,
// `first` + `step` and so on are those of the lane's warp.
template <class Batch>
MOTIFLUX_DEVICE bool has_change(const Batch& batch, std::uint32_t first, std::uint32_t step,
                                std::uint32_t number, std::uint32_t& change) {
  change = first + number * step;
  return number < kRowsOfWarp && change < batch.changes && !batch.is_second(change);
}

}  // namespace detail

}  // namespace motiflux::streaming
