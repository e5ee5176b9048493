// Batches of few changes, each of a row of its own: most batches of a stream that is not at its limit. A
// group of lanes has a row from its change to its place in the graph, so nothing is sorted, and the team
// waits for all its threads twice: whether there is memory for all rows, and before the batch is published.
//
// What is unusual is left to write_batch: a row that is changed twice, an update without rows, a deletion
// that makes a new version, short memory, and a row of so many entries that all warps are to copy it, once
// for all of its changes.
#pragma once

#if defined(MOTIFLUX_CHECKS_VERSIONS)
#include "motiflux/streaming/invariants.hpp"
#endif
#include "motiflux/streaming/write_versions.hpp"

namespace motiflux::streaming {

inline constexpr std::uint32_t kMostFew = 64;
// Rows of more entries than that are written by a warp each: groups of fewer lanes would do so one after
// another, as those of one warp leave their loops at different times. Rows of still more by all warps
// together.
#if defined(MOTIFLUX_CHECKS_VERSIONS)
inline constexpr std::uint32_t kMostOfGroup = 3, kMostOfWarp = 6;  // so that tests have all
#else
inline constexpr std::uint32_t kMostOfGroup = 64, kMostOfWarp = 4096;
#endif

// The first updates of some, whose changes are few, and these changes: a lane has those with its number, and
// with 32 more.
struct FewChanges {
  static constexpr std::uint32_t kOfLane = kMostFew / 32;

  std::uint32_t updates;  // 0: there are none
  std::uint32_t count;
  std::uint32_t update_of[kOfLane];  // as BatchOf::update_of
  std::uint64_t keys[kOfLane];
};

// The places of the kind that updates had before, in the lanes of a group: most updates have the same one.
// Kinds do not change while the kernel runs.
struct KnownPlaces {
  std::uint32_t of = ~std::uint32_t{0};
  std::uint32_t count = 0;
  Place place{0, 0};  // with the lane's number
};

template <class Lanes>
MOTIFLUX_DEVICE void know_places(const Lanes& lanes, const StreamGraph& graph, std::uint32_t of,
                                 KnownPlaces& known) {
  const std::uint32_t begin = graph.classes[of];
  known.of = of;
  known.count = graph.classes[of + 1] - begin;
  if (lanes.lane() < known.count) known.place = graph.places[begin + lanes.lane()];
}

namespace detail {

// The first update that changes a row again; kLanes if there is none. `update`: those of the lane's changes.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t find_repeating(const Lanes& lanes, const FewChanges& few,
                                             const std::uint32_t (&update)[FewChanges::kOfLane]) {
  constexpr std::uint32_t kOfLane = FewChanges::kOfLane;
  std::uint32_t rows[kOfLane];
  bool repeats[kOfLane] = {};
  for (std::uint32_t part = 0; part < kOfLane; ++part)
    rows[part] = static_cast<std::uint32_t>(few.keys[part] >> 32);
  for (std::uint32_t next = 0; next + 1 < few.count; ++next) {
    std::uint32_t mine = rows[0];
    for (std::uint32_t part = 1; part < kOfLane; ++part)
      if (next / Lanes::kLanes == part) mine = rows[part];
    const std::uint32_t other = lanes.broadcast(mine, next % Lanes::kLanes);
    for (std::uint32_t part = 0; part < kOfLane; ++part) {
      const std::uint32_t change = lanes.lane() + part * Lanes::kLanes;
      if (change > next && change < few.count && other == rows[part]) repeats[part] = true;
    }
  }
  for (std::uint32_t part = 0; part < kOfLane; ++part) {
    const std::uint32_t repeating = lanes.ballot(repeats[part]);
    if (repeating != 0) return lanes.broadcast(update[part], lowest_bit(repeating));
  }
  return Lanes::kLanes;
}

}  // namespace detail

// Called by all lanes of a group.
template <class Lanes>
MOTIFLUX_DEVICE FewChanges list_few(const Lanes& lanes, const StreamGraph& graph, const Update* updates,
                                    std::uint32_t count, std::uint32_t most, KnownPlaces& known) {
  static_assert(Lanes::kLanes * FewChanges::kOfLane == kMostFew);
  if (most > kMostFew) most = kMostFew;
  if (count > Lanes::kLanes) count = Lanes::kLanes;
  FewChanges few{};
  const std::uint32_t lane = lanes.lane();
  if (updates[0].of != known.of) know_places(lanes, graph, updates[0].of, known);
  std::uint32_t places = lane < count ? known.count : 0;
  if (lane < count && updates[lane].of != known.of) places = detail::places_of(graph, updates[lane]);
  const std::uint32_t before = lanes.sums_before(places);
  const std::uint32_t unfit = ~lanes.ballot(lane < count && places > 0 && before + places <= most);
  few.updates = unfit != 0 ? lowest_bit(unfit) : Lanes::kLanes;
  if (few.updates == 0) return few;
  few.count = lanes.broadcast(before + places, few.updates - 1);
  std::uint32_t update[FewChanges::kOfLane] = {}, begin[FewChanges::kOfLane] = {};  // of the lane's changes
  for (std::uint32_t next = 1; next < few.updates; ++next) {
    const std::uint32_t begins = lanes.broadcast(before, next);
    for (std::uint32_t part = 0; part < FewChanges::kOfLane; ++part)
      if (begins <= lane + part * Lanes::kLanes) update[part] = next, begin[part] = begins;
  }
  for (std::uint32_t part = 0; part < FewChanges::kOfLane; ++part) {
    const std::uint32_t change = lane + part * Lanes::kLanes, number = change - begin[part];
    const std::uint32_t from = number % Lanes::kLanes;
    Place place{lanes.broadcast(known.place.first_row, from), lanes.broadcast(known.place.of_target, from)};
    if (change >= few.count) continue;
    const Update own = updates[update[part]];
    if (own.of != known.of) place = graph.places[graph.classes[own.of] + number];
    const std::uint32_t row = place.first_row + (place.of_target != 0 ? own.target : own.source);
    few.keys[part] = std::uint64_t{row} << 32 | (place.of_target != 0 ? own.source : own.target);
    few.update_of[part] = update[part] | (number == 0 ? Batch::kFirstPlace : 0);
  }
  const std::uint32_t repeating = detail::find_repeating(lanes, few, update);
  if (repeating == Lanes::kLanes) return few;
  few.updates = repeating;
  few.count = lanes.broadcast(before, repeating);
  return few;
}

