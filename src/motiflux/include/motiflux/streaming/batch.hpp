// The changes of rows that a batch of updates makes: sorted, judged, and put together by row.
//
//   updates            + (3, 7)     - (3, 5)     + (3, 7)
//   changes, sorted    3: 5 -, 7 +, 7 +      5: 3 -      7: 3 +, 3 +         by row, neighbour, moment
//   judged             3: 5 -, 7 +, no-op    ...
//   rows               3             5       7                               what is to be written of each
//
// A team of threads calls each function; arrays are in memory that all its threads see.
#pragma once

#include "motiflux/streaming/graph.hpp"

namespace motiflux::streaming {

inline constexpr std::uint32_t kMostUpdates = 64;
inline constexpr std::uint32_t kMostChanges = 256;  // a power of two; an update has at most that many places

// Bits of a change's state.
inline constexpr std::uint32_t kInserts = 1;
inline constexpr std::uint32_t kEffective = 2;
inline constexpr std::uint32_t kEndsOld = 4;  // a deletion of an edge that was there before the batch

// A row that a batch changes.
struct WrittenRow {
  std::uint64_t from;      // the first moment of its new version; view::kNoEnd: it gets none
  std::uint64_t old_ends;  // the first deletion in the old version, or view::kNoEnd
  std::uint64_t ends;      // the first deletion in the new version, or view::kNoEnd
  std::uint32_t row;
  std::uint32_t first_change, end_change;
  std::uint32_t old, fresh;  // blocks of versions
  std::uint32_t old_size, fresh_size;
  std::uint32_t old_ended, ended;  // lifetimes that get an end, in the old and in the new version
  std::uint32_t first_inserted, inserted;
  std::uint32_t slab, slab_row;  // for the old version
  std::uint32_t begin;           // of the copied entries of all rows, those of this one
  std::uint32_t base;            // of these, how many survive before the row's
  std::uint32_t unused;
};

struct Batch {
  std::uint64_t first;  // the moment of the first update
  std::uint32_t updates, changes, rows, failed;
  std::uint32_t decision, unused;    // of the first thread, for all
  std::uint64_t keys[kMostChanges];  // row, neighbour
  std::uint32_t update_of[kMostChanges];
  std::uint32_t states[kMostChanges];
  std::uint32_t row_of[kMostChanges];    // into `written`
  std::uint32_t inserted[kMostChanges];  // the changes that are effective insertions, in their order
  WrittenRow written[kMostChanges];

  MOTIFLUX_DEVICE std::uint64_t moment(std::uint32_t change) const {
    return first + (update_of[change] & ~kFirstPlace);
  }
  MOTIFLUX_DEVICE bool is_effective(std::uint32_t change, std::uint32_t inserts) const {
    return (states[change] & (kEffective | kInserts)) == (kEffective | inserts);
  }

