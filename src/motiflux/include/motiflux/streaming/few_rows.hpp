// Batches of few changes, each of a row of its own: most batches of a stream. Nothing is sorted, and the team
// waits for all its threads twice: whether there is memory for all rows, and before the batch is published.
//
//   warp 0          rows 0, n, 2n, ...     n warps write rows, each up to kRowsOfWarp at a time: lane i has
//   warp 1          rows 1, n + 1, ...     the i-th of them, and all lanes look through the entries of each
//   last but one    works of executors
//   last            the next batch         reads lines and lists changes while the others write
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
// Rows of more entries are written by all warps together. Of an edge's entry that is looked for in a row, so
// many are left before all of these are looked at.
#if defined(MOTIFLUX_CHECKS_VERSIONS)
inline constexpr std::uint32_t kMostOfWarp = 6, kMostOfPart = 1;  // so that tests have all
#else
inline constexpr std::uint32_t kMostOfWarp = 4096, kMostOfPart = 32;
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

inline constexpr std::uint32_t kStrips = 2;  // of entries of a row that are looked at together
static_assert(kMostOfPart + 32 <= kStrips * 32);

// Ids of the rows of a warp, which waits for those of all rows at once. The first lanes have rows.
template <std::uint32_t rows>
struct IdsOfRows {
  std::uint32_t blocks[rows], sizes[rows], wanted[rows];
  std::uint32_t first[rows];           // the first entry that is looked at
  std::uint32_t found[rows][kStrips];  // ids from there on

  MOTIFLUX_DEVICE const std::uint32_t* ids(const StreamGraph& graph, std::uint32_t row) const {
    return graph.version(blocks[row])->ids();
  }

  // Reads the first entries. Sizes are on their way with the ids, so more is read than there may be.
  template <class Warp>
  MOTIFLUX_DEVICE void read(const Warp& warp, const StreamGraph& graph, std::uint32_t block,
                            std::uint32_t id) {
    const std::uint64_t units = graph.pool.units;
    for (std::uint32_t row = 0; row < rows; ++row) {
      blocks[row] = warp.broadcast(block, row);
      wanted[row] = warp.broadcast(id, row);
      first[row] = 0;
    }
    const std::uint32_t size = block != kNoBlock ? graph.version(block)->size : 0;
    for (std::uint32_t row = 0; row < rows; ++row)
      for (std::uint32_t strip = 0; strip < kStrips; ++strip) {
        const std::uint32_t entry = strip * Warp::kLanes + warp.lane();
        const std::uint64_t unit = blocks[row] + view::bytes_of_version(entry) / kUnitBytes + 1;
        found[row][strip] = blocks[row] != kNoBlock && unit < units ? ids(graph, row)[entry] : 0;
      }
    for (std::uint32_t row = 0; row < rows; ++row) sizes[row] = warp.broadcast(size, row);
  }

  // Has those rows that are longer read where the wanted ids are, by parts of all rows at a time.
  template <class Warp>
  MOTIFLUX_DEVICE void narrow(const Warp& warp, const StreamGraph& graph) {
    constexpr std::uint32_t kMost =
        kMostOfPart < 32 ? kMostOfPart : kStrips * 32;  // of a row that is read whole
    std::uint32_t end[rows];                            // the first entry that is not less is in [first, end]
    bool goes_on = false;
    for (std::uint32_t row = 0; row < rows; ++row) {
      end[row] = sizes[row] > kMost ? sizes[row] : 0;
      goes_on |= end[row] != 0;
    }
    if (!goes_on) return;
    while (goes_on) {
      bool is_less[rows];
      for (std::uint32_t row = 0; row < rows; ++row) {
        const std::uint32_t step = (end[row] - first[row] + Warp::kLanes - 1) / Warp::kLanes;
        const std::uint32_t last = first[row] + (warp.lane() + 1) * step - 1;  // of the lane's part
        const bool is_there = end[row] > first[row] + kMostOfPart && last < end[row];
        is_less[row] = is_there && ids(graph, row)[last] < wanted[row];
      }
      goes_on = false;
      for (std::uint32_t row = 0; row < rows; ++row) {
        const std::uint32_t parts = count_bits(warp.ballot(is_less[row]));
        if (end[row] <= first[row] + kMostOfPart) continue;
        const std::uint32_t step = (end[row] - first[row] + Warp::kLanes - 1) / Warp::kLanes;
        first[row] += parts * step;
        if (end[row] - first[row] > step) end[row] = first[row] + step;
        goes_on |= end[row] > first[row] + kMostOfPart;
      }
    }
    for (std::uint32_t row = 0; row < rows; ++row)
      for (std::uint32_t strip = 0; strip < kStrips; ++strip) {
        const std::uint32_t entry = first[row] + strip * Warp::kLanes + warp.lane();
        if (sizes[row] > kMost) found[row][strip] = entry < sizes[row] ? ids(graph, row)[entry] : 0;
      }
  }