namespace detail {

// Judges a change, and takes memory for its row, by a group; notes in `failed` what it cannot do.
template <class Lanes, class Batch, class Kept>
MOTIFLUX_DEVICE void prepare_row(const Lanes& lanes, const StreamGraph& graph, const Update* updates,
                                 std::uint32_t change, Batch& batch, Kept& kept) {
  const std::uint64_t key = batch.keys[change];
  const auto row_number = static_cast<std::uint32_t>(key >> 32);
  const std::uint32_t newest = newest_of(graph, row_number);
  const bool in_head = has_room_in_head(graph, row_number);
  const std::uint32_t entry =
      newest != kNoBlock ? find_living(lanes, *graph.version(newest), static_cast<std::uint32_t>(key))
                         : kNoEntry;
  if (!lanes.leads()) return;
  const Update update = updates[batch.update_of[change] & ~Batch::kFirstPlace];
  const bool inserts = update.is_insertion(), lives = entry != kNoEntry, effective = inserts != lives;
  batch.states[change] =
      (inserts ? kInserts : 0) | (effective ? kEffective : 0) | (effective && lives ? kEndsOld : 0);
  batch.row_of[change] = batch.inserted[change] = change;
  batch.newest[change] = newest;
  batch.entries[change] = entry;
  if ((batch.update_of[change] & Batch::kFirstPlace) != 0) {
    UpdateSlot& slot = graph.stages.slot(batch.moment(change));
    const bool has_effect = effective || (update.inserts & Update::kJudged) != 0;
    const Effect effect = inserts ? Effect::kAppears : Effect::kVanishes;
    slot.cut = kNoBlock;
    slot.effect = static_cast<std::uint32_t>(has_effect ? effect : Effect::kNone);
  }
  WrittenRow& row = batch.written[change];
  row.row = row_number;
  row.first_change = row.first_inserted = change;
  row.end_change = change + 1;
  plan_row(graph, batch, row);
  const bool is_usual = !is_renewed(row) || (inserts && row.old_size <= kMostOfWarp);
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

// Prepares the rows of a batch of few changes; false if that is not usual: then nothing is changed. The batch
// has the keys of the changes and their updates, and all threads know. A group of lanes has a row at a time.
template <class Team, class Lanes, class Batch, class Kept>
MOTIFLUX_DEVICE bool prepare_few(const Team& team, const Lanes& lanes, const StreamGraph& graph,
                                 const Update* updates, Batch& batch, Kept& kept) {
  const std::uint32_t groups = team.threads() / Lanes::kLanes;
  for (std::uint32_t change = team.thread() / Lanes::kLanes; change < batch.changes; change += groups)
    detail::prepare_row(lanes, graph, updates, change, batch, kept);
  team.sync();
  end_step(team, batch, Step::kReserve);
  if (batch.failed == 0 && batch.too_long == 0) return true;
  detail::for_each(team, batch.changes, [&](std::uint32_t i) { detail::give_back(graph, batch.written[i]); });
  team.sync();
  return false;
}

// Writes rows that were prepared: long ones by a warp each, the others by a group each.
template <class Team, class Warp, class Lanes, class Batch>
MOTIFLUX_DEVICE void write_few(const Team& team, const Warp& warp, const Lanes& lanes,
                               const StreamGraph& graph, Batch& batch) {
  constexpr bool kIsOne = Warp::kLanes == Lanes::kLanes;
  const auto is_long = [&](std::uint32_t change) {
    const WrittenRow& row = batch.written[change];
    return !kIsOne && detail::is_renewed(row) && row.old_size > kMostOfGroup;
  };
  if constexpr (!kIsOne) {
    const std::uint32_t warps = team.threads() / Warp::kLanes;
    std::uint32_t next = team.thread() / Warp::kLanes;  // long rows until the warp's turn
    for (std::uint32_t first = 0; first < batch.changes; first += Warp::kLanes) {
      const std::uint32_t own = first + warp.lane();
      std::uint32_t left = warp.ballot(own < batch.changes && is_long(own));
      for (; left != 0; left &= left - 1) {
        if (next == 0) detail::write_row(warp, graph, batch, first + lowest_bit(left));
        next = next == 0 ? warps - 1 : next - 1;
      }
    }
  }
  const std::uint32_t groups = team.threads() / Lanes::kLanes;
  for (std::uint32_t change = team.thread() / Lanes::kLanes; change < batch.changes; change += groups)
    if (!is_long(change)) detail::write_row(lanes, graph, batch, change);
  team.sync();
#if defined(MOTIFLUX_CHECKS_VERSIONS)
  check_batch(team, graph, batch);
#endif
  end_step(team, batch, Step::kInstall);
}

}  // namespace motiflux::streaming
