// Writing the rows of a batch of few changes that were prepared. A warp writes ends of lifetimes and headers
// of its rows, and copies strips of all rows. Who ends the last part of a new version puts it in its place.
#pragma once

#include "motiflux/streaming/copy_strips.hpp"

namespace motiflux::streaming {

namespace detail {

// Lists the old version of a change's row with those that its update cuts: each is linked to that of the next
// change. Returns the latter, and notes the first one of the update.
template <class Batch>
MOTIFLUX_DEVICE std::uint32_t link_cut(const StreamGraph& graph, const Batch& batch, std::uint32_t change) {
  const WrittenRow& row = batch.written[change];
  if (row.old == kNoBlock) return kNoBlock;
  if (batch.pairs != 0)  // an update may cut the version of a row whose first change is another one's
    return device::device_wide(graph.stages.slot(row.from).cut).exchange(row.old, device::Order::kRelaxed);
  const std::uint64_t moment = batch.moment(change);
  const auto cuts = [&](std::uint32_t other) {
    return is_renewed(batch.written[other]) && batch.written[other].old != kNoBlock;
  };
  bool is_first = true;
  for (std::uint32_t other = change; other > 0 && batch.moment(other - 1) == moment; --other)
    if (cuts(other - 1)) is_first = false;
  if (is_first) graph.stages.slot(moment).cut = row.old;
  for (std::uint32_t other = change + 1; other < batch.changes && batch.moment(other) == moment; ++other)
    if (cuts(other)) return batch.written[other].old;
  return kNoBlock;
}

// Ends the lifetime of a change's entry in the old version of its row, and notes which; `number`: of the ends
// of the row's changes there.
template <class Batch>
MOTIFLUX_DEVICE void end_life(const StreamGraph& graph, const Batch& batch, const WrittenRow& row,
                              std::uint32_t change, std::uint32_t number) {
  const VersionBefore& before = batch.before[row.first_change];
  const std::uint32_t entry = batch.entries[change], ended = before.ended_before + number;
  const auto end = static_cast<std::uint32_t>(batch.moment(change) - before.first);
  view::Version& old = *graph.version(row.old);
  device::device_wide(lives_of(old, row.old_size)[entry].last).store(end, device::Order::kRelaxed);
  old.ended = ended + 1;
  if (entry >= view::EndedEntries::kUnknown)
    old.at.entries[0] = view::EndedEntries::kUnknown;
  else if (ended < view::EndedEntries::kMost)
    old.at.entries[ended] = static_cast<std::uint16_t>(entry);
  if (number == 0 && end < before.clean_until)
    device::device_wide(old.clean_until).store(end, device::Order::kRelaxed);
}

// Ends lifetimes in the old version of a row.
template <class Batch>
MOTIFLUX_DEVICE void end_old_lives(const StreamGraph& graph, const Batch& batch, const WrittenRow& row) {
  std::uint32_t number = 0;
  for (std::uint32_t change = row.first_change; change != kNoChange; change = batch.second_of(change))
    if ((batch.states[change] & kEndsOld) != 0 && batch.moment(change) < row.from)
      end_life(graph, batch, row, change, number++);
}

// The header of a new version, and what is inserted, if its place is known.
template <class Batch>
MOTIFLUX_DEVICE void begin_version(const StreamGraph& graph, const Batch& batch, const WrittenRow& row) {
  const VersionBefore& before = batch.before[row.first_change];
  const std::uint32_t second = batch.second_of(row.first_change);
  const bool inserts_later = before.less[0] != kNoEntry && before.less[1] != kNoEntry;
  view::Version& fresh = *graph.version(row.fresh);
  fresh.size = row.fresh_size;
  fresh.first = row.from;
  fresh.clean_from = inserts_later ? static_cast<std::uint32_t>(batch.moment(second) - row.from) : 0;
  fresh.clean_until = row.ended != 0 ? before.leaves : view::Life::kForever;
  fresh.row = row.row;
  fresh.ended = row.ended;
  fresh.at.entries[0] = view::EndedEntries::kUnknown;  // if there are any
  if (!before.knows_ended()) return;
  std::uint32_t places[2];
  for (std::uint32_t number = 0; number < 2; ++number) before.lives(before.less[number], places[number]);
  insert_entries(graph, batch, row, places);
  if (row.ended == 0) return;
  std::uint32_t place;
  before.lives(before.leaving, place);
  fresh.at.entries[0] = static_cast<std::uint16_t>(place + before.inserted_before(before.leaving));
}

// Writes what is known of a lane's row without the entries of its old version, and what readers of the old
// version need.
template <class Batch>
MOTIFLUX_DEVICE void write_ends(const StreamGraph& graph, const Batch& batch, std::uint32_t change) {
  const WrittenRow& row = batch.written[change];
  end_old_lives(graph, batch, row);
  if (!is_renewed(row)) return;
  begin_version(graph, batch, row);
  install_old(graph, row, link_cut(graph, batch, change));
}

// A part of a change's row is written; who ends the last one puts the new version in its place.
template <class Batch>
MOTIFLUX_DEVICE void end_part(const StreamGraph& graph, const Batch& batch, std::uint32_t change) {
  const std::uint32_t left =
      device::block_wide(batch.left[change]).fetch_add(~std::uint32_t{0}, device::Order::kAcqRel);
  if (left == 1 && is_renewed(batch.written[change])) install_new(graph, batch.written[change]);
}

// Writes the parts of a warp, so many strips at a time.
template <std::uint32_t at_once, class Warp, class Batch>
MOTIFLUX_DEVICE void write_parts(const Warp& warp, std::uint32_t warp_number, std::uint32_t warps,
                                 const StreamGraph& graph, const Batch& batch, const DealtStrips& dealt) {
  const std::uint64_t begun = begin_step();
  StripsAtOnce<at_once> strips;
  std::uint32_t first = dealt.first, first_own = warp_number;
  do {
    strips.read(warp, graph, batch, dealt, first);
    std::uint32_t own;
    const bool has_own = has_change(batch, first_own, warps, warp.lane(), own);
    if (has_own) write_ends(graph, batch, own);          // while the entries are on their way
    std::uint32_t ended = has_own ? own : strips.kNone;  // the change whose part the lane ends
    for (std::uint32_t strip = 0; strip < at_once; ++strip) {
      const std::uint32_t change = strips.changes[strip];
      if (change == strips.kNone) continue;
      strips.write(warp, graph, batch, strip);
      if (warp.lane() == kRowsOfWarp + strip) ended = change;
    }
    warp.sync();
    if (warp_number == 0 && first == 0) end_step(warp, batch, Step::kCopied, begun);
    if (ended != strips.kNone) end_part(graph, batch, ended);
    first += at_once * dealt.step;
    first_own += kRowsOfWarp * warps;
  } while (first < dealt.end || first_own < batch.changes);
}

// Copies those of a warp's rows whose ended entries are not known.
template <class Warp, class Batch>
MOTIFLUX_DEVICE void copy_whole_rows(const Warp& warp, std::uint32_t warp_number, std::uint32_t warps,
                                     const StreamGraph& graph, const Batch& batch) {
  for (std::uint32_t change = warp_number; change < batch.changes; change += warps) {
    if (batch.is_second(change) || batch.before[change].knows_ended()) continue;
    if (!is_renewed(batch.written[change]) || batch.written[change].old_size == 0) continue;
    copy_row(warp, graph, batch, change);
    warp.sync();
    if (warp.leads()) end_part(graph, batch, change);
  }
}

}  // namespace detail

// Writes rows that were prepared, by a warp: as prepare_few for the rows, and its strips of all rows.
template <class Warp, class Batch>
MOTIFLUX_DEVICE void write_few(const Warp& warp, std::uint32_t warp_number, std::uint32_t warps,
                               const StreamGraph& graph, const Batch& batch) {
  constexpr std::uint32_t kAtOnce = 4;
  static_assert(kRowsOfWarp + kAtOnce <= Warp::kLanes);
  const detail::DealtStrips dealt(warp, warp_number, warps, batch);
  if (warp_number >= batch.changes && dealt.first >= dealt.end) return;
  if (dealt.end <= warps)
    detail::write_parts<1>(warp, warp_number, warps, graph, batch, dealt);
  else
    detail::write_parts<kAtOnce>(warp, warp_number, warps, graph, batch, dealt);
  detail::copy_whole_rows(warp, warp_number, warps, graph, batch);
}

}  // namespace motiflux::streaming