  // The living entry of the lane's row that has the wanted id, or kNoEntry.
  template <class Warp>
  MOTIFLUX_DEVICE std::uint32_t find(const Warp& warp, const StreamGraph& graph, std::uint32_t id) const {
    std::uint32_t mine[kStrips] = {};  // of the lane's row, which entries have the id
    std::uint32_t block = kNoBlock, size = 0, begin = 0;
    bool is_beyond = false;  // whether entries behind those that were read may have it, too
    for (std::uint32_t row = 0; row < rows; ++row) {
      const bool is_own = warp.lane() == row;
      for (std::uint32_t strip = 0; strip < kStrips; ++strip) {
        const std::uint32_t entry = first[row] + strip * Warp::kLanes + warp.lane();
        const bool is_there = entry < sizes[row];
        const std::uint32_t equal = warp.ballot(is_there && found[row][strip] == wanted[row]);
        if (is_own) mine[strip] = equal;
      }
      const std::uint32_t through = first[row] + kStrips * Warp::kLanes;
      const std::uint32_t last = warp.broadcast(found[row][kStrips - 1], Warp::kLanes - 1);
      if (!is_own) continue;
      block = blocks[row], size = sizes[row], begin = first[row];
      is_beyond = through < size && last <= wanted[row];
    }
    std::uint32_t entry = kNoEntry;
    for (std::uint32_t strip = 0; strip < kStrips; ++strip)
      for (std::uint32_t equal = mine[strip]; equal != 0 && entry == kNoEntry; equal &= equal - 1) {
        const std::uint32_t at = begin + strip * Warp::kLanes + lowest_bit(equal);
        if (lives_of(*graph.version(block), size)[at].last == view::Life::kForever) entry = at;
      }
    if (entry == kNoEntry && is_beyond) entry = find_living(*graph.version(block), id);
    return entry;
  }
};

// The living entry of an id in the lane's row, whose newest version is given, or kNoEntry; the first lanes
// have rows.
template <std::uint32_t rows, class Warp>
MOTIFLUX_DEVICE std::uint32_t find_in_rows(const Warp& warp, const StreamGraph& graph, std::uint32_t newest,
                                           std::uint32_t id) {
  IdsOfRows<rows> ids;
  ids.read(warp, graph, newest, id);
  ids.narrow(warp, graph);
  return ids.find(warp, graph, id);
}

// The same as plan_row for a row with one change, of which it knows the newest version.
MOTIFLUX_DEVICE void plan_only_change(const StreamGraph& graph, std::uint64_t moment, bool inserts,
                                      bool effective, WrittenRow& row) {
  std::uint64_t began = 0;
  std::uint32_t ended = 0;
  if (row.old != kNoBlock) {
    const view::Version& version = *graph.version(row.old);
    began = version.first;
    row.old_size = version.size;
    ended = version.ended;
  }
  row.from = effective && (inserts || moment - began > graph.farthest_end) ? moment : view::kNoEnd;
  const bool ends_old = effective && !inserts && row.from == view::kNoEnd;
  row.old_ends = ends_old ? moment : view::kNoEnd;
  row.ends = effective && !inserts && !ends_old ? moment : view::kNoEnd;
  row.inserted = effective && inserts ? 1 : 0;
  row.old_ended = ends_old ? 1 : 0;
  row.ended = row.ends != view::kNoEnd ? 1 : 0;
  row.fresh_size = row.old_size - ended - row.old_ended + row.inserted;
}

