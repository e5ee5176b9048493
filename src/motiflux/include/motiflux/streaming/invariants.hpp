// What holds of a row between two batches (DCSM, Properties 1 to 3), checked where MOTIFLUX_CHECKS_VERSIONS
// is defined.
//
//   1. What lives in a version at its end, and is not deleted then, lives in the next version from its begin
//   on,
//      together with what is inserted then, and nothing else does.
//   2. A version's entries are ascending; equal ones have lifetimes one after the other, of which at most the
//      last has no end. The header says how many have ends, and when all live.
//   3. The versions of a row hold each moment from the first one on once.
#pragma once

#include "motiflux/streaming/write_versions.hpp"

// On a GPU, which has no assertions, `Progress::violated` names the line.
#define MOTIFLUX_HOLDS(graph, condition)                                                   \
  do {                                                                                     \
    MOTIFLUX_ASSERT(condition);                                                            \
    if (!(condition))                                                                      \
      motiflux::device::device_wide((graph).stages.progress->violated)                     \
          .store(static_cast<std::uint32_t>(__LINE__), motiflux::device::Order::kRelaxed); \
  } while (false)

namespace motiflux::streaming {

MOTIFLUX_DEVICE void check_version(const StreamGraph& graph, view::Version& version) {
  std::uint32_t ended = 0;
  for (std::uint32_t entry = 0; entry < version.size; ++entry) {
    const view::Life life = version.lives()[entry];
    MOTIFLUX_HOLDS(graph, life.first <= life.last && life.first <= view::kFarthestEnd);
    MOTIFLUX_HOLDS(graph, life.last <= view::kFarthestEnd || life.last == view::Life::kForever);
    MOTIFLUX_HOLDS(graph, life.first <= version.clean_from && version.clean_until <= life.last);
    ended += life.last != view::Life::kForever ? 1 : 0;
    if (entry == 0) continue;
    const std::uint32_t before = version.ids()[entry - 1], id = version.ids()[entry];
    MOTIFLUX_HOLDS(graph, before <= id);
    MOTIFLUX_HOLDS(graph, before < id || version.lives()[entry - 1].last < life.first);
  }
  MOTIFLUX_HOLDS(graph, ended == version.ended);
}

// The entries of a version that live at its first moment, and were there before or not.
MOTIFLUX_DEVICE std::uint32_t count_first(view::Version& version) {
  std::uint32_t count = 0;
  for (std::uint32_t entry = 0; entry < version.size; ++entry)
    count += version.lives()[entry].first == 0 ? 1 : 0;
  return count;
}

// Of a row that a batch renewed.
template <class Batch>
MOTIFLUX_DEVICE void check_renewal(const StreamGraph& graph, const Batch& batch, const WrittenRow& row) {
  view::Version& fresh = *graph.version(row.fresh);
  std::uint32_t expected = 0;
  for (std::uint32_t i = 0; i < row.inserted; ++i)
    expected += batch.moment(batch.inserted[row.first_inserted + i]) == row.from ? 1 : 0;
  MOTIFLUX_HOLDS(graph, expected <= 1);
  for (std::uint32_t entry = 0; entry < row.old_size; ++entry) {
    view::Version& old = *graph.version(row.old);
    if (old.lives()[entry].last != view::Life::kForever) {
      MOTIFLUX_HOLDS(graph, old.first + old.lives()[entry].last < row.from);
      continue;
    }
    ++expected;
    const std::uint32_t id = old.ids()[entry];
    const std::uint32_t* end = fresh.ids() + fresh.size;
    const std::uint32_t* found = sets::lower_bound(fresh.ids(), end, id);
    MOTIFLUX_HOLDS(graph, found != end && *found == id && fresh.lives()[found - fresh.ids()].first == 0);
  }
  MOTIFLUX_HOLDS(graph, count_first(fresh) == expected);
}

// Calls visit(first moment, last moment, block) for the old versions of a row, those in slabs of a list that
// is locked. The one in the head may be freed meanwhile: its block is 0.
template <class Visit>
MOTIFLUX_DEVICE void for_each_old(const StreamGraph& graph, view::RowHead& head, std::uint32_t list,
                                  Visit&& visit) {
  const std::uint64_t begins = device::device_wide(head.old_first).load(device::Order::kAcquire);
  const std::uint64_t last = device::device_wide(head.old_last).load(device::Order::kRelaxed);
  if (begins != 0) visit(begins - 1, last, kNoBlock);
  for (std::uint32_t slab = list; slab != 0; slab = graph.pool.at<view::Slab>(slab)->next) {
    const view::Slab& rows = *graph.pool.at<view::Slab>(slab);
    for_each_bit(rows.used, [&](std::uint32_t number) {
      visit(rows.first[number], rows.last[number], rows.versions[number]);
    });
  }
}

// Of any row that the caller alone may write.
MOTIFLUX_DEVICE void check_row(const StreamGraph& graph, std::uint32_t row) {
  const std::uint32_t newest = newest_of(graph, row);
  if (newest == kNoBlock) return;
  view::Version& version = *graph.version(newest);
  MOTIFLUX_HOLDS(graph, version.row == row);
  check_version(graph, version);
  view::RowHead& head = graph.versions.heads[row];
  const std::uint32_t list = detail::lock_list(head);
  for_each_old(graph, head, list, [&](std::uint64_t first, std::uint64_t last, std::uint32_t block) {
    MOTIFLUX_HOLDS(graph, first <= last && last < version.first);
    MOTIFLUX_HOLDS(graph, block == kNoBlock || graph.version(block)->row == row);
    MOTIFLUX_HOLDS(graph, block == kNoBlock || graph.version(block)->first == first);
    // The next version is there, too, unless it is freed already, as this one soon is.
    std::uint32_t next = last + 1 == version.first ? 1 : 0;
    for_each_old(graph, head, list, [&](std::uint64_t other_first, std::uint64_t other_last, std::uint32_t) {
      next += other_first == last + 1 ? 1 : 0;
      MOTIFLUX_HOLDS(graph, other_first == first || other_last < first || other_first > last);
    });
    const std::uint64_t finished =
        device::device_wide(graph.stages.progress->finished).load(device::Order::kRelaxed);
    MOTIFLUX_HOLDS(graph, next == 1 || (next == 0 && last <= finished));
  });
  detail::unlock_list(head, list);
}

template <class Team, class Batch>
MOTIFLUX_DEVICE void check_batch(const Team& team, const StreamGraph& graph, const Batch& batch) {
  detail::for_each(team, batch.rows, [&](std::uint32_t i) {
    check_row(graph, batch.written[i].row);
    if (detail::is_renewed(batch.written[i])) check_renewal(graph, batch, batch.written[i]);
  });
  team.sync();
}

}  // namespace motiflux::streaming
