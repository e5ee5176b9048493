// Batches of few changes, each of a row of its own: most batches of a stream. Nothing is sorted, and the team
// waits for all its threads twice: whether there is memory for all rows, and before the batch is published.
//
//   warp 0        rows 0, n, 2n, 3n         n warps write rows, each up to kRowsOfWarp of them at a time:
//   lane warp 1        rows 1, n + 1, ...        i has the i-th, and all lanes look through the entries of
//   each last but one  works of executors last          the next batch            it reads lines and lists
//   changes while the others write
//
// The lanes of a warp stay together: what the rows of a warp wait for is on its way at the same time. Groups
// of fewer lanes would wait one after another.
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
inline constexpr std::uint32_t kRowsOfWarp = 4;
// Rows of a warp with at most so many entries are read together, longer ones one after another; still longer
// ones by all warps together.
#if defined(MOTIFLUX_CHECKS_VERSIONS)
inline constexpr std::uint32_t kMostTogether = 3, kMostOfWarp = 6;  // so that tests have all
#else
inline constexpr std::uint32_t kMostTogether = 64, kMostOfWarp = 4096;
#endif

// Updates whose changes are few, and these changes, in shared memory.
struct FewChanges {
  std::uint32_t updates;  // 0: there are none
  std::uint32_t count;
  std::uint32_t failed, too_long;  // as of a batch
  std::uint64_t keys[kMostFew];
  std::uint32_t update_of[kMostFew];  // as BatchOf::update_of
  Update updates_of_batch[32];
};

// A batch whose changes are few, as each thread has it: `few` and arrays of a larger batch.
template <class Batch>
struct FewBatch {
  std::uint64_t first;
  std::uint32_t updates, changes, rows;
  std::uint32_t &failed, &too_long;
  std::uint64_t* keys;
  std::uint32_t *update_of, *states, *row_of, *inserted, *newest, *entries;
  WrittenRow* written;
  StepTimes* times;

  // `first`: the moment of the first update.
  MOTIFLUX_DEVICE FewBatch(FewChanges& few, Batch& batch, std::uint64_t first, StepTimes* times)
      : first(first),
        updates(few.updates),
        changes(few.count),
        rows(few.count),
        failed(few.failed),
        too_long(few.too_long),
        keys(few.keys),
        update_of(few.update_of),
        states(batch.states),
        row_of(batch.row_of),
        inserted(batch.inserted),
        newest(batch.newest),
        entries(batch.entries),
        written(batch.written),
        times(times) {}

  MOTIFLUX_DEVICE std::uint64_t moment(std::uint32_t change) const {
    return first + (update_of[change] & ~Batch::kFirstPlace);
  }
  MOTIFLUX_DEVICE bool is_effective(std::uint32_t change, std::uint32_t inserts) const {
    return (states[change] & (kEffective | kInserts)) == (kEffective | inserts);
  }

  static constexpr std::uint32_t kFirstPlace = Batch::kFirstPlace;
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

// The first update that changes a row again; kLanes if there is none.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t find_repeating(const Lanes& lanes, const FewChanges& few, std::uint32_t count) {
  constexpr std::uint32_t kParts = kMostFew / 32;
  std::uint32_t rows[kParts];
  bool repeats[kParts] = {};
  for (std::uint32_t part = 0; part < kParts; ++part) {
    const std::uint32_t change = lanes.lane() + part * Lanes::kLanes;
    rows[part] = change < count ? static_cast<std::uint32_t>(few.keys[change] >> 32) : 0;
  }
  for (std::uint32_t next = 0; next + 1 < count; ++next) {
    const auto other = static_cast<std::uint32_t>(few.keys[next] >> 32);
    for (std::uint32_t part = 0; part < kParts; ++part) {
      const std::uint32_t change = lanes.lane() + part * Lanes::kLanes;
      repeats[part] |= change > next && change < count && other == rows[part];
    }
  }
  for (std::uint32_t part = 0; part < kParts; ++part) {
    const std::uint32_t repeating = lanes.ballot(repeats[part]);
    if (repeating != 0)
      return few.update_of[part * Lanes::kLanes + lowest_bit(repeating)] & ~Batch::kFirstPlace;
  }
  return Lanes::kLanes;
}

}  // namespace detail