// Judges the changes of a warp's rows, and takes memory for them; notes in `failed` what it cannot do. The
// first lanes have changes, others none: `change` is not less than their number.
template <std::uint32_t rows, class Warp, class Batch, class Kept>
MOTIFLUX_DEVICE void prepare_rows(const Warp& warp, const StreamGraph& graph, const Update* updates,
                                  std::uint32_t change, Batch& batch, Kept& kept) {
  const bool has_row = change < batch.changes;
  const std::uint64_t key = has_row ? batch.keys[change] : 0;
  const auto row_number = static_cast<std::uint32_t>(key >> 32);
  std::uint32_t newest = kNoBlock;
  bool in_head = false;
  if (has_row) {
    newest = newest_of(graph, row_number);
    in_head = has_room_in_head(graph, row_number);
  }
  const std::uint32_t entry = find_in_rows<rows>(warp, graph, newest, static_cast<std::uint32_t>(key));
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
  WrittenRow row{};
  row.row = row_number;
  row.first_change = row.first_inserted = change;
  row.end_change = change + 1;
  row.old = newest;
  plan_only_change(graph, batch.moment(change), inserts, effective, row);
  if (is_renewed(row) && graph.most_entries != 0 && row.fresh_size > graph.most_entries)
    device::device_wide(batch.too_long).store(1, device::Order::kRelaxed);
  const bool is_usual = !is_renewed(row) || (inserts && row.old_size <= kMostOfWarp);
  if (!is_usual || !reserve(graph, row, in_head, kept))
    device::device_wide(batch.failed).store(1, device::Order::kRelaxed);
  batch.written[change] = row;
}

// Where the next living entries of a row go, and the one that is inserted among them.
struct CopiedRow {
  std::uint32_t* ids = nullptr;
  view::Life* lives = nullptr;
  std::uint32_t inserted = 0;
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

// A strip of the entries of a warp's rows that get new versions: these rows one after another. A row without
// entries has one strip.
template <class Batch>
class Strip {
 public:
  MOTIFLUX_DEVICE Strip(const Batch& batch, std::uint32_t first, std::uint32_t step)
      : batch_(batch), change_(first), step_(step), end_(first + kRowsOfWarp * step) {
    if (end_ > batch.changes) end_ = batch.changes;
    skip();
  }

  MOTIFLUX_DEVICE bool is_there() const { return change_ < end_; }
  MOTIFLUX_DEVICE const WrittenRow& row() const { return batch_.written[change_]; }
  MOTIFLUX_DEVICE std::uint32_t begin() const { return begin_; }
  MOTIFLUX_DEVICE bool is_last() const { return begin_ + 32 >= row().old_size; }

  MOTIFLUX_DEVICE void advance() {
    if (!is_last()) {
      begin_ += 32;
      return;
    }
    begin_ = 0;
    change_ += step_;
    skip();
  }

 private:
  MOTIFLUX_DEVICE void skip() {
    while (change_ < end_ && !is_renewed(row())) change_ += step_;
  }

  const Batch& batch_;
  std::uint32_t change_, step_, end_, begin_ = 0;
};

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

// Writes what is known of a lane's row without its entries, and what readers of the old version need.
template <class Batch>
MOTIFLUX_DEVICE void write_ends(const StreamGraph& graph, const Batch& batch, std::uint32_t change) {
  const WrittenRow& row = batch.written[change];
  if ((batch.states[change] & kEndsOld) != 0) {
    view::Version& old = *graph.version(row.old);
    device::device_wide(lives_of(old, row.old_size)[batch.entries[change]].last)
        .store(static_cast<std::uint32_t>(batch.moment(change) - old.first), device::Order::kRelaxed);
  }
  note_ends(graph, row);
  if (!is_renewed(row)) return;
  view::Version& fresh = *graph.version(row.fresh);
  fresh.size = row.fresh_size;
  fresh.first = row.from;
  fresh.clean_from = 0;
  fresh.clean_until = view::Life::kForever;
  fresh.row = row.row;
  fresh.ended = 0;
  install_old(graph, row, link_cut(graph, batch, change));
}

// Writes a row that was prepared, the only one of its warp.
template <class Warp, class Batch>
MOTIFLUX_DEVICE void write_only_row(const Warp& warp, const StreamGraph& graph, Batch& batch,
                                    std::uint32_t change) {
  constexpr std::uint32_t kAtOnce = 8;  // strips that the warp waits for at once
  const WrittenRow& row = batch.written[change];
  const bool renews = is_renewed(row);
  const std::uint32_t size = renews ? row.old_size : 0;
  view::Version& old = *graph.version(row.old);
  const std::uint32_t* ids = old.ids();
  const view::Life* lives = lives_of(old, size);
  CopiedRow copied = copied_row(graph, batch, row);
  for (std::uint32_t first = 0;; first += kAtOnce * Warp::kLanes) {
    std::uint32_t found[kAtOnce], last[kAtOnce];
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      const std::uint32_t entry = first + k * Warp::kLanes + warp.lane();
      found[k] = entry < size ? ids[entry] : 0;
      last[k] = entry < size ? lives[entry].last : 0;
    }
    // The first entries are on their way meanwhile.
    if (first == 0 && warp.leads()) write_ends(graph, batch, change);
    warp.sync();
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      if (first + k * Warp::kLanes >= size) break;
      copied.write(warp, found[k], last[k] == view::Life::kForever);
    }
    if (first + kAtOnce * Warp::kLanes >= size) break;
  }
  if (!renews) return;
  if (warp.leads()) copied.end();
  warp.sync();
  if (warp.leads()) install_new(graph, row);
}

