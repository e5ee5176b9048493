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
  if (batch.written[change].old == kNoBlock) return kNoBlock;
  const std::uint64_t moment = batch.moment(change);
  const auto cuts = [&](std::uint32_t other) {
    return is_renewed(batch.written[other]) && batch.written[other].old != kNoBlock;
  };
  bool is_first = true;
  for (std::uint32_t other = change; other > 0 && batch.moment(other - 1) == moment; --other)
    if (cuts(other - 1)) is_first = false;
  if (is_first) graph.stages.slot(moment).cut = batch.written[change].old;
  for (std::uint32_t other = change + 1; other < batch.changes && batch.moment(other) == moment; ++other)
    if (cuts(other)) return batch.written[other].old;
  return kNoBlock;
}

// Ends a lifetime in the old version of a change's row, and notes which.
template <class Batch>
MOTIFLUX_DEVICE void end_life(const StreamGraph& graph, const Batch& batch, std::uint32_t change) {
  const WrittenRow& row = batch.written[change];
  const VersionBefore& before = batch.before[change];
  const std::uint32_t entry = batch.entries[change];
  const auto end = static_cast<std::uint32_t>(batch.moment(change) - before.first);
  view::Version& old = *graph.version(row.old);
  device::device_wide(lives_of(old, row.old_size)[entry].last).store(end, device::Order::kRelaxed);
  old.ended = before.ended + 1;
  if (entry >= view::EndedEntries::kUnknown)
    old.at.entries[0] = view::EndedEntries::kUnknown;
  else if (before.ended < view::EndedEntries::kMost)
    old.at.entries[before.ended] = static_cast<std::uint16_t>(entry);
  if (end < before.clean_until) device::device_wide(old.clean_until).store(end, device::Order::kRelaxed);
}

// Writes what is known of a lane's row without the entries of its old version, and what readers of the old
// version need.
template <class Batch>
MOTIFLUX_DEVICE void write_ends(const StreamGraph& graph, const Batch& batch, std::uint32_t change) {
  const WrittenRow& row = batch.written[change];
  if ((batch.states[change] & kEndsOld) != 0) end_life(graph, batch, change);
  if (!is_renewed(row)) return;
  view::Version& fresh = *graph.version(row.fresh);
  fresh.size = row.fresh_size;
  fresh.first = row.from;
  fresh.clean_from = 0;
  fresh.clean_until = view::Life::kForever;
  fresh.row = row.row;
  fresh.ended = 0;
  fresh.at.entries[0] = 0;
  const VersionBefore& before = batch.before[change];
  if (before.knows_ended()) {
    std::uint32_t place;
    before.lives(before.less, place);
    insert_entry(graph, batch, row, place);
  }
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
    const WrittenRow& row = batch.written[change];
    if (batch.before[change].knows_ended() || !is_renewed(row)) continue;
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
