// The changes of rows that a batch of updates makes: sorted, judged, and put together by row.
//
//   updates            + (3, 7)     - (3, 5)     + (3, 7)
//   changes, sorted    3: 5 -, 7 +, 7 +      5: 3 -      7: 3 +, 3 +         by row, neighbour, moment
//   judged             3: 5 -, 7 +, no-op    ...
//   rows               3             5       7                               what is to be written of each
//
// A team of threads calls each function; arrays are in memory that all its threads see.
#pragma once

#include "motiflux/device/backoff.hpp"
#include "motiflux/streaming/graph.hpp"
#include "motiflux/streaming/stage_times.hpp"

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
  std::uint32_t slab, slab_row;  // for the old version; no slab: it is in the head
  std::uint32_t begin;           // of the copied entries of all rows, those of this one
  std::uint32_t base;            // of these, how many survive before the row's
  std::uint32_t unused;
};

// `most`: how many changes it has room for, a power of two.
template <std::uint32_t most>
struct BatchOf {
  std::uint64_t first;  // the moment of the first update
  std::uint32_t updates, changes, rows, failed;
  std::uint32_t decision;    // of the first thread, for all
  std::uint32_t too_long;    // whether a row would get more entries than searches have room for
  std::uint64_t keys[most];  // row, neighbour
  std::uint32_t update_of[most];
  std::uint32_t states[most];
  std::uint32_t row_of[most];    // into `written`
  std::uint32_t inserted[most];  // the changes that are effective insertions, in their order
  std::uint32_t newest[most];    // of a row's first change: the block of the row's version before
  std::uint32_t entries[most];   // of a change that ends what was there: its entry in that version
  WrittenRow written[most];
  StepTimes* times;  // where steps are measured

  MOTIFLUX_DEVICE std::uint32_t room() const { return most; }
  MOTIFLUX_DEVICE std::uint64_t moment(std::uint32_t change) const {
    return first + (update_of[change] & ~kFirstPlace);
  }
  MOTIFLUX_DEVICE bool is_effective(std::uint32_t change, std::uint32_t inserts) const {
    return (states[change] & (kEffective | kInserts)) == (kEffective | inserts);
  }

  // In update_of: the change tells the effect of its update.
  static constexpr std::uint32_t kFirstPlace = std::uint32_t{1} << 31;
};

using Batch = BatchOf<kMostChanges>;

// A batch whose arrays are in the memory of one of several sizes: its functions are compiled once.
struct BatchAnywhere {
  std::uint64_t first;
  std::uint32_t updates, changes, rows, failed;
  std::uint32_t decision, too_long;
  std::uint64_t* keys;
  std::uint32_t *update_of, *states, *row_of, *inserted, *newest, *entries;
  WrittenRow* written;
  StepTimes* times;
  std::uint32_t most;

  // Has it use the arrays of a batch; called by one thread.
  template <std::uint32_t size>
  MOTIFLUX_DEVICE void use(BatchOf<size>& memory) {
    keys = memory.keys;
    update_of = memory.update_of;
    states = memory.states;
    row_of = memory.row_of;
    inserted = memory.inserted;
    newest = memory.newest;
    entries = memory.entries;
    written = memory.written;
    most = size;
  }

  MOTIFLUX_DEVICE std::uint32_t room() const { return most; }
  MOTIFLUX_DEVICE std::uint64_t moment(std::uint32_t change) const {
    return first + (update_of[change] & ~kFirstPlace);
  }
  MOTIFLUX_DEVICE bool is_effective(std::uint32_t change, std::uint32_t inserts) const {
    return (states[change] & (kEffective | kInserts)) == (kEffective | inserts);
  }

  static constexpr std::uint32_t kFirstPlace = Batch::kFirstPlace;
};

// Called at the end of a step by all threads.
template <class Team, class Batch>
MOTIFLUX_DEVICE void end_step(const Team& team, Batch& batch, Step step) {
#if defined(MOTIFLUX_STAGE_TIMES)
  if (team.thread() == 0) batch.times->end(step);
#else
  static_cast<void>(team), static_cast<void>(batch), static_cast<void>(step);
#endif
}