// Writes a warp's rows that were prepared: those of the changes `first`, `first` + `step` and so on.
template <class Warp, class Batch>
MOTIFLUX_DEVICE void write_rows(const Warp& warp, const StreamGraph& graph, Batch& batch, std::uint32_t first,
                                std::uint32_t step) {
  constexpr std::uint32_t kAtOnce = 8;  // strips that the warp waits for at once
  const std::uint32_t own = first + warp.lane() * step;
  const bool has_row = warp.lane() < kRowsOfWarp && own < batch.changes;
  Strip<Batch> read(batch, first, step), written = read;
  CopiedRow copied{};
  bool is_first = true;
  while (is_first || written.is_there()) {
    std::uint32_t found[kAtOnce], last[kAtOnce];
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      found[k] = last[k] = 0;
      if (!read.is_there()) continue;
      const WrittenRow& row = read.row();
      const std::uint32_t entry = read.begin() + warp.lane();
      if (entry < row.old_size) {
        view::Version& old = *graph.version(row.old);
        found[k] = old.ids()[entry];
        last[k] = lives_of(old, row.old_size)[entry].last;
      }
      read.advance();
    }
    // The first entries are on their way meanwhile.
    if (is_first && has_row) write_ends(graph, batch, own);
    is_first = false;
    warp.sync();
    for (std::uint32_t k = 0; k < kAtOnce && written.is_there(); ++k) {
      if (written.begin() == 0) copied = copied_row(graph, batch, written.row());
      copied.write(warp, found[k], last[k] == view::Life::kForever);
      if (written.is_last() && warp.leads()) copied.end();
      written.advance();
    }
  }
  warp.sync();
  if (has_row && is_renewed(batch.written[own])) install_new(graph, batch.written[own]);
}

}  // namespace detail

// Prepares the rows of a batch of few changes, by a warp: those of the changes `warp_number`, and as many
// after that as there are `warps`. What is not usual is noted: then nothing is changed.
template <class Warp, class Batch, class Kept>
MOTIFLUX_DEVICE void prepare_few(const Warp& warp, std::uint32_t warp_number, std::uint32_t warps,
                                 const StreamGraph& graph, const Update* updates, Batch& batch, Kept& kept) {
  if (batch.changes <= warps) {
    if (warp_number < batch.changes)
      detail::prepare_rows<1>(warp, graph, updates, warp.leads() ? warp_number : batch.changes, batch, kept);
    return;
  }
  for (std::uint32_t first = warp_number; first < batch.changes; first += kRowsOfWarp * warps) {
    const bool has_row = warp.lane() < kRowsOfWarp;
    detail::prepare_rows<kRowsOfWarp>(warp, graph, updates,
                                      has_row ? first + warp.lane() * warps : batch.changes, batch, kept);
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
  if (batch.changes <= warps) {
    if (warp_number < batch.changes) detail::write_only_row(warp, graph, batch, warp_number);
    return;
  }
  for (std::uint32_t first = warp_number; first < batch.changes; first += kRowsOfWarp * warps)
    detail::write_rows(warp, graph, batch, first, warps);
}

}  // namespace motiflux::streaming