  // In update_of: the change tells the effect of its update.
  static constexpr std::uint32_t kFirstPlace = std::uint32_t{1} << 31;
};

namespace detail {

// Calls take(i, sum of the values before i) for each number below `count`; returns the sum of all.
template <class Team, class Value, class Take>
MOTIFLUX_DEVICE std::uint32_t add_up(const Team& team, std::uint32_t count, Value&& value, Take&& take) {
  std::uint32_t sum = 0;
  for (std::uint32_t first = 0; first < count; first += team.threads()) {
    const std::uint32_t i = first + team.thread();
    std::uint32_t total;
    const std::uint32_t before = team.sums_before(i < count ? value(i) : 0, total);
    if (i < count) take(i, sum + before);
    sum += total;
  }
  team.sync();
  return sum;
}

template <class Team, class Visit>
MOTIFLUX_DEVICE void for_each(const Team& team, std::uint32_t count, Visit&& visit) {
  for (std::uint32_t i = team.thread(); i < count; i += team.threads()) visit(i);
}

// The rows that an update is written to.
MOTIFLUX_DEVICE std::uint32_t places_of(const StreamGraph& graph, const Update& update) {
  return graph.classes[update.of + 1] - graph.classes[update.of];
}

// The changes of a batch's updates, in the order of the updates.
template <class Team>
MOTIFLUX_DEVICE void list_changes(const Team& team, const StreamGraph& graph, const Update* updates,
                                  Batch& batch) {
  const std::uint32_t changes = add_up(
      team, batch.updates, [&](std::uint32_t i) { return places_of(graph, updates[i]); },
      [&](std::uint32_t i, std::uint32_t at) {
        const Update update = updates[i];
        UpdateSlot& slot = graph.stages.slot(batch.first + i);
        slot.cut = kNoBlock;
        slot.effect = static_cast<std::uint32_t>(Effect::kNone);
        const std::uint32_t begin = graph.classes[update.of], end = graph.classes[update.of + 1];
        for (std::uint32_t number = begin; number < end; ++number, ++at) {
          const Place place = graph.places[number];
          const std::uint32_t own = place.of_target != 0 ? update.target : update.source;
          const std::uint32_t other = place.of_target != 0 ? update.source : update.target;
          batch.keys[at] = std::uint64_t{place.first_row + own} << 32 | other;
          batch.update_of[at] = i | (number == begin ? Batch::kFirstPlace : 0);
          batch.states[at] = update.inserts != 0 ? kInserts : 0;
        }
      });
  MOTIFLUX_ASSERT(changes <= kMostChanges);
  if (team.thread() == 0) batch.changes = changes;
  team.sync();
}

MOTIFLUX_DEVICE bool is_before(const Batch& batch, std::uint32_t one, std::uint32_t other) {
  if (batch.keys[one] != batch.keys[other]) return batch.keys[one] < batch.keys[other];
  return (batch.update_of[one] & ~Batch::kFirstPlace) < (batch.update_of[other] & ~Batch::kFirstPlace);
}

template <class T>
MOTIFLUX_DEVICE void swap_words(T& one, T& other) {
  const T kept = one;
  one = other;
  other = kept;
}

// Bitonic, for any number of changes: missing ones would be at the end, where they stay.
template <class Team>
MOTIFLUX_DEVICE void sort_changes(const Team& team, Batch& batch) {
  std::uint32_t all = 1;
  while (all < batch.changes) all *= 2;
  for (std::uint32_t length = 2; length <= all; length *= 2)
    for (std::uint32_t step = length / 2; step > 0; step /= 2) {
      // The first step of a merge compares with the mirrored place, so that all runs ascend.
      const std::uint32_t mask = step == length / 2 ? length - 1 : step;
      for_each(team, all, [&](std::uint32_t i) {
        const std::uint32_t other = i ^ mask;
        if (other <= i || other >= batch.changes || !is_before(batch, other, i)) return;
        swap_words(batch.keys[i], batch.keys[other]);
        swap_words(batch.update_of[i], batch.update_of[other]);
        swap_words(batch.states[i], batch.states[other]);
      });
      team.sync();
    }
}

// Follows the changes of one edge in one row, from the first on.
MOTIFLUX_DEVICE void judge_edge(const StreamGraph& graph, Batch& batch, std::uint32_t first) {
  const std::uint64_t key = batch.keys[first];
  const std::uint32_t newest = newest_of(graph, static_cast<std::uint32_t>(key >> 32));
  bool lives =
      newest != kNoBlock && find_living(*graph.version(newest), static_cast<std::uint32_t>(key)) != kNoEntry;
  bool is_old = lives;
  for (std::uint32_t change = first; change < batch.changes && batch.keys[change] == key; ++change) {
    const bool inserts = (batch.states[change] & kInserts) != 0;
    const bool effective = inserts != lives;
    lives = inserts;
    if (effective) batch.states[change] |= kEffective | (is_old ? kEndsOld : 0);
    if (effective) is_old = false;
    if ((batch.update_of[change] & Batch::kFirstPlace) == 0 || !effective) continue;
    graph.stages.slot(batch.moment(change)).effect =
        static_cast<std::uint32_t>(inserts ? Effect::kAppears : Effect::kVanishes);
  }
}

// What is to be written of a row.
MOTIFLUX_DEVICE void plan_row(const StreamGraph& graph, Batch& batch, WrittenRow& row) {
  row.from = row.old_ends = row.ends = view::kNoEnd;
  row.old = newest_of(graph, row.row);
  row.fresh = row.slab = kNoBlock;
  row.inserted = row.old_ended = row.ended = 0;
  const std::uint64_t began = row.old != kNoBlock ? graph.version(row.old)->first : 0;
  for (std::uint32_t change = row.first_change; change < row.end_change; ++change) {
    if ((batch.states[change] & kEffective) == 0) continue;
    const std::uint64_t moment = batch.moment(change);
    const bool inserts = (batch.states[change] & kInserts) != 0;
    row.inserted += inserts ? 1 : 0;
    if ((inserts || moment - began > graph.farthest_end) && moment < row.from) row.from = moment;
  }
  for (std::uint32_t change = row.first_change; change < row.end_change; ++change) {
    if (!batch.is_effective(change, 0)) continue;
    const std::uint64_t moment = batch.moment(change);
    std::uint64_t& ends = moment < row.from ? row.old_ends : row.ends;
    if (moment < ends) ends = moment;
    ++(moment < row.from ? row.old_ended : row.ended);
  }
  row.old_size = row.old != kNoBlock ? graph.version(row.old)->size : 0;
  const std::uint32_t ended = row.old != kNoBlock ? graph.version(row.old)->ended : 0;
  row.fresh_size = row.old_size - ended - row.old_ended + row.inserted;
}

}  // namespace detail

// How many of some updates are a batch: at least the first one, whose class has at most kMostChanges places.
MOTIFLUX_DEVICE std::uint32_t fit_batch(const StreamGraph& graph, const Update* updates,
                                        std::uint32_t count) {
  if (count > kMostUpdates) count = kMostUpdates;
  if (count > graph.stages.slot_count) count = graph.stages.slot_count;
  std::uint32_t fitting = 0, changes = 0;
  for (; fitting < count; ++fitting) {
    changes += detail::places_of(graph, updates[fitting]);
    if (changes > kMostChanges) break;
  }
  return fitting;
}

// Fills a batch from updates whose first one has the moment `first`. Nothing of the graph is changed, but
// slots of the updates.
template <class Team>
MOTIFLUX_DEVICE void prepare_batch(const Team& team, const StreamGraph& graph, const Update* updates,
                                   std::uint32_t count, std::uint64_t first, Batch& batch) {
  team.sync();  // the batch before is written
  if (team.thread() == 0) {
    batch.first = first;
    batch.updates = count;
    batch.failed = 0;
  }
  team.sync();
  detail::list_changes(team, graph, updates, batch);
  detail::sort_changes(team, batch);
  detail::for_each(team, batch.changes, [&](std::uint32_t i) {
    if (i == 0 || batch.keys[i - 1] != batch.keys[i]) detail::judge_edge(graph, batch, i);
  });
  team.sync();
  const auto starts_row = [&](std::uint32_t i) {
    return i == 0 || batch.keys[i - 1] >> 32 != batch.keys[i] >> 32 ? 1u : 0u;
  };
  const std::uint32_t rows =
      detail::add_up(team, batch.changes, starts_row, [&](std::uint32_t i, std::uint32_t before) {
        batch.row_of[i] = before + starts_row(i) - 1;
        if (starts_row(i) != 0) {
          batch.written[before].row = static_cast<std::uint32_t>(batch.keys[i] >> 32);
          batch.written[before].first_change = i;
        }
      });
  if (team.thread() == 0) batch.rows = rows;
  team.sync();
  detail::add_up(
      team, batch.changes, [&](std::uint32_t i) { return batch.is_effective(i, kInserts) ? 1u : 0u; },
      [&](std::uint32_t i, std::uint32_t before) {
        if (batch.is_effective(i, kInserts)) batch.inserted[before] = i;
        if (starts_row(i) != 0) batch.written[batch.row_of[i]].first_inserted = before;
      });
  detail::for_each(team, batch.rows, [&](std::uint32_t i) {
    batch.written[i].end_change = i + 1 < rows ? batch.written[i + 1].first_change : batch.changes;
    detail::plan_row(graph, batch, batch.written[i]);
  });
  team.sync();
}

}  // namespace motiflux::streaming