// Cycles at the begin of a step of a single warp, and its end, by the lanes of the warp.
MOTIFLUX_DEVICE std::uint64_t begin_step() {
#if defined(MOTIFLUX_STAGE_TIMES)
  return static_cast<std::uint64_t>(clock64());
#else
  return 0;
#endif
}

template <class Lanes, class Batch>
MOTIFLUX_DEVICE void end_step(const Lanes& lanes, Batch& batch, Step step, std::uint64_t begun) {
#if defined(MOTIFLUX_STAGE_TIMES)
  if (lanes.leads()) batch.times->end(step, begun);
#else
  static_cast<void>(lanes), static_cast<void>(batch), static_cast<void>(step), static_cast<void>(begun);
#endif
}

namespace detail {

// A decision of the team's first thread, in all threads.
template <class Team, class Decide, class Batch>
MOTIFLUX_DEVICE bool decide(const Team& team, Batch& batch, Decide&& holds) {
  team.sync();
  if (team.thread() == 0) batch.decision = holds() ? 1 : 0;
  team.sync();
  return batch.decision != 0;
}

// Waits until a condition holds; false if the kernel is to stop.
// `longest`: nanoseconds between looks.
template <class Team, class Holds, class Batch>
MOTIFLUX_DEVICE bool wait_until(const Team& team, const Stages& stages, Batch& batch, Holds&& holds,
                                std::uint32_t longest = 2048) {
  device::Backoff backoff(16, longest);
  return decide(team, batch, [&] {
    while (!holds()) {
      if (must_stop(stages)) return false;
      backoff.wait();
    }
    return true;
  });
}

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
template <class Team, class Batch>
MOTIFLUX_DEVICE void list_changes(const Team& team, const StreamGraph& graph, const Update* updates,
                                  Batch& batch) {
  const std::uint32_t changes = add_up(
      team, batch.updates, [&](std::uint32_t i) { return places_of(graph, updates[i]); },
      [&](std::uint32_t i, std::uint32_t at) {
        const Update update = updates[i];
        UpdateSlot& slot = graph.stages.slot(batch.first + i);
        slot.cut = kNoBlock;
        Effect effect = Effect::kNone;  // unless a row tells another
        if ((update.inserts & Update::kJudged) != 0)
          effect = update.is_insertion() ? Effect::kAppears : Effect::kVanishes;
        slot.effect = static_cast<std::uint32_t>(effect);
        const std::uint32_t begin = graph.classes[update.of], end = graph.classes[update.of + 1];
        for (std::uint32_t number = begin; number < end; ++number, ++at) {
          const Place place = graph.places[number];
          const std::uint32_t own = place.of_target != 0 ? update.target : update.source;
          const std::uint32_t other = place.of_target != 0 ? update.source : update.target;
          batch.keys[at] = std::uint64_t{place.first_row + own} << 32 | other;
          batch.update_of[at] = i | (number == begin ? Batch::kFirstPlace : 0);
          batch.states[at] = update.is_insertion() ? kInserts : 0;
        }
      });
  MOTIFLUX_ASSERT(changes <= batch.room());
  if (team.thread() == 0) batch.changes = changes;
  team.sync();
}

template <class Batch>
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
template <class Team, class Batch>
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

// Follows the changes of one edge in one row, from the first on. `newest`: the row's version before, with the
// edge at `entry`. Called by one thread.
template <class Batch>
MOTIFLUX_DEVICE void judge_edge(const StreamGraph& graph, Batch& batch, std::uint32_t first,
                                std::uint32_t newest, std::uint32_t entry) {
  const std::uint64_t key = batch.keys[first];
  batch.newest[first] = newest;
  bool lives = entry != kNoEntry, is_old = lives;
  for (std::uint32_t change = first; change < batch.changes && batch.keys[change] == key; ++change) {
    const bool inserts = (batch.states[change] & kInserts) != 0;
    const bool effective = inserts != lives;
    lives = inserts;
    if (effective) batch.states[change] |= kEffective | (is_old ? kEndsOld : 0);
    if (effective && is_old) batch.entries[change] = entry;
    if (effective) is_old = false;
    if ((batch.update_of[change] & Batch::kFirstPlace) == 0 || !effective) continue;
    graph.stages.slot(batch.moment(change)).effect =
        static_cast<std::uint32_t>(inserts ? Effect::kAppears : Effect::kVanishes);
  }
}

// Judges all edges. Few are looked up by a group of lanes each, in fewer steps; many by a thread each.
template <class Team, class Lanes, class Batch>
MOTIFLUX_DEVICE void judge_edges(const Team& team, const Lanes& lanes, const StreamGraph& graph,
                                 Batch& batch) {
  const auto is_first = [&](std::uint32_t i) { return i == 0 || batch.keys[i - 1] != batch.keys[i]; };
  const auto newest = [&](std::uint32_t i) {
    return newest_of(graph, static_cast<std::uint32_t>(batch.keys[i] >> 32));
  };
  const std::uint32_t groups = team.threads() / Lanes::kLanes;
  if (batch.changes <= 2 * groups) {
    for (std::uint32_t i = team.thread() / Lanes::kLanes; i < batch.changes; i += groups) {
      if (!is_first(i)) continue;
      const std::uint32_t block = newest(i), id = static_cast<std::uint32_t>(batch.keys[i]);
      const std::uint32_t entry =
          block != kNoBlock ? find_living(lanes, *graph.version(block), id) : kNoEntry;
      if (lanes.leads()) judge_edge(graph, batch, i, block, entry);
    }
  } else {
    for_each(team, batch.changes, [&](std::uint32_t i) {
      if (!is_first(i)) return;
      const std::uint32_t block = newest(i), id = static_cast<std::uint32_t>(batch.keys[i]);
      judge_edge(graph, batch, i, block,
                 block != kNoBlock ? find_living(*graph.version(block), id) : kNoEntry);
    });
  }
  team.sync();
}

// What is to be written of a row.
template <class Batch>
MOTIFLUX_DEVICE void plan_row(const StreamGraph& graph, Batch& batch, WrittenRow& row) {
  row.from = row.old_ends = row.ends = view::kNoEnd;
  row.old = batch.newest[row.first_change];
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
  if (row.from != view::kNoEnd && graph.most_entries != 0 && row.fresh_size > graph.most_entries)
    device::device_wide(batch.too_long).store(1, device::Order::kRelaxed);
}

}  // namespace detail

