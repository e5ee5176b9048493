// Writing the rows of a batch: ends of lifetimes in place, and new versions.
//
// Long rows are copied in strips (copy_long_rows.hpp). The entries of all other old versions, each followed
// by a mark of its end, are one sequence. A team copies as many of them at a time as it has threads:
//
//   old       2 5 9 |   4 |   |            three rows, the last one had no version
//   survives  1 0 1 .   1 .   .            the 5 has an end before the new version begins
//   inserted  7     |   5 |   3 |
//   new       2 7 9     4 5     3          an entry, or the mark, writes what is inserted before it
//
// The place of an entry: the survivors of its row before it, by a prefix sum, and the insertions of its row
// before it, by a bisection.
#pragma once

#include "motiflux/streaming/kept_blocks.hpp"
#include "motiflux/streaming/list_strips.hpp"

namespace motiflux::streaming {

namespace detail {

// Ends the lifetimes of edges that were there before the batch, in the old versions or in the new ones.
template <class Team, class Batch>
MOTIFLUX_DEVICE void end_lives(const Team& team, const StreamGraph& graph, const Batch& batch,
                               bool in_fresh) {
  for_each(team, batch.changes, [&](std::uint32_t i) {
    if ((batch.states[i] & kEndsOld) == 0) return;
    const WrittenRow& row = batch.written[batch.row_of[i]];
    const std::uint64_t moment = batch.moment(i);
    if ((moment >= row.from) != in_fresh) return;
    view::Version& version = *graph.version(in_fresh ? row.fresh : row.old);
    std::uint32_t entry = batch.entries[i];
    if (in_fresh) entry = find_living(version, static_cast<std::uint32_t>(batch.keys[i]));
    MOTIFLUX_ASSERT(entry != kNoEntry);
    device::device_wide(version.lives()[entry].last)
        .store(static_cast<std::uint32_t>(moment - version.first), device::Order::kRelaxed);
  });
}

// Counts the ends in the header of an old version.
MOTIFLUX_DEVICE void note_ends(const StreamGraph& graph, const WrittenRow& row) {
  if (row.old_ended == 0) return;
  view::Version& version = *graph.version(row.old);
  version.ended += row.old_ended;
  version.at.entries[0] = view::EndedEntries::kUnknown;
  const auto until = static_cast<std::uint32_t>(row.old_ends - version.first);
  if (until < version.clean_until)
    device::device_wide(version.clean_until).store(until, device::Order::kRelaxed);
}

template <class Batch>
MOTIFLUX_DEVICE void write_header(const StreamGraph& graph, const Batch& batch, const WrittenRow& row) {
  view::Version& version = *graph.version(row.fresh);
  std::uint64_t begun = row.from;
  for (std::uint32_t i = 0; i < row.inserted; ++i) {
    const std::uint64_t moment = batch.moment(batch.inserted[row.first_inserted + i]);
    if (moment > begun) begun = moment;
  }
  version.size = row.fresh_size;
  version.first = row.from;
  version.clean_from = static_cast<std::uint32_t>(begun - row.from);
  version.clean_until =
      row.ended != 0 ? static_cast<std::uint32_t>(row.ends - row.from) : view::Life::kForever;
  version.row = row.row;
  version.ended = row.ended;
  version.at.entries[0] = view::EndedEntries::kUnknown;  // if there are any
}

// The insertions of a row before an id.
template <class Batch>
MOTIFLUX_DEVICE std::uint32_t inserted_before(const Batch& batch, const WrittenRow& row, std::uint32_t id) {
  std::uint32_t first = 0, last = row.inserted;
  while (first < last) {
    const std::uint32_t middle = first + (last - first) / 2;
    if (static_cast<std::uint32_t>(batch.keys[batch.inserted[row.first_inserted + middle]]) < id)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

// An inserted entry.
template <class Batch>
MOTIFLUX_DEVICE void write_inserted(const StreamGraph& graph, const Batch& batch, const WrittenRow& row,
                                    std::uint32_t change, std::uint32_t position) {
  view::Version& version = *graph.version(row.fresh);
  version.ids()[position] = static_cast<std::uint32_t>(batch.keys[change]);
  version.lives()[position] = life_of_inserted(batch, row, change);
}

// The renewed row that an entry of the sequence belongs to.
template <class Batch>
MOTIFLUX_DEVICE std::uint32_t row_of_entry(const Batch& batch, std::uint32_t entry) {
  std::uint32_t first = 0, last = batch.rows;
  while (last - first > 1) {
    const std::uint32_t middle = first + (last - first) / 2;
    if (batch.written[middle].begin <= entry)
      first = middle;
    else
      last = middle;
  }
  return first;
}

// Writes an entry of the sequence; `place`: the survivors of its row before it.
template <class Batch>
MOTIFLUX_DEVICE void write_entry(const StreamGraph& graph, const Batch& batch, const WrittenRow& row,
                                 std::uint32_t entry, bool survives, std::uint32_t place) {
  const std::uint32_t* ids = row.old != kNoBlock ? graph.version(row.old)->ids() : nullptr;
  std::uint32_t inserted = entry > 0 ? inserted_before(batch, row, ids[entry - 1]) : 0;
  const std::uint32_t through = entry < row.old_size ? inserted_before(batch, row, ids[entry]) : row.inserted;
  for (; inserted < through; ++inserted)
    write_inserted(graph, batch, row, batch.inserted[row.first_inserted + inserted], place + inserted);
  if (!survives) return;
  view::Version& version = *graph.version(row.fresh);
  version.ids()[place + through] = ids[entry];
  version.lives()[place + through] = {0, view::Life::kForever};
}

// `strips`: whether some rows are copied in strips, and not here.
template <class Team, class Batch>
MOTIFLUX_DEVICE void copy_entries(const Team& team, const StreamGraph& graph, Batch& batch, bool strips) {
  const std::uint32_t all = add_up(
      team, batch.rows,
      [&](std::uint32_t i) {
        const WrittenRow& row = batch.written[i];
        return is_renewed(row) && !(strips && is_in_strips(graph, row)) ? row.old_size + 1 : 0u;
      },
      [&](std::uint32_t i, std::uint32_t before) { batch.written[i].begin = before; });
  // A thread has several entries in hand, so that it waits for all of them at once.
  constexpr std::uint32_t kAtOnce = 4;
  std::uint32_t survived = 0;
  for (std::uint32_t first = 0; first < all; first += kAtOnce * team.threads()) {
    std::uint32_t rows[kAtOnce], entries[kAtOnce];
    bool survive[kAtOnce];
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      const std::uint32_t at = first + k * team.threads() + team.thread();
      rows[k] = at < all ? row_of_entry(batch, at) : 0;
      const WrittenRow& row = batch.written[rows[k]];
      entries[k] = at - row.begin;
      survive[k] = at < all && entries[k] < row.old_size &&
                   graph.version(row.old)->lives()[entries[k]].last == view::Life::kForever;
    }
    for (std::uint32_t k = 0; k < kAtOnce && first + k * team.threads() < all; ++k) {
      WrittenRow& row = batch.written[rows[k]];
      const bool is_there = first + k * team.threads() + team.thread() < all;
      std::uint32_t total;
      const std::uint32_t before = survived + team.sums_before(survive[k] ? 1 : 0, total);
      if (is_there && entries[k] == 0) row.base = before;
      team.sync();
      if (is_there) write_entry(graph, batch, row, entries[k], survive[k], before - row.base);
      survived += total;
    }
  }
  team.sync();
}

// Copies all rows; false if the kernel ends.
template <class Team, class Lanes, class Batch, class Ask>
MOTIFLUX_DEVICE bool copy_rows(const Team& team, const Lanes& lanes, const StreamGraph& graph, Batch& batch,
                               const Ask& ask) {
  constexpr std::uint32_t kLongestWait = 128;
  const std::uint32_t strips = list_strips(team, graph, batch);
  if (strips != 0) ask(team, strips);
  copy_entries(team, graph, batch, strips != 0);
  if (strips == 0) return true;
#if defined(MOTIFLUX_CHECKS_VERSIONS)
  if (strips % 2 != 0)
    for (std::uint32_t turn = 0; turn < 64; ++turn) __nanosleep(1000);  // so that tests have others copy, too
#endif
  copy_strips(lanes, graph);
  const auto done = device::device_wide(graph.copied->done);
  return wait_until(
      team, graph.stages, batch, [&] { return done.load(device::Order::kAcquire) == strips; }, kLongestWait);
}

// Of WrittenRow::slab_row: the slab is a new one, which the row's list gets with the version in it.
inline constexpr std::uint32_t kFirstSlab = view::kRowsOfSlab;

template <class Kept>
MOTIFLUX_DEVICE bool reserve_slab_row(const StreamGraph& graph, WrittenRow& row, bool in_head, Kept& kept,
                                      Uncounted& taken) {
  if (in_head) return true;
  if (has_no_slabs(graph, row.row)) {
    row.slab = kept.take_slab(graph.pool, taken);
    row.slab_row = kFirstSlab;
    return row.slab != kNoBlock;
  }
  SlabRow found;
  if (!take_slab_row(graph, row.row, found)) return false;
  row.slab = found.slab;
  row.slab_row = found.number;
  return true;
}

// `in_head`: whether there is room in the row's head for the old version.
template <class Kept>
MOTIFLUX_DEVICE bool reserve(const StreamGraph& graph, WrittenRow& row, bool in_head, Kept& kept) {
  if (!is_renewed(row)) return true;
  Uncounted taken;
  row.fresh = kept.take_version(graph.pool, view::bytes_of_version(row.fresh_size), taken);
  bool found = row.fresh != kNoBlock;
  if (found && row.old != kNoBlock) found = reserve_slab_row(graph, row, in_head, kept, taken);
  kept.count(taken);
  return found;
}

MOTIFLUX_DEVICE void give_back(const StreamGraph& graph, const WrittenRow& row) {
  if (row.fresh != kNoBlock) give(graph.pool, row.fresh, view::bytes_of_version(row.fresh_size));
  if (row.slab == kNoBlock) return;
  if (row.slab_row == kFirstSlab)
    give(graph.pool, row.slab, sizeof(view::Slab));
  else
    clear_slab_row(graph, row.row, {row.slab, row.slab_row});
}

// Puts the old version of a row where readers find it once there is a newer one. `next`: the next version
// that the same update cut.
MOTIFLUX_DEVICE void install_old(const StreamGraph& graph, const WrittenRow& row, std::uint32_t next) {
  if (row.old == kNoBlock) return;
  graph.version(row.old)->ended = row.slab;  // for the collector: readers do not look at it
  if (row.slab == kNoBlock) {
    write_in_head(graph, row.row, row.old, row.from - 1);
  } else if (row.slab_row == kFirstSlab) {
    view::Slab& slab = *graph.pool.at<view::Slab>(row.slab);
    device::device_wide(slab.last[0]).store(row.from - 1, device::Order::kRelaxed);
    device::device_wide(slab.versions[0]).store(row.old, device::Order::kRelaxed);
    device::device_wide(slab.first[0]).store(graph.version(row.old)->first, device::Order::kRelaxed);
    give_first_slab(graph, row.row, row.slab);
  } else {
    write_slab_row(graph, {row.slab, row.slab_row}, row.old, row.from - 1);
  }
  link_of(graph.pool, row.old).store(next, device::Order::kRelaxed);
}

// Puts the new version, which is written, in the place of the old one, which is installed.
MOTIFLUX_DEVICE void install_new(const StreamGraph& graph, const WrittenRow& row) {
  device::device_wide(graph.versions.heads[row.row].newest)
      .store(row.from << 32 | row.fresh, device::Order::kRelease);
}

}  // namespace detail

// Nobody helps to copy long rows.
struct AskNobody {
  template <class Team>
  MOTIFLUX_DEVICE void operator()(const Team&, std::uint32_t) const {}
};

enum class Outcome {
  kWritten,
  kShort,    // memory is; nothing has changed
  kStopped,  // the kernel ends
};

// Writes a batch that was prepared.
//
// `lanes`: those of a group of the team's threads. ask(team, strips) may have others call `copy_strips`.
//
// Threads that take memory at the same time may find none while one of them has a large block in hand, to cut
// it. With `one_by_one` a single thread takes all: what it does not find is not there.
template <class Team, class Lanes, class Batch, class Kept, class Ask>
MOTIFLUX_DEVICE_CALL Outcome write_batch(const Team& team, const Lanes& lanes, const StreamGraph& graph,
                                         Batch& batch, Kept& kept, bool one_by_one, const Ask& ask) {
  const auto reserve = [&](std::uint32_t i) {
    if (!detail::reserve(graph, batch.written[i], has_room_in_head(graph, batch.written[i].row), kept))
      device::device_wide(batch.failed).store(1, device::Order::kRelaxed);
  };
  if (!one_by_one)
    detail::for_each(team, batch.rows, reserve);
  else if (team.thread() == 0)
    for (std::uint32_t i = 0; i < batch.rows && batch.failed == 0; ++i) reserve(i);
  team.sync();
  if (batch.failed != 0) {
    detail::for_each(team, batch.rows, [&](std::uint32_t i) { detail::give_back(graph, batch.written[i]); });
    team.sync();
    return Outcome::kShort;
  }
  end_step(team, batch, Step::kReserve);
  detail::end_lives(team, graph, batch, false);
  detail::for_each(team, batch.rows, [&](std::uint32_t i) {
    detail::note_ends(graph, batch.written[i]);
    if (detail::is_renewed(batch.written[i])) detail::write_header(graph, batch, batch.written[i]);
  });
  team.sync();
  end_step(team, batch, Step::kHeaders);
  if (!detail::copy_rows(team, lanes, graph, batch, ask)) return Outcome::kStopped;
  end_step(team, batch, Step::kCopy);
  detail::end_lives(team, graph, batch, true);
  team.sync();
  detail::for_each(team, batch.rows, [&](std::uint32_t i) {
    const WrittenRow& row = batch.written[i];
    if (!detail::is_renewed(row)) return;
    std::uint32_t next = kNoBlock;
    if (row.old != kNoBlock)
      next = device::device_wide(graph.stages.slot(row.from).cut).exchange(row.old, device::Order::kRelaxed);
    detail::install_old(graph, row, next);
    detail::install_new(graph, row);
  });
  team.sync();
  end_step(team, batch, Step::kInstall);
  return Outcome::kWritten;
}

}  // namespace motiflux::streaming
