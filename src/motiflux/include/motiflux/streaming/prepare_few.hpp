// Which changes of a batch of few changes have an effect, and what is to be written of their rows.
#pragma once

#include "motiflux/streaming/find_in_rows.hpp"

namespace motiflux::streaming {

namespace detail {

// What is known of a row's newest version. Called by one lane.
MOTIFLUX_DEVICE VersionBefore version_before(const view::Version& version) {
  VersionBefore before{
      version.first, version.clean_until, version.ended, version.ended, 0, {kNoEntry, kNoEntry}, kNoEntry, 0,
      version.at};
  const bool knows = before.ended <= kMostEnded && before.at.entries[0] != view::EndedEntries::kUnknown;
  if (knows && kKnowsEnded) before.known = before.ended;
  return before;
}

// The living entry of an id, whose last entry was found; or kNoEntry. Equal entries have lifetimes one after
// the other, so that only the last one may live.
MOTIFLUX_DEVICE std::uint32_t living_entry(const StreamGraph& graph, std::uint32_t block,
                                           const VersionBefore& before, const FoundId& found,
                                           std::uint32_t id) {
  if (found.entry == kNoEntry || before.ended == 0) return found.entry;
  view::Version& version = *graph.version(block);
  if (found.is_beyond) return find_living(version, id);
  std::uint32_t unused;
  const bool lives = before.knows_ended() ? before.lives(found.entry, unused)
                                          : version.lives()[found.entry].last == view::Life::kForever;
  return lives ? found.entry : kNoEntry;
}

// Notes what an update does, as its first change tells.
template <class Batch>
MOTIFLUX_DEVICE void note_effect(const StreamGraph& graph, const Update& update, bool effective,
                                 std::uint32_t change, const Batch& batch) {
  if ((batch.update_of[change] & Batch::kFirstPlace) == 0) return;
  UpdateSlot& slot = graph.stages.slot(batch.moment(change));
  const bool has_effect = effective || (update.inserts & Update::kJudged) != 0;
  const Effect effect = update.is_insertion() ? Effect::kAppears : Effect::kVanishes;
  slot.cut = kNoBlock;
  slot.effect = static_cast<std::uint32_t>(has_effect ? effect : Effect::kNone);
}

// Notes in how many parts a row is written: what is known without its entries, and strips of these; or all of
// them at once, if the ended ones are not known.
template <class Batch>
MOTIFLUX_DEVICE void note_parts(const WrittenRow& row, std::uint32_t change, Batch& batch) {
  const bool copies = is_renewed(row) && row.old_size > 0, knows = batch.before[change].knows_ended();
  const std::uint32_t strips = copies && knows ? (row.old_size + kStrip - 1) / kStrip : 0;
  batch.strips[change] = strips;
  batch.left[change] = 1 + (copies && !knows ? 1 : strips);
}

// Judges a change of a row; called by one lane. `newest`: the row's version before.
template <class Batch>
MOTIFLUX_DEVICE void judge_change(const StreamGraph& graph, const Update* updates, std::uint32_t change,
                                  std::uint32_t newest, const VersionBefore& before, const FoundId& found,
                                  Batch& batch) {
  const Update update = updates[batch.update_of[change] & ~Batch::kFirstPlace];
  const std::uint32_t entry =
      living_entry(graph, newest, before, found, static_cast<std::uint32_t>(batch.keys[change]));
  const bool inserts = update.is_insertion(), lives = entry != kNoEntry, effective = inserts != lives;
  batch.states[change] =
      (inserts ? kInserts : 0) | (effective ? kEffective : 0) | (effective && lives ? kEndsOld : 0);
  batch.inserted[change] = change;
  batch.newest[change] = newest;
  batch.entries[change] = entry;
  note_effect(graph, update, effective, change, batch);
}

// Adds an effective change to what is to be written of its row, of which it is the first or the second one,
// as plan_row does; `less`: entries before its id. False if it is a deletion that makes a new version.
template <class Batch>
MOTIFLUX_DEVICE bool plan_change(const StreamGraph& graph, std::uint32_t change, std::uint32_t number,
                                 std::uint32_t less, const Batch& batch, VersionBefore& before,
                                 WrittenRow& row) {
  const std::uint64_t moment = batch.moment(change);
  if ((batch.states[change] & kInserts) != 0) {
    before.less[number] = less;
    ++row.fresh_size;
    if (is_renewed(row)) return true;
    row.from = moment;
    row.first_inserted = change;
    row.inserted = 1;  // that live at its begin
  } else if (is_renewed(row)) {
    row.ends = moment;
    row.ended = 1;
    before.leaving = batch.entries[change];
    before.leaves = static_cast<std::uint32_t>(moment - row.from);
  } else {
    if (row.old_ended == 0) row.old_ends = moment;
    ++row.old_ended;
    --row.fresh_size;
    before.end(batch.entries[change]);
    return moment - before.first <= graph.farthest_end;
  }
  return true;
}

// What is to be written of a second change by itself: nothing.
template <class Batch>
MOTIFLUX_DEVICE void leave_to_first(std::uint32_t second, std::uint32_t change, Batch& batch) {
  WrittenRow row{};
  row.row = batch.written[change].row;
  row.from = row.old_ends = row.ends = view::kNoEnd;
  row.first_change = row.first_inserted = second;
  row.end_change = second + 1;
  batch.row_of[second] = change;
  batch.strips[second] = 0;
  batch.written[second] = row;
}

// Judges the changes of a row, and takes memory for it; called by one lane. `newest`: the row's version
// before; `in_head`: as of reserve; `second`: its second change, or kNoChange.
template <class Batch, class Kept>
MOTIFLUX_DEVICE void prepare_row(const StreamGraph& graph, const Update* updates, std::uint32_t change,
                                 std::uint32_t second, std::uint32_t newest, bool in_head,
                                 const FoundId& found, const FoundId& found_second, Batch& batch,
                                 Kept& kept) {
  VersionBefore& before = batch.before[change];
  WrittenRow& row = batch.written[change];
  row = {};
  if (newest != kNoBlock) {
    const view::Version& version = *graph.version(newest);  // its first bytes have come with the ids
    before = version_before(version);
    row.old_size = version.size;
  } else {
    before = version_before({});
  }
  row.row = static_cast<std::uint32_t>(batch.keys[change] >> 32);
  row.from = row.old_ends = row.ends = view::kNoEnd;
  row.first_change = row.first_inserted = change;
  row.end_change = change + 1;
  row.old = newest;
  row.fresh_size = row.old_size - before.ended;
  judge_change(graph, updates, change, newest, before, found, batch);
  if (second != kNoChange) judge_change(graph, updates, second, newest, before, found_second, batch);
  bool is_usual = (batch.states[change] & kEffective) == 0 ||
                  plan_change(graph, change, 0, found.less, batch, before, row);
  if (second != kNoChange && (batch.states[second] & kEffective) != 0)
    is_usual = plan_change(graph, second, 1, found_second.less, batch, before, row) && is_usual;
  if (is_renewed(row) && graph.most_entries != 0 && row.fresh_size > graph.most_entries)
    device::device_wide(batch.too_long).store(1, device::Order::kRelaxed);
  if (is_renewed(row) && row.old_size > kMostOfWarp) is_usual = false;
  if (!is_usual || !reserve(graph, row, in_head, kept))
    device::device_wide(batch.failed).store(1, device::Order::kRelaxed);
  note_parts(row, change, batch);
  batch.row_of[change] = change;
  if (second != kNoChange) leave_to_first(second, change, batch);
}

// Prepares the rows of a warp: those of the changes `first`, `first` + `step` and so on, each looked up by so
// many lanes.
template <std::uint32_t lanes, class Warp, class Batch, class Kept>
MOTIFLUX_DEVICE void prepare_rows(const Warp& warp, const StreamGraph& graph, const Update* updates,
                                  std::uint32_t first, std::uint32_t step, Batch& batch, Kept& kept) {
  static_assert(lanes == Warp::kLanes || lanes * kRowsOfWarp == Warp::kLanes);
  std::uint32_t change;
  const bool has_row = has_change(batch, first, step, warp.lane() / lanes, change);
  const bool owns = has_row && warp.lane() % lanes == 0;
  const std::uint64_t key = has_row ? batch.keys[change] : 0;
  const auto row = static_cast<std::uint32_t>(key >> 32);
  std::uint32_t newest = kNoBlock;
  bool in_head = false;
  if (has_row) {
    newest = newest_of(graph, row);
    in_head = has_room_in_head(graph, row);
  }
  const std::uint64_t step_begun = begin_step();
  const std::uint32_t second = has_row ? batch.second_of(change) : kNoChange;
  const std::uint32_t turns = batch.pairs != 0 && warp.ballot(second != kNoChange) != 0 ? 2 : 1;
  FoundId found{}, found_second{};
#pragma unroll 1  // the code is long
  for (std::uint32_t turn = turns; turn-- > 0;) {
    const bool is_first = turn == 0, is_there = is_first || second != kNoChange;
    const std::uint64_t wanted = is_first ? key : (is_there ? batch.keys[second] : 0);
    found_second = found;
    found = find_id<lanes>(warp, graph, is_there ? newest : kNoBlock, static_cast<std::uint32_t>(wanted));
  }
  if (first == 0) end_step(warp, batch, Step::kFound, step_begun);
  if (owns) prepare_row(graph, updates, change, second, newest, in_head, found, found_second, batch, kept);
}

}  // namespace detail

// Prepares the rows of a batch of few changes, by a warp: those of the changes `warp_number`, and as many
// after that as there are `warps`. What is not usual is noted: then nothing is changed. `alone`: a warp has
// one change at most.
template <bool alone, class Warp, class Batch, class Kept>
MOTIFLUX_DEVICE void prepare_few(const Warp& warp, std::uint32_t warp_number, std::uint32_t warps,
                                 const StreamGraph& graph, const Update* updates, Batch& batch, Kept& kept) {
  constexpr std::uint32_t kLanesOfRow = alone ? Warp::kLanes : Warp::kLanes / kRowsOfWarp;
  constexpr std::uint32_t kRows = Warp::kLanes / kLanesOfRow;
  for (std::uint32_t first = warp_number; first < batch.changes; first += kRows * warps)
    detail::prepare_rows<kLanesOfRow>(warp, graph, updates, first, warps, batch, kept);
}

// Gives back what was taken for a batch that is not usual.
template <class Team, class Batch>
MOTIFLUX_DEVICE void give_back_few(const Team& team, const StreamGraph& graph, const Batch& batch) {
  detail::for_each(team, batch.changes, [&](std::uint32_t i) { detail::give_back(graph, batch.written[i]); });
  team.sync();
}

}  // namespace motiflux::streaming
