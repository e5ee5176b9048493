// Entries of the new versions of a batch of few changes: strips of old versions, which all warps that write
// copy, each as many as another one.
//
//   strips   | row 0 | row 0 | row 2 | row 3 | row 3 | row 3 | ...       of kStrip entries
//   warps        0       1       2       0       1       2
//
// Where an entry goes is known before it is read: behind the inserted one by one place more, and by one less
// for each entry before it whose lifetime ended. So strips of a row do not wait for each other. Of a row
// whose ended entries are not known, one warp counts those that survive.
#pragma once

#include "motiflux/streaming/few_rows.hpp"

namespace motiflux::streaming {

namespace detail {

// Writes a life by one access: lives are aligned to 8 bytes in a version.
MOTIFLUX_DEVICE void write_life(view::Life& life, std::uint32_t first, std::uint32_t last) {
#if defined(__CUDACC_RTC__)
  *reinterpret_cast<std::uint64_t*>(&life) = std::uint64_t{last} << 32 | first;
#else
  life = {first, last};
#endif
}

// The strips of a batch, and which of them a warp copies.
struct DealtStrips {
  static constexpr std::uint32_t kParts = kMostFew / 32;

  std::uint32_t before[kParts];  // strips before those of the lane's changes
  std::uint32_t first, step, end;

  template <class Warp, class Batch>
  MOTIFLUX_DEVICE DealtStrips(const Warp& warp, std::uint32_t warp_number, std::uint32_t warps,
                              const Batch& batch)
      : first(kDealsStrips ? warp_number : 0), step(kDealsStrips ? warps : 1), end(0) {
    for (std::uint32_t part = 0; part < kParts; ++part) {
      const std::uint32_t change = part * Warp::kLanes + warp.lane();
      const bool is_own = kDealsStrips || change % warps == warp_number;
      const std::uint32_t strips = change < batch.changes && is_own ? batch.strips[change] : 0;
      before[part] = end + warp.sums_before(strips);
      end = warp.broadcast(before[part] + strips, Warp::kLanes - 1);
    }
  }

  // The change that a strip is of, and its first entry.
  template <class Warp>
  MOTIFLUX_DEVICE std::uint32_t change_of(const Warp& warp, std::uint32_t strip, std::uint32_t& entry) const {
    std::uint32_t through = 0;
    for (const std::uint32_t other : before) through += count_bits(warp.ballot(other <= strip));
    const std::uint32_t change = through - 1;
    std::uint32_t begin = warp.broadcast(before[0], change % Warp::kLanes);
    for (std::uint32_t part = 1; part < kParts; ++part) {
      const std::uint32_t other = warp.broadcast(before[part], change % Warp::kLanes);
      if (change / Warp::kLanes == part) begin = other;
    }
    entry = (strip - begin) * kStrip;
    return change;
  }
};

// Some strips, whose entries a warp waits for at once.
template <std::uint32_t at_once>
struct StripsAtOnce {
  static constexpr std::uint32_t kOfLane = (kStrip + 31) / 32;  // entries of a strip
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t changes[at_once], entries[at_once];  // kNone: there is no strip; its first entry
  std::uint32_t ids[at_once][kOfLane];

  // Whether the lane's entry of a strip is there.
  template <class Warp>
  static MOTIFLUX_DEVICE bool has(const Warp& warp, std::uint32_t number, std::uint32_t entry,
                                  const WrittenRow& row) {
    return number * 32 + warp.lane() < kStrip && entry < row.old_size;
  }

  template <class Warp, class Batch>
  MOTIFLUX_DEVICE void read(const Warp& warp, const StreamGraph& graph, const Batch& batch,
                            const DealtStrips& dealt, std::uint32_t first) {
    for (std::uint32_t strip = 0; strip < at_once; ++strip) {
      changes[strip] = kNone;
      for (std::uint32_t& id : ids[strip]) id = 0;
      if (first + strip * dealt.step >= dealt.end) continue;
      const std::uint32_t change = dealt.change_of(warp, first + strip * dealt.step, entries[strip]);
      changes[strip] = change;
      const WrittenRow& row = batch.written[change];
      const std::uint32_t* from = graph.version(row.old)->ids();
      for (std::uint32_t number = 0; number < kOfLane; ++number) {
        const std::uint32_t entry = entries[strip] + number * 32 + warp.lane();
        if (has(warp, number, entry, row)) ids[strip][number] = from[entry];
      }
    }
  }