// Lists the first updates of some, whose changes are few, at most `most`, and each of a row of its own.
// Called by all lanes of a group.
template <class Lanes>
MOTIFLUX_DEVICE void list_few(const Lanes& lanes, const StreamGraph& graph, const Update* updates,
                              std::uint32_t count, std::uint32_t most, KnownPlaces& known, FewChanges& few) {
  constexpr std::uint32_t kParts = kMostFew / 32;
  static_assert(Lanes::kLanes * kParts == kMostFew);
  if (count > Lanes::kLanes) count = Lanes::kLanes;
  const std::uint32_t lane = lanes.lane();
  const Update own = updates[lane < count ? lane : 0];
  const std::uint32_t first_of = lanes.broadcast(own.of);
  if (first_of != known.of) know_places(lanes, graph, first_of, known);
  std::uint32_t places = lane < count ? known.count : 0;
  if (lane < count && own.of != known.of) places = detail::places_of(graph, own);
  const std::uint32_t before = lanes.sums_before(places);
  const std::uint32_t unfit = ~lanes.ballot(lane < count && places > 0 && before + places <= most);
  std::uint32_t fitting = unfit != 0 ? lowest_bit(unfit) : Lanes::kLanes;
  std::uint32_t changes = fitting != 0 ? lanes.broadcast(before + places, fitting - 1) : 0;
  std::uint32_t update[kParts] = {}, begin[kParts] = {};  // of the lane's changes
  for (std::uint32_t next = 1; next < fitting; ++next) {
    const std::uint32_t begins = lanes.broadcast(before, next);
    for (std::uint32_t part = 0; part < kParts; ++part)
      if (begins <= lane + part * Lanes::kLanes) update[part] = next, begin[part] = begins;
  }
  lanes.sync();  // all have left what was listed before
  for (std::uint32_t part = 0; part < kParts; ++part) {
    const std::uint32_t change = lane + part * Lanes::kLanes, number = change - begin[part];
    const std::uint32_t from = number % Lanes::kLanes;
    Place place{lanes.broadcast(known.place.first_row, from), lanes.broadcast(known.place.of_target, from)};
    if (change >= changes) continue;
    const Update of = updates[update[part]];
    if (of.of != known.of) place = graph.places[graph.classes[of.of] + number];
    const std::uint32_t row = place.first_row + (place.of_target != 0 ? of.target : of.source);
    few.keys[change] = std::uint64_t{row} << 32 | (place.of_target != 0 ? of.source : of.target);
    few.update_of[change] = update[part] | (number == 0 ? Batch::kFirstPlace : 0);
  }
  if (lane < fitting) few.updates_of_batch[lane] = own;
  lanes.sync();
  const std::uint32_t repeating = detail::find_repeating(lanes, few, changes);
  if (repeating < fitting) {
    fitting = repeating;
    changes = lanes.broadcast(before, repeating);
  }
  if (lanes.leads()) {
    few.updates = fitting;
    few.count = changes;
    few.failed = few.too_long = 0;
  }
  lanes.sync();
}

