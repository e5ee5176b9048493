// Which rows of a batch are copied in strips, and what is known of them (copy_long_rows.hpp).
#pragma once

#include "motiflux/streaming/copy_long_rows.hpp"

namespace motiflux::streaming::detail {

MOTIFLUX_DEVICE bool is_renewed(const WrittenRow& row) {
  return row.from != view::kNoEnd;
}

// The fewest entries of a row that is copied in strips; the team copies shorter ones together.
MOTIFLUX_DEVICE std::uint32_t least_in_strips(const StreamGraph& graph) {
  constexpr std::uint32_t kShare = 8;
  return graph.strip / kShare + 1;
}

// Whether a row is copied in strips, if the batch has any.
MOTIFLUX_DEVICE bool is_in_strips(const StreamGraph& graph, const WrittenRow& row) {
  return graph.strip != 0 && is_renewed(row) && row.old_size >= least_in_strips(graph);
}

// The strips of so many entries that a row is copied in.
MOTIFLUX_DEVICE std::uint32_t strips_of(const StreamGraph& graph, const WrittenRow& row,
                                        std::uint32_t strip) {
  return is_in_strips(graph, row) ? (row.old_size - 1) / strip + 1 : 0;
}

// The lifetime of an inserted entry: it ends with the next effective change of its edge.
template <class Batch>
MOTIFLUX_DEVICE view::Life life_of_inserted(const Batch& batch, const WrittenRow& row, std::uint32_t change) {
  view::Life life{static_cast<std::uint32_t>(batch.moment(change) - row.from), view::Life::kForever};
  for (std::uint32_t next = change + 1; next < row.end_change && batch.keys[next] == batch.keys[change];
       ++next) {
    if ((batch.states[next] & kEffective) == 0) continue;
    life.last = static_cast<std::uint32_t>(batch.moment(next) - row.from);
    break;
  }
  return life;
}

template <class Batch>
MOTIFLUX_DEVICE void list_row(const StreamGraph& graph, const Batch& batch, const WrittenRow& row,
                              std::uint32_t number, std::uint32_t first_strip) {
  CopiedRow& listed = graph.copied->of[number];
  listed.old = row.old;
  listed.fresh = row.fresh;
  listed.old_size = row.old_size;
  listed.has_ended = graph.version(row.old)->ended != 0 ? 1 : 0;
  listed.first_strip = first_strip;
  listed.first_inserted = row.first_inserted;
  listed.inserted = row.inserted;
  for (std::uint32_t i = row.first_inserted; i < row.first_inserted + row.inserted; ++i) {
    const std::uint32_t change = batch.inserted[i];
    CopiedInsertion& inserted = graph.copied->inserted[i];
    inserted.id = static_cast<std::uint32_t>(batch.keys[change]);
    inserted.life = life_of_inserted(batch, row, change);
  }
}

// Lists the strips of a batch, and has them taken; returns their number: 0 if they would be few. Ends in the
// old versions are written. If there were too many strips, they are longer.
template <class Team, class Batch>
MOTIFLUX_DEVICE std::uint32_t list_strips(const Team& team, const StreamGraph& graph, Batch& batch) {
  constexpr std::uint32_t kMost = kMostStrips - kMostChanges, kOneRow = 1 << 16;
  static_assert(kMostStrips < kOneRow);
  if (graph.strip == 0) return 0;
  // In units of so many entries, that all entries of the memory may be in one batch.
  const std::uint64_t unit = least_in_strips(graph);
  const std::uint32_t units = add_up(
      team, batch.rows,
      [&](std::uint32_t i) {
        const WrittenRow& row = batch.written[i];
        return is_in_strips(graph, row) ? row.old_size / static_cast<std::uint32_t>(unit) : 0;
      },
      [](std::uint32_t, std::uint32_t) {});
  if (units * unit < std::uint64_t{2} * graph.strip) return 0;
  // There are as many whole strips as these entries have at most, and a shorter one of each row.
  const std::uint64_t entries = (units + batch.rows) * unit;
  const std::uint32_t strip =
      entries / graph.strip > kMost ? static_cast<std::uint32_t>(entries / kMost) + 1 : graph.strip;
  // Rows and strips are added up as two halves of a number.
  const std::uint32_t sums = add_up(
      team, batch.rows,
      [&](std::uint32_t i) {
        const std::uint32_t strips = strips_of(graph, batch.written[i], strip);
        return strips != 0 ? strips + kOneRow : 0;
      },
      [&](std::uint32_t i, std::uint32_t before) {
        const WrittenRow& row = batch.written[i];
        if (is_in_strips(graph, row)) list_row(graph, batch, row, before / kOneRow, before % kOneRow);
      });
  const std::uint32_t strips = sums % kOneRow;
  CopiedRows& rows = *graph.copied;
  for_each(team, strips, [&](std::uint32_t i) { rows.survivors[i] = 0; });
  if (team.thread() == 0) {
    rows.rows = sums / kOneRow;
    rows.strip = strip;
    rows.done = 0;
    rows.copied += strips;
  }
  team.sync();
  if (team.thread() == 0)
    device::device_wide(rows.taken).store(std::uint64_t{strips} << 32, device::Order::kRelease);
  team.sync();
  return strips;
}

}  // namespace motiflux::streaming::detail
