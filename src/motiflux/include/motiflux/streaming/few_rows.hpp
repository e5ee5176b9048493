// Batches of few changes, each of a row of its own: most batches of a stream that is not at its limit. A group
// of lanes has a row from its change to its place in the graph, so nothing is sorted, and the team waits for
// all its threads twice: whether there is memory for all rows, and before the batch is published.
//
// What is unusual is left to write_batch: a row that is changed twice, an update without rows, a deletion
// that makes a new version, short memory.
#pragma once

#if defined(MOTIFLUX_CHECKS_VERSIONS)
#include "motiflux/streaming/invariants.hpp"
#endif
#include "motiflux/streaming/write_versions.hpp"

namespace motiflux::streaming {

inline constexpr std::uint32_t kMostFew = 8;

// The changes of a batch, one in each of the first lanes of each group.
struct FewChanges {
  std::uint32_t count;  // in all lanes; 0: they are not few
  std::uint32_t update;
  std::uint32_t number;  // of the update's places
  std::uint64_t key;
};

// Called by all lanes of a group, with the same arguments in each group.
template <class Lanes>
MOTIFLUX_DEVICE FewChanges list_few(const Lanes& lanes, const StreamGraph& graph, const Update* updates,
                                    std::uint32_t count, std::uint32_t most) {
  static_assert(Lanes::kLanes >= kMostFew);
  FewChanges few{0, 0, 0, 0};
  if (most > kMostFew) most = kMostFew;
  if (count > most) return few;
  const std::uint32_t lane = lanes.lane();
  const std::uint32_t places = lane < count ? detail::places_of(graph, updates[lane]) : 1;
  const std::uint32_t before = lanes.sums_before(lane < count ? places : 0);
  const std::uint32_t all = lanes.broadcast(before + places, count - 1);
  if (all > most || lanes.ballot(places == 0) != 0) return few;
  for (std::uint32_t next = 1; next < count; ++next)
    if (lanes.broadcast(before, next) <= lane) few.update = next;
  const std::uint32_t number = lane - lanes.broadcast(before, few.update);
  if (lane < all) {
    const Update update = updates[few.update];
    const Place place = graph.places[graph.classes[update.of] + number];
    const std::uint32_t own = place.of_target != 0 ? update.target : update.source;
    const std::uint32_t other = place.of_target != 0 ? update.source : update.target;
    few.key = std::uint64_t{place.first_row + own} << 32 | other;
    few.number = number;
  }
  bool repeats = false;
  for (std::uint32_t next = 0; next + 1 < all; ++next) {
    const std::uint64_t other = lanes.broadcast(few.key, next);
    if (lane > next && lane < all && other >> 32 == few.key >> 32) repeats = true;
  }
  few.count = lanes.ballot(repeats) == 0 ? all : 0;
  return few;
}

namespace detail {

// Lists and judges a change, and takes memory for its row, by a group; notes in `failed` what it cannot do.
template <class Lanes, class Batch, class Kept>
MOTIFLUX_DEVICE void prepare_row(const Lanes& lanes, const StreamGraph& graph, const Update& update,
                                 std::uint32_t change, std::uint32_t update_of, std::uint64_t key,
                                 Batch& batch, Kept& kept) {
  const std::uint32_t newest = newest_of(graph, static_cast<std::uint32_t>(key >> 32));
  const bool in_head = has_room_in_head(graph, static_cast<std::uint32_t>(key >> 32));
  const std::uint32_t entry =
      newest != kNoBlock ? find_living(lanes, *graph.version(newest), static_cast<std::uint32_t>(key))
                         : kNoEntry;
  if (!lanes.leads()) return;
  const bool inserts = update.is_insertion(), lives = entry != kNoEntry, effective = inserts != lives;
  const bool is_first = (update_of & Batch::kFirstPlace) != 0;
  batch.keys[change] = key;
  batch.update_of[change] = update_of;
  batch.states[change] =
      (inserts ? kInserts : 0) | (effective ? kEffective : 0) | (effective && lives ? kEndsOld : 0);
  batch.row_of[change] = batch.inserted[change] = change;
  batch.newest[change] = newest;
  batch.entries[change] = entry;
  if (is_first) {
    UpdateSlot& slot = graph.stages.slot(batch.moment(change));
    const bool has_effect = effective || (update.inserts & Update::kJudged) != 0;
    const Effect effect = inserts ? Effect::kAppears : Effect::kVanishes;
    slot.cut = kNoBlock;
    slot.effect = static_cast<std::uint32_t>(has_effect ? effect : Effect::kNone);
  }
  WrittenRow& row = batch.written[change];
  row.row = static_cast<std::uint32_t>(key >> 32);
  row.first_change = row.first_inserted = change;
  row.end_change = change + 1;
  plan_row(graph, batch, row);
  const bool is_usual = inserts || !is_renewed(row);
  if (!is_usual || !reserve(graph, row, in_head, kept))
    device::device_wide(batch.failed).store(1, device::Order::kRelaxed);
}

// Copies the living entries of a row to its new version, and the inserted one among them.
template <class Lanes, class Batch>
MOTIFLUX_DEVICE void copy_row(const Lanes& lanes, const StreamGraph& graph, const Batch& batch,
                              const WrittenRow& row) {
  constexpr std::uint32_t kAtOnce = 8;  // entries of a lane that it waits for at once
  const std::uint32_t inserted = static_cast<std::uint32_t>(batch.keys[row.first_change]);
  view::Version& fresh = *graph.version(row.fresh);
  std::uint32_t* ids = fresh.ids();
  view::Life* lives = fresh.lives();
  std::uint32_t survived = 0, before = 0;  // of them, those before the inserted one
  for (std::uint32_t first = 0; first < row.old_size; first += kAtOnce * Lanes::kLanes) {
    view::Version& old = *graph.version(row.old);
    std::uint32_t found[kAtOnce];
    bool survives[kAtOnce];
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      const std::uint32_t entry = first + k * Lanes::kLanes + lanes.lane();
      const bool is_there = entry < row.old_size;
      found[k] = is_there ? old.ids()[entry] : 0;
      survives[k] = is_there && old.lives()[entry].last == view::Life::kForever;
    }
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      if (first + k * Lanes::kLanes >= row.old_size) break;
      const std::uint32_t surviving = lanes.ballot(survives[k]);
      const bool is_before = found[k] < inserted;
      const std::uint32_t place =
          survived + count_bits(surviving & bits_below(lanes.lane())) + (is_before ? 0 : 1);
      if (survives[k]) {
        ids[place] = found[k];
        lives[place] = {0, view::Life::kForever};
      }
      survived += count_bits(surviving);
      before += count_bits(lanes.ballot(survives[k] && is_before));
    }
  }
  if (!lanes.leads()) return;
  ids[before] = inserted;
  lives[before] = {0, view::Life::kForever};
}