namespace detail {

// The lives of a version of so many entries.
MOTIFLUX_DEVICE view::Life* lives_of(view::Version& version, std::uint32_t size) {
  return reinterpret_cast<view::Life*>(version.ids() + size + size % 2);
}

inline constexpr std::uint32_t kStrips = 2;  // of a short row's entries
static_assert(kMostTogether <= kStrips * 32);

// The entry of each lane's row that has the lane's id and no end, or kNoEntry; the first lanes have rows, of
// `size` entries in a block. Called by all lanes of a warp.
template <class Warp>
MOTIFLUX_DEVICE std::uint32_t find_in_rows(const Warp& warp, const StreamGraph& graph, std::uint32_t block,
                                           std::uint32_t size, std::uint32_t id) {
  std::uint32_t blocks[kRowsOfWarp], sizes[kRowsOfWarp], ids[kRowsOfWarp];
  for (std::uint32_t row = 0; row < kRowsOfWarp; ++row) {
    blocks[row] = warp.broadcast(block, row);
    sizes[row] = warp.broadcast(size, row);
    ids[row] = warp.broadcast(id, row);
  }
  std::uint32_t found[kRowsOfWarp][kStrips], last[kRowsOfWarp][kStrips];
  for (std::uint32_t row = 0; row < kRowsOfWarp; ++row)
    for (std::uint32_t strip = 0; strip < kStrips; ++strip) {
      const std::uint32_t entry = strip * Warp::kLanes + warp.lane();
      const bool is_there = sizes[row] <= kMostTogether && entry < sizes[row];
      view::Version& version = *graph.version(blocks[row]);
      found[row][strip] = is_there ? version.ids()[entry] : 0;
      last[row][strip] = is_there ? lives_of(version, sizes[row])[entry].last : 0;
    }
  std::uint32_t mine = kNoEntry;
  for (std::uint32_t row = 0; row < kRowsOfWarp; ++row) {
    std::uint32_t entry = kNoEntry;
    for (std::uint32_t strip = kStrips; strip-- > 0;) {
      const bool lives = last[row][strip] == view::Life::kForever && found[row][strip] == ids[row];
      const std::uint32_t living = warp.ballot(lives);
      if (living != 0) entry = strip * Warp::kLanes + lowest_bit(living);
    }
    if (sizes[row] > kMostTogether) entry = find_living(warp, *graph.version(blocks[row]), ids[row]);
    if (warp.lane() == row) mine = entry;
  }
  return mine;
}

// Judges the changes of a warp's rows, and takes memory for them; notes in `failed` what it cannot do. The
// first lanes have changes, others none: `change` is not less than their number.
template <class Warp, class Batch, class Kept>
MOTIFLUX_DEVICE void prepare_rows(const Warp& warp, const StreamGraph& graph, const Update* updates,
                                  std::uint32_t change, Batch& batch, Kept& kept) {
  const bool has_row = change < batch.changes;
  const std::uint64_t key = has_row ? batch.keys[change] : 0;
  const auto row_number = static_cast<std::uint32_t>(key >> 32);
  std::uint32_t newest = kNoBlock, size = 0;
  bool in_head = false;
  if (has_row) {
    newest = newest_of(graph, row_number);
    in_head = has_room_in_head(graph, row_number);
    if (newest != kNoBlock) size = graph.version(newest)->size;
  }
  const std::uint32_t entry = find_in_rows(warp, graph, newest, size, static_cast<std::uint32_t>(key));
  if (!has_row) return;
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

// Where the next living entries of a row go, and the one that is inserted among them.
struct CopiedRow {
  std::uint32_t* ids;
  view::Life* lives;
  std::uint32_t inserted;
  std::uint32_t survived = 0, before = 0;  // of them, those before the inserted one

  template <class Lanes>
  MOTIFLUX_DEVICE void write(const Lanes& lanes, std::uint32_t id, bool survives) {
    const std::uint32_t surviving = lanes.ballot(survives);
    const bool is_before = id < inserted;
    const std::uint32_t place =
        survived + count_bits(surviving & bits_below(lanes.lane())) + (is_before ? 0 : 1);
    if (survives) {
      ids[place] = id;
      lives[place] = {0, view::Life::kForever};
    }
    survived += count_bits(surviving);
    before += count_bits(lanes.ballot(survives && is_before));
  }

  // The inserted one, once all are written; by one lane.
  MOTIFLUX_DEVICE void end() const {
    ids[before] = inserted;
    lives[before] = {0, view::Life::kForever};
  }
};

template <class Batch>
MOTIFLUX_DEVICE CopiedRow copied_row(const StreamGraph& graph, const Batch& batch, const WrittenRow& row) {
  view::Version& fresh = *graph.version(row.fresh);
  return {fresh.ids(), lives_of(fresh, row.fresh_size),
          static_cast<std::uint32_t>(batch.keys[row.first_change])};
}

// Copies the living entries of a long row to its new version, and the inserted one among them.
template <class Lanes, class Batch>
MOTIFLUX_DEVICE void copy_row(const Lanes& lanes, const StreamGraph& graph, const Batch& batch,
                              const WrittenRow& row) {
  constexpr std::uint32_t kAtOnce = 8;  // entries of a lane that it waits for at once
  CopiedRow copied = copied_row(graph, batch, row);
  for (std::uint32_t first = 0; first < row.old_size; first += kAtOnce * Lanes::kLanes) {
    view::Version& old = *graph.version(row.old);
    std::uint32_t found[kAtOnce];
    bool survives[kAtOnce];
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      const std::uint32_t entry = first + k * Lanes::kLanes + lanes.lane();
      const bool is_there = entry < row.old_size;
      found[k] = is_there ? old.ids()[entry] : 0;
      survives[k] = is_there && lives_of(old, row.old_size)[entry].last == view::Life::kForever;
    }
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      if (first + k * Lanes::kLanes >= row.old_size) break;
      copied.write(lanes, found[k], survives[k]);
    }
  }
  if (lanes.leads()) copied.end();
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

// Writes a warp's rows that were prepared: those of the changes `first`, `first` + `step` and so on.
template <class Warp, class Batch>
MOTIFLUX_DEVICE void write_rows(const Warp& warp, const StreamGraph& graph, Batch& batch, std::uint32_t first,
                                std::uint32_t step) {
  // Entries of short rows are on their way while headers are written.
  std::uint32_t found[kRowsOfWarp][kStrips], last[kRowsOfWarp][kStrips];
  for (std::uint32_t number = 0; number < kRowsOfWarp; ++number) {
    const std::uint32_t change = first + number * step;
    const WrittenRow& row = batch.written[change < batch.changes ? change : first];
    const bool is_copied = change < batch.changes && is_renewed(row) && row.old_size <= kMostTogether;
    view::Version& old = *graph.version(row.old);
    for (std::uint32_t strip = 0; strip < kStrips; ++strip) {
      const std::uint32_t entry = strip * Warp::kLanes + warp.lane();
      const bool is_there = is_copied && entry < row.old_size;
      found[number][strip] = is_there ? old.ids()[entry] : 0;
      last[number][strip] = is_there ? lives_of(old, row.old_size)[entry].last : 0;
    }
  }
  const std::uint32_t own = first + warp.lane() * step;
  const bool has_row = warp.lane() < kRowsOfWarp && own < batch.changes;
  const WrittenRow& mine = batch.written[has_row ? own : first];
  const bool installs = has_row && is_renewed(mine);
  if (has_row) {
    if ((batch.states[own] & kEndsOld) != 0) {
      view::Version& old = *graph.version(mine.old);
      device::device_wide(lives_of(old, mine.old_size)[batch.entries[own]].last)
          .store(static_cast<std::uint32_t>(batch.moment(own) - old.first), device::Order::kRelaxed);
    }
    note_ends(graph, mine);
  }
  if (installs) {
    write_header(graph, batch, mine);
    install_old(graph, mine, link_cut(graph, batch, own));
  }
  for (std::uint32_t number = 0; number < kRowsOfWarp; ++number) {
    const std::uint32_t change = first + number * step;
    if (change >= batch.changes) break;
    const WrittenRow& row = batch.written[change];
    if (!is_renewed(row)) continue;
    if (row.old_size > kMostTogether) {
      copy_row(warp, graph, batch, row);
      continue;
    }
    CopiedRow copied = copied_row(graph, batch, row);
    for (std::uint32_t strip = 0; strip < kStrips; ++strip)
      copied.write(warp, found[number][strip], last[number][strip] == view::Life::kForever);
    if (warp.leads()) copied.end();
  }
  warp.sync();
  if (installs) install_new(graph, mine);
}

}  // namespace detail