  template <class Warp, class Batch>
  MOTIFLUX_DEVICE void write(const Warp& warp, const StreamGraph& graph, const Batch& batch,
                             std::uint32_t strip) const {
    const WrittenRow& row = batch.written[changes[strip]];
    const VersionBefore& before = batch.before[changes[strip]];
    view::Version& fresh = *graph.version(row.fresh);
    std::uint32_t* to = fresh.ids();
    view::Life* lives = lives_of(fresh, row.fresh_size);
    for (std::uint32_t number = 0; number < kOfLane; ++number) {
      const std::uint32_t entry = entries[strip] + number * 32 + warp.lane();
      std::uint32_t place;
      if (!before.lives(entry, place) || !has(warp, number, entry, row)) continue;
      place += before.inserted_before(entry);
      write_life(lives[place], 0, before.end_of(entry));
      to[place] = ids[strip][number];
    }
  }
};

// Writes what a row's changes insert. `before`: how many entries that live on are before that of each.
template <class Batch>
MOTIFLUX_DEVICE void insert_entries(const StreamGraph& graph, const Batch& batch, const WrittenRow& row,
                                    const std::uint32_t (&before)[2]) {
  view::Version& fresh = *graph.version(row.fresh);
  const std::uint32_t changes[2] = {row.first_change, batch.second_of(row.first_change)};
  const auto& less = batch.before[row.first_change].less;
  for (std::uint32_t number = 0; number < 2; ++number) {
    if (less[number] == kNoEntry) continue;
    const auto id = static_cast<std::uint32_t>(batch.keys[changes[number]]);
    const bool is_behind =
        less[1 - number] != kNoEntry && static_cast<std::uint32_t>(batch.keys[changes[1 - number]]) < id;
    const std::uint32_t place = before[number] + (is_behind ? 1 : 0);
    fresh.ids()[place] = id;
    write_life(lives_of(fresh, row.fresh_size)[place],
               static_cast<std::uint32_t>(batch.moment(changes[number]) - row.from), view::Life::kForever);
  }
}

// Copies a row whose ended entries are not known, and inserts the new ones.
template <class Warp, class Batch>
MOTIFLUX_DEVICE_CALL void copy_row(const Warp& warp, const StreamGraph& graph, const Batch& batch,
                                   std::uint32_t change) {
  constexpr std::uint32_t kAtOnce = 8;  // entries of a lane
  const WrittenRow& row = batch.written[change];
  view::Version &old = *graph.version(row.old), &fresh = *graph.version(row.fresh);
  const view::Life* lives = lives_of(old, row.old_size);
  const VersionBefore& known = batch.before[change];
  std::uint32_t survived = 0, before[2] = {};
  for (std::uint32_t first = 0; first < row.old_size; first += kAtOnce * Warp::kLanes) {
    std::uint32_t ids[kAtOnce], last[kAtOnce];
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      const std::uint32_t entry = first + k * Warp::kLanes + warp.lane();
      ids[k] = entry < row.old_size ? old.ids()[entry] : 0;
      last[k] = entry < row.old_size ? lives[entry].last : 0;
    }
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      const std::uint32_t entry = first + k * Warp::kLanes + warp.lane();
      const bool survives = last[k] == view::Life::kForever;
      const std::uint32_t surviving = warp.ballot(survives);
      const std::uint32_t place =
          survived + count_bits(surviving & bits_below(warp.lane())) + known.inserted_before(entry);
      if (survives) {
        fresh.ids()[place] = ids[k];
        write_life(lives_of(fresh, row.fresh_size)[place], 0, known.end_of(entry));
      }
      survived += count_bits(surviving);
      for (std::uint32_t number = 0; number < 2; ++number)
        before[number] += count_bits(warp.ballot(survives && entry < known.less[number]));
    }
  }
  if (warp.leads()) insert_entries(graph, batch, row, before);
}

}  // namespace detail

}  // namespace motiflux::streaming
