// Long rows of a batch, copied in strips by the warps of the updater and by executors without work.
//
//   rows       old version, new version, insertions, first strip; written by the updater
//   strips     0  1  2  3 | 4  5 | 6  7  8 ...   each of so many entries of one row
//   taken      a counter: who takes the next number copies that strip
//   survivors  of a strip, or of all of its row up to it, where entries have ended
//   done       another counter: the updater goes on when all are copied
//
// Nobody waits for a group that has not begun: a strip is taken when it is to be copied at once, and the
// updater's warps take strips, too. A strip's first place depends on the survivors of the strips before it,
// which were taken earlier: each tells its number before it waits for those of others.
#pragma once

#include "motiflux/streaming/batch.hpp"

namespace motiflux::streaming {

inline constexpr std::uint32_t kMostStrips = 4096;

// A row that is copied.
struct CopiedRow {
  std::uint32_t old, fresh;  // blocks of versions
  std::uint32_t old_size;
  std::uint32_t has_ended;  // whether entries of the old version have ended
  std::uint32_t first_strip;
  std::uint32_t first_inserted, inserted;
  std::uint32_t unused;
};

struct CopiedInsertion {
  std::uint32_t id, unused;
  view::Life life;
};

// In device memory; there is one, for the batch that is written.
struct CopiedRows {
  alignas(128) std::uint64_t taken;  // strips, in the high half, and those of them that are taken, or more
  alignas(128) std::uint32_t done;   // strips
  std::uint32_t rows;
  std::uint32_t strip;  // entries of a strip
  std::uint32_t unused;
  std::uint64_t copied;  // strips of all batches; by the updater
  std::uint64_t helped;  // of these, those that executors have copied
  alignas(128) CopiedRow of[kMostChanges];
  CopiedInsertion inserted[kMostChanges];
  std::uint64_t survivors[kMostStrips];
};

namespace detail {

// What is known of the survivors of a strip.
inline constexpr std::uint64_t kOfStrip = std::uint64_t{1} << 32;  // their number
inline constexpr std::uint64_t kOfRow = std::uint64_t{2} << 32;    // that of all strips of the row up to it

// The entries of a strip.
struct CopiedStrip {
  std::uint32_t number;  // of the strip
  std::uint32_t first, end;
  std::uint32_t inserted, end_inserted;  // insertions that are written before entries of the strip
};

// How many of some numbers, which ascend, are not greater than another one: `number(i)` is the i-th of them.
template <class Lanes, class Number>
MOTIFLUX_DEVICE std::uint32_t count_up_to(const Lanes& lanes, std::uint32_t count, std::uint64_t most,
                                          Number&& number) {
  std::uint32_t found = 0;
  for (std::uint32_t first = 0; first < count; first += Lanes::kLanes) {
    const std::uint32_t i = first + lanes.lane();
    const std::uint32_t part = count_bits(lanes.ballot(i < count && number(i) <= most));
    found += part;
    if (part < Lanes::kLanes) break;
  }
  return found;
}

// The first entry of some whose id is greater than another one, or their end.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t first_greater(const Lanes& lanes, const std::uint32_t* ids, std::uint32_t first,
                                            std::uint32_t end, std::uint32_t id) {
  while (first < end) {
    const std::uint32_t step = (end - first + Lanes::kLanes - 1) / Lanes::kLanes;
    const std::uint32_t last = first + (lanes.lane() + 1) * step - 1;  // of the lane's part
    const std::uint32_t parts = count_bits(lanes.ballot(last < end && ids[last] <= id));
    first += parts * step;
    if (step == 1) break;
    if (end - first >= step) end = first + step - 1;  // the last entry of this part is greater
  }
  return first;
}

// Writes lifetimes that begin with their version and have no end.
template <class Lanes>
MOTIFLUX_DEVICE void write_lives(const Lanes& lanes, view::Life* lives, std::uint32_t count) {
  struct alignas(16) Pair {
    view::Life lives[2];
  };
  constexpr view::Life kLife{0, view::Life::kForever};
  std::uint32_t first = reinterpret_cast<std::uintptr_t>(lives) / sizeof(view::Life) % 2;
  if (first > count) first = count;
  if (lanes.leads() && first != 0) lives[0] = kLife;
  const std::uint32_t pairs = (count - first) / 2;
  Pair* both = reinterpret_cast<Pair*>(lives + first);
  for (std::uint32_t i = lanes.lane(); i < pairs; i += Lanes::kLanes) both[i] = {{kLife, kLife}};
  if (lanes.leads() && first + 2 * pairs < count) lives[count - 1] = kLife;
}

// Copies entries that all survive to the entries from `place` on; returns the place behind them.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t copy_all(const Lanes& lanes, view::Version& old, view::Version& fresh,
                                       std::uint32_t first, std::uint32_t end, std::uint32_t place) {
  constexpr std::uint32_t kAtOnce = 8;  // loads of a lane on their way
  const std::uint32_t* from = old.ids() + first;
  std::uint32_t* to = fresh.ids() + place;
  const std::uint32_t count = end - first;
  write_lives(lanes, fresh.lives() + place, count);
  std::uint32_t i = lanes.lane();
  for (; i + (kAtOnce - 1) * Lanes::kLanes < count; i += kAtOnce * Lanes::kLanes) {
    std::uint32_t ids[kAtOnce];
    for (std::uint32_t k = 0; k < kAtOnce; ++k) ids[k] = from[i + k * Lanes::kLanes];
    for (std::uint32_t k = 0; k < kAtOnce; ++k) to[i + k * Lanes::kLanes] = ids[k];
  }
  for (; i < count; i += Lanes::kLanes) to[i] = from[i];
  return place + count;
}