// How many of some updates are a batch of at most so many changes; 0 if the first one has more. Called by all
// lanes of a group.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t fit_batch(const Lanes& lanes, const StreamGraph& graph, const Update* updates,
                                        std::uint32_t count, std::uint32_t most) {
  if (count > kMostUpdates) count = kMostUpdates;
  if (count > graph.stages.slot_count) count = graph.stages.slot_count;
  std::uint32_t fitting = 0, changes = 0;
  for (std::uint32_t first = 0; first < count; first += Lanes::kLanes) {
    const std::uint32_t i = first + lanes.lane();
    const std::uint32_t places = i < count ? detail::places_of(graph, updates[i]) : 0;
    const std::uint32_t through = changes + lanes.sums_before(places) + places;
    const std::uint32_t fit = count_bits(lanes.ballot(i < count && through <= most));
    fitting += fit;
    if (fit < Lanes::kLanes) break;
    changes = lanes.broadcast(through, Lanes::kLanes - 1);
  }
  return fitting;
}

// Fills a batch from updates whose first one has the moment `first`. Nothing of the graph is changed, but
// slots of the updates.
template <class Team, class Lanes, class Batch>
MOTIFLUX_DEVICE_CALL void prepare_batch(const Team& team, const Lanes& lanes, const StreamGraph& graph,
                                        const Update* updates, std::uint32_t count, std::uint64_t first,
                                        Batch& batch) {
  team.sync();  // the batch before is written
  if (team.thread() == 0) {
    batch.first = first;
    batch.updates = count;
    batch.failed = batch.too_long = 0;
  }
  team.sync();
  detail::list_changes(team, graph, updates, batch);
  end_step(team, batch, Step::kList);
  detail::sort_changes(team, batch);
  end_step(team, batch, Step::kSort);
  detail::judge_edges(team, lanes, graph, batch);
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
  end_step(team, batch, Step::kJudge);
}

}  // namespace motiflux::streaming