// Lists the old version of a change's row with those that its update cuts: each is linked to that of the next
// change. Returns the latter, and notes the first one of the update.
template <class Batch>
MOTIFLUX_DEVICE std::uint32_t link_cut(const StreamGraph& graph, const Batch& batch, std::uint32_t change) {
  const WrittenRow& row = batch.written[change];
  const auto is_next = [&](const WrittenRow& other) {
    return other.from == row.from && other.old != kNoBlock;  // of an update: no two have the same moment
  };
  std::uint32_t next = kNoBlock;
  bool is_first = row.old != kNoBlock;
  for (std::uint32_t other = 0; other < batch.changes; ++other) {
    if (other < change && is_next(batch.written[other])) is_first = false;
    if (other > change && next == kNoBlock && is_next(batch.written[other])) next = batch.written[other].old;
  }
  if (is_first) graph.stages.slot(row.from).cut = row.old;
  return next;
}

// Writes a row that was prepared, by a group.
template <class Lanes, class Batch>
MOTIFLUX_DEVICE void write_row(const Lanes& lanes, const StreamGraph& graph, Batch& batch,
                               std::uint32_t change) {
  const WrittenRow& row = batch.written[change];
  if (lanes.leads()) {
    if ((batch.states[change] & kEndsOld) != 0) {
      view::Version& old = *graph.version(row.old);
      device::device_wide(old.lives()[batch.entries[change]].last)
          .store(static_cast<std::uint32_t>(batch.moment(change) - old.first), device::Order::kRelaxed);
    }
    note_ends(graph, row);
    if (is_renewed(row)) write_header(graph, batch, row);
  }
  if (!is_renewed(row)) return;
  lanes.sync();
  copy_row(lanes, graph, batch, row);
  lanes.sync();
  if (lanes.leads()) install(graph, row, link_cut(graph, batch, change));
}

}  // namespace detail

// Prepares the rows of few changes of updates that begin at batch.first; false if that is not usual: then
// nothing is changed. The batch has no changes yet, and all threads know.
template <class Team, class Lanes, class Batch, class Kept>
MOTIFLUX_DEVICE bool prepare_few(const Team& team, const Lanes& lanes, const StreamGraph& graph,
                                 const Update* updates, const FewChanges& few, Batch& batch, Kept& kept) {
  const std::uint32_t groups = team.threads() / Lanes::kLanes;
  for (std::uint32_t change = team.thread() / Lanes::kLanes; change < few.count; change += groups) {
    const std::uint32_t update = lanes.broadcast(few.update, change);
    const bool is_first = lanes.broadcast(few.number, change) == 0;
    detail::prepare_row(lanes, graph, updates[update], change, update | (is_first ? Batch::kFirstPlace : 0),
                        lanes.broadcast(few.key, change), batch, kept);
  }
  team.sync();
  end_step(team, batch, Step::kReserve);
  if (batch.failed == 0 && batch.too_long == 0) return true;
  detail::for_each(team, few.count, [&](std::uint32_t i) { detail::give_back(graph, batch.written[i]); });
  team.sync();
  return false;
}

// Writes rows that were prepared.
template <class Team, class Lanes, class Batch>
MOTIFLUX_DEVICE void write_few(const Team& team, const Lanes& lanes, const StreamGraph& graph, Batch& batch) {
  const std::uint32_t groups = team.threads() / Lanes::kLanes;
  for (std::uint32_t change = team.thread() / Lanes::kLanes; change < batch.changes; change += groups)
    detail::write_row(lanes, graph, batch, change);
  team.sync();
#if defined(MOTIFLUX_CHECKS_VERSIONS)
  check_batch(team, graph, batch);
#endif
  end_step(team, batch, Step::kInstall);
}

}  // namespace motiflux::streaming