// The same of those entries that have not ended.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t copy_survivors(const Lanes& lanes, view::Version& old, view::Version& fresh,
                                             std::uint32_t first, std::uint32_t end, std::uint32_t place) {
  constexpr std::uint32_t kAtOnce = 4;
  const std::uint32_t* ids = old.ids();
  const view::Life* lives = old.lives();
  for (; first < end; first += kAtOnce * Lanes::kLanes) {
    std::uint32_t found[kAtOnce];
    bool survives[kAtOnce];
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      const std::uint32_t entry = first + k * Lanes::kLanes + lanes.lane();
      survives[k] = entry < end && lives[entry].last == view::Life::kForever;
      found[k] = entry < end ? ids[entry] : 0;
    }
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      const std::uint32_t all = lanes.ballot(survives[k]);
      const std::uint32_t at = place + count_bits(all & bits_below(lanes.lane()));
      if (survives[k]) {
        fresh.ids()[at] = found[k];
        fresh.lives()[at] = {0, view::Life::kForever};
      }
      place += count_bits(all);
    }
  }
  return place;
}

template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t count_survivors(const Lanes& lanes, view::Version& old, std::uint32_t first,
                                              std::uint32_t end) {
  const view::Life* lives = old.lives();
  std::uint32_t count = 0;
  for (std::uint32_t entry = first + lanes.lane(); entry < end; entry += Lanes::kLanes)
    count += lives[entry].last == view::Life::kForever ? 1 : 0;
  return static_cast<std::uint32_t>(lanes.sum(count));
}

// The survivors of strips [first, number), of which each tells its own before it waits; false if the kernel
// ends.
template <class Lanes>
MOTIFLUX_DEVICE bool add_survivors(const Lanes& lanes, const Stages& stages, CopiedRows& rows,
                                   std::uint32_t first, std::uint32_t number, std::uint32_t& sum) {
  sum = 0;
  while (first < number) {
    const bool is_there = lanes.lane() < number - first;
    std::uint64_t found = 0;
    if (is_there)
      found = device::device_wide(rows.survivors[number - 1 - lanes.lane()]).load(device::Order::kRelaxed);
    const std::uint32_t of_row = lanes.ballot(found >= kOfRow);
    std::uint32_t needed = lanes.ballot(is_there);
    if (of_row != 0) needed &= bits_below(lowest_bit(of_row) + 1);
    if ((lanes.ballot(found != 0) & needed) != needed) {
      if (lanes.ballot(lanes.leads() && must_stop(stages)) != 0) return false;
      __nanosleep(32);
      continue;
    }
    const bool counts = (needed >> lanes.lane() & 1) != 0;
    sum += static_cast<std::uint32_t>(lanes.sum(counts ? static_cast<std::uint32_t>(found) : 0u));
    if (of_row != 0) return true;
    number -= number - first < Lanes::kLanes ? number - first : Lanes::kLanes;
  }
  return true;
}

// The place of a strip's first entry, without insertions; false if the kernel ends.
template <class Lanes>
MOTIFLUX_DEVICE bool find_place(const Lanes& lanes, const StreamGraph& graph, CopiedRows& rows,
                                const CopiedRow& row, const CopiedStrip& strip, std::uint32_t& place) {
  place = strip.first;
  if (row.has_ended == 0) return true;
  const std::uint32_t own = count_survivors(lanes, *graph.version(row.old), strip.first, strip.end);
  const auto tell = [&](std::uint64_t known) {
    if (lanes.leads())
      device::device_wide(rows.survivors[strip.number]).store(known, device::Order::kRelaxed);
  };
  if (strip.number > row.first_strip) tell(kOfStrip | own);
  if (!add_survivors(lanes, graph.stages, rows, row.first_strip, strip.number, place)) return false;
  tell(kOfRow | (place + own));
  return true;
}

