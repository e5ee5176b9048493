// Writing the rows of a batch: ends of lifetimes in place, and new versions.
//
// The entries of all old versions, each followed by a mark of its end, are one sequence. A team copies as
// many of them at a time as it has threads:
//
//   old       2 5 9 |   4 |   |            three rows, the last one had no version
//   survives  1 0 1 .   1 .   .            the 5 has an end before the new version begins
//   inserted  7     |   5 |   3 |
//   new       2 7 9     4 5     3          an entry, or the mark, writes what is inserted before it
//
// The place of an entry: the survivors of its row before it, by a prefix sum, and the insertions of its row
// before it, by a bisection.
#pragma once

#include "motiflux/streaming/batch.hpp"
#include "motiflux/streaming/slabs.hpp"

namespace motiflux::streaming {

namespace detail {

MOTIFLUX_DEVICE bool is_renewed(const WrittenRow& row) {
  return row.from != view::kNoEnd;
}

// Ends the lifetime of a living entry.
MOTIFLUX_DEVICE void end_life(view::Version& version, std::uint32_t id, std::uint64_t moment) {
  const std::uint32_t entry = find_living(version, id);
  MOTIFLUX_ASSERT(entry != kNoEntry);
  const auto last = static_cast<std::uint32_t>(moment - version.first);
  device::device_wide(version.lives()[entry].last).store(last, device::Order::kRelaxed);
}

// Ends the lifetimes of edges that were there before the batch, in the old versions or in the new ones.
template <class Team>
MOTIFLUX_DEVICE void end_lives(const Team& team, const StreamGraph& graph, const Batch& batch,
                               bool in_fresh) {
  for_each(team, batch.changes, [&](std::uint32_t i) {
    if ((batch.states[i] & kEndsOld) == 0) return;
    const WrittenRow& row = batch.written[batch.row_of[i]];
    const std::uint64_t moment = batch.moment(i);
    if ((moment >= row.from) != in_fresh) return;
    end_life(*graph.version(in_fresh ? row.fresh : row.old), static_cast<std::uint32_t>(batch.keys[i]),
             moment);
  });
}

// Counts the ends in the header of an old version.
MOTIFLUX_DEVICE void note_ends(const StreamGraph& graph, const WrittenRow& row) {
  if (row.old_ended == 0) return;
  view::Version& version = *graph.version(row.old);
  version.ended += row.old_ended;
  const auto until = static_cast<std::uint32_t>(row.old_ends - version.first);
  if (until < version.clean_until)
    device::device_wide(version.clean_until).store(until, device::Order::kRelaxed);
}

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
}

// The insertions of a row before an id.
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

// An inserted entry: it ends with the next effective change of its edge.
MOTIFLUX_DEVICE void write_inserted(const StreamGraph& graph, const Batch& batch, const WrittenRow& row,
                                    std::uint32_t change, std::uint32_t position) {
  view::Version& version = *graph.version(row.fresh);
  view::Life life{static_cast<std::uint32_t>(batch.moment(change) - row.from), view::Life::kForever};
  for (std::uint32_t next = change + 1; next < row.end_change && batch.keys[next] == batch.keys[change];
       ++next) {
    if ((batch.states[next] & kEffective) == 0) continue;
    life.last = static_cast<std::uint32_t>(batch.moment(next) - row.from);
    break;
  }
  version.ids()[position] = static_cast<std::uint32_t>(batch.keys[change]);
  version.lives()[position] = life;
}

// The renewed row that an entry of the sequence belongs to.
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

template <class Team>
MOTIFLUX_DEVICE void copy_entries(const Team& team, const StreamGraph& graph, Batch& batch) {
  const std::uint32_t all = add_up(
      team, batch.rows,
      [&](std::uint32_t i) { return is_renewed(batch.written[i]) ? batch.written[i].old_size + 1 : 0u; },
      [&](std::uint32_t i, std::uint32_t before) { batch.written[i].begin = before; });
  std::uint32_t survived = 0;
  for (std::uint32_t first = 0; first < all; first += team.threads()) {
    const std::uint32_t at = first + team.thread();
    WrittenRow* row = nullptr;
    std::uint32_t entry = 0;
    bool survives = false;
    if (at < all) {
      row = &batch.written[row_of_entry(batch, at)];
      entry = at - row->begin;
      survives =
          entry < row->old_size && graph.version(row->old)->lives()[entry].last == view::Life::kForever;
    }
    std::uint32_t total;
    const std::uint32_t before = survived + team.sums_before(survives ? 1 : 0, total);
    if (row != nullptr && entry == 0) row->base = before;
    team.sync();
    if (row != nullptr) write_entry(graph, batch, *row, entry, survives, before - row->base);
    survived += total;
  }
  team.sync();
}

MOTIFLUX_DEVICE bool reserve(const StreamGraph& graph, WrittenRow& row) {
  if (!is_renewed(row)) return true;
  row.fresh = take(graph.pool, view::bytes_of_version(row.fresh_size));
  if (row.fresh == kNoBlock) return false;
  SlabRow taken;
  if (row.old == kNoBlock) return true;
  if (!take_slab_row(graph, row.row, taken)) return false;
  row.slab = taken.slab;
  row.slab_row = taken.number;
  return true;
}

MOTIFLUX_DEVICE void give_back(const StreamGraph& graph, const WrittenRow& row) {
  if (row.fresh != kNoBlock) give(graph.pool, row.fresh, view::bytes_of_version(row.fresh_size));
  if (row.slab != kNoBlock) clear_slab_row(graph, row.row, {row.slab, row.slab_row});
}

// Puts the new version of a row in the place of the old one.
MOTIFLUX_DEVICE void install(const StreamGraph& graph, const WrittenRow& row) {
  if (!is_renewed(row)) return;
  if (row.old != kNoBlock) {
    write_slab_row(graph, {row.slab, row.slab_row}, row.old, row.from - 1);
    const auto cut = device::device_wide(graph.stages.slot(row.from).cut);
    std::uint32_t next = cut.load(device::Order::kRelaxed);
    do {
      link_of(graph.pool, row.old).store(next, device::Order::kRelaxed);
    } while (!cut.compare_exchange(next, row.old, device::Order::kRelaxed));
  }
  device::device_wide(graph.versions.heads[row.row].newest)
      .store(row.from << 32 | row.fresh, device::Order::kRelease);
}

}  // namespace detail

// Writes a batch that was prepared; false if memory is short, with nothing changed.
template <class Team>
MOTIFLUX_DEVICE bool write_batch(const Team& team, const StreamGraph& graph, Batch& batch) {
  detail::for_each(team, batch.rows, [&](std::uint32_t i) {
    if (!detail::reserve(graph, batch.written[i]))
      device::device_wide(batch.failed).store(1, device::Order::kRelaxed);
  });
  team.sync();
  if (batch.failed != 0) {
    detail::for_each(team, batch.rows, [&](std::uint32_t i) { detail::give_back(graph, batch.written[i]); });
    team.sync();
    return false;
  }
  detail::end_lives(team, graph, batch, false);
  detail::for_each(team, batch.rows, [&](std::uint32_t i) {
    detail::note_ends(graph, batch.written[i]);
    if (detail::is_renewed(batch.written[i])) detail::write_header(graph, batch, batch.written[i]);
  });
  team.sync();
  detail::copy_entries(team, graph, batch);
  detail::end_lives(team, graph, batch, true);
  team.sync();
  detail::for_each(team, batch.rows, [&](std::uint32_t i) { detail::install(graph, batch.written[i]); });
  team.sync();
  return true;
}

}  // namespace motiflux::streaming