// Prepares the rows of a batch of few changes, by a warp: those of the changes `warp_number`, and as many
// after that as there are `warps`. What is not usual is noted: then nothing is changed.
template <class Warp, class Batch, class Kept>
MOTIFLUX_DEVICE void prepare_few(const Warp& warp, std::uint32_t warp_number, std::uint32_t warps,
                                 const StreamGraph& graph, const Update* updates, Batch& batch, Kept& kept) {
  for (std::uint32_t first = warp_number; first < batch.changes; first += kRowsOfWarp * warps) {
    const bool has_row = warp.lane() < kRowsOfWarp;
    detail::prepare_rows(warp, graph, updates, has_row ? first + warp.lane() * warps : batch.changes, batch,
                         kept);
  }
}

// Gives back what was taken for a batch that is not usual.
template <class Team, class Batch>
MOTIFLUX_DEVICE void give_back_few(const Team& team, const StreamGraph& graph, const Batch& batch) {
  detail::for_each(team, batch.changes, [&](std::uint32_t i) { detail::give_back(graph, batch.written[i]); });
  team.sync();
}

// Writes rows that were prepared, by a warp, likewise.
template <class Warp, class Batch>
MOTIFLUX_DEVICE void write_few(const Warp& warp, std::uint32_t warp_number, std::uint32_t warps,
                               const StreamGraph& graph, Batch& batch) {
  for (std::uint32_t first = warp_number; first < batch.changes; first += kRowsOfWarp * warps)
    detail::write_rows(warp, graph, batch, first, warps);
}

}  // namespace motiflux::streaming