template <class Lanes>
MOTIFLUX_DEVICE CopiedStrip open_strip(const Lanes& lanes, const StreamGraph& graph, const CopiedRows& rows,
                                       const CopiedRow& row, std::uint32_t number) {
  CopiedStrip strip{number, (number - row.first_strip) * rows.strip, 0, 0, row.inserted};
  strip.end = row.old_size - strip.first < rows.strip ? row.old_size : strip.first + rows.strip;
  if (row.inserted == 0) return strip;
  // An insertion is written before the first entry of a greater id.
  const std::uint32_t* ids = graph.version(row.old)->ids();
  const CopiedInsertion* inserted = rows.inserted + row.first_inserted;
  const auto before = [&](std::uint32_t id) {
    if (id == 0) return 0u;
    return count_up_to(lanes, row.inserted, id - 1, [&](std::uint32_t i) { return inserted[i].id; });
  };
  if (strip.first > 0) strip.inserted = before(ids[strip.first - 1]);
  if (strip.end < row.old_size) strip.end_inserted = before(ids[strip.end - 1]);
  return strip;
}

// Copies the survivors of a strip, and writes what is inserted between them; false if the kernel ends.
template <class Lanes>
MOTIFLUX_DEVICE bool copy_strip(const Lanes& lanes, const StreamGraph& graph, CopiedRows& rows,
                                std::uint32_t number) {
  const std::uint32_t of =
      count_up_to(lanes, rows.rows, number, [&](std::uint32_t i) { return rows.of[i].first_strip; }) - 1;
  const CopiedRow row = rows.of[of];
  const CopiedStrip strip = open_strip(lanes, graph, rows, row, number);
  std::uint32_t place;
  if (!find_place(lanes, graph, rows, row, strip, place)) return false;
  place += strip.inserted;
  view::Version &old = *graph.version(row.old), &fresh = *graph.version(row.fresh);
  std::uint32_t first = strip.first;
  for (std::uint32_t i = strip.inserted;; ++i) {
    const bool is_last = i == strip.end_inserted;
    const CopiedInsertion inserted = is_last ? CopiedInsertion{} : rows.inserted[row.first_inserted + i];
    const std::uint32_t end =
        is_last ? strip.end : first_greater(lanes, old.ids(), first, strip.end, inserted.id);
    place = row.has_ended != 0 ? copy_survivors(lanes, old, fresh, first, end, place)
                               : copy_all(lanes, old, fresh, first, end, place);
    if (is_last) return true;
    if (lanes.leads()) {
      fresh.ids()[place] = inserted.id;
      fresh.lives()[place] = inserted.life;
    }
    ++place;
    first = end;
  }
}

}  // namespace detail

// Copies strips of long rows, as long as there are any that nobody has taken; returns how many. Whoever has
// acquired the end of all of them sees what was written. Called by all lanes of a group.
template <class Lanes>
MOTIFLUX_DEVICE_CALL std::uint32_t copy_strips(const Lanes& lanes, const StreamGraph& graph) {
  CopiedRows& rows = *graph.copied;
  for (std::uint32_t copied = 0;; ++copied) {
    std::uint64_t taken = 0;
    if (lanes.leads())
      taken = device::device_wide(rows.taken).fetch_add(std::uint64_t{1}, device::Order::kAcqRel);
    taken = lanes.broadcast(taken);
    lanes.sync();
    const auto number = static_cast<std::uint32_t>(taken);
    if (number >= taken >> 32) return copied;
    if (!detail::copy_strip(lanes, graph, rows, number)) return copied;
    lanes.sync();
    if (lanes.leads()) device::device_wide(rows.done).fetch_add(1u, device::Order::kRelease);
  }
}

// The same by a group of executors that was asked to help. It gets nothing of the search by reference, which
// would not be in registers then.
template <class Lanes>
MOTIFLUX_DEVICE_CALL void help_to_copy(const StreamGraph& graph) {
  const Lanes lanes;
  const std::uint32_t copied = copy_strips(lanes, graph);
  if (lanes.leads() && copied != 0)
    device::device_wide(graph.copied->helped).fetch_add(std::uint64_t{copied}, device::Order::kRelaxed);
}

}  // namespace motiflux::streaming
