// Updates from the host's memory. Each is a line whose words tell by themselves that they are there, so that
// a look, which takes about a microsecond, brings the updates with it.
//
//   updates[moment % update_count]   | tag, source | tag, target | tag, kind | tag, insertion, judged |
//
// The host writes a line again when the collector tells it that the update there is read: it is published.
//
// The paper's updater waits until there are b updates, or for t microseconds; ours takes what is there.
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/lanes/clock.hpp"
#include "motiflux/streaming/stream.hpp"
#include "motiflux/streaming/updater.hpp"

namespace motiflux::streaming {

namespace detail {

// Whether to wait for more than the updates that are there. Called by one lane.
MOTIFLUX_DEVICE bool is_to_wait(const Stream& stream, Pending& pending, std::uint32_t ready) {
  if (ready == 0 || ready >= stream.batch_updates) {
    pending.waits_since = 0;
    return false;
  }
  const std::uint64_t now = lanes::nanoseconds();
  if (pending.waits_since == 0) pending.waits_since = now;
  if (now - pending.waits_since < stream.batch_nanoseconds) return true;
  pending.waits_since = 0;
  return false;
}

inline constexpr std::uint32_t kKindOfLine = 2;  // the word of an update's line that has its kind

// Copies the updates from `moment` + `count` on to `updates` behind `count` of them, as many as so many looks
// at once find, and counts them. `mine`: more than the kinds that the lane found. False: not all were there.
template <std::uint32_t looks, class Lanes>
MOTIFLUX_DEVICE bool read_some_lines(const Lanes& lanes, const Stream& stream, std::uint64_t moment,
                                     Update* updates, std::uint32_t& count, std::uint32_t& mine) {
  constexpr std::uint32_t kOfLook = Lanes::kLanes / kWordsOfUpdate;
  const std::uint32_t own = lanes.lane() / kWordsOfUpdate, word = lanes.lane() % kWordsOfUpdate;
  std::uint64_t found[looks];
  for (std::uint32_t look = 0; look < looks; ++look) {
    const UpdateLine& line =
        stream.updates[(moment + count + look * kOfLook + own) & (stream.update_count - 1)];
    found[look] =
        device::system_wide(const_cast<std::uint64_t&>(line.words[word])).load(device::Order::kRelaxed);
  }
  bool goes_on = true;
  for (const std::uint64_t tagged : found) {
    const bool is_there = static_cast<std::uint32_t>(tagged) == tag_of_line(moment + count + own);
    const std::uint32_t missing = ~lanes.ballot(is_there && goes_on) & bits_below(Lanes::kLanes);
    const std::uint32_t there = (missing != 0 ? lowest_bit(missing) : Lanes::kLanes) / kWordsOfUpdate;
    if (own < there) {
      const auto value = static_cast<std::uint32_t>(tagged >> 32);
      reinterpret_cast<std::uint32_t*>(updates + count + own)[word] = value;
      if (word == kKindOfLine && value >= mine) mine = value + 1;
    }
    count += there;
    goes_on = there == kOfLook;
  }
  return goes_on;
}

// Copies the updates from `moment` on to `updates`, as many as are there; at most kMostUpdates. Returns how
// many; `kinds` is more than the numbers of their kinds. Where there are many, a second time brings the rest.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t read_lines(const Lanes& lanes, const Stream& stream, std::uint64_t moment,
                                         Update* updates, std::uint32_t& kinds) {
  constexpr std::uint32_t kOfLook = Lanes::kLanes / kWordsOfUpdate, kFirst = 2;
  static_assert(kMostUpdates % kOfLook == 0 && sizeof(Update) == 4 * kWordsOfUpdate);
  std::uint32_t count = 0, mine = 0;
  if (read_some_lines<kFirst>(lanes, stream, moment, updates, count, mine))
    read_some_lines<kMostUpdates / kOfLook - kFirst>(lanes, stream, moment, updates, count, mine);
  kinds = 0;
  for (std::uint32_t lane = kKindOfLine; count > 0 && lane < Lanes::kLanes; lane += kWordsOfUpdate) {
    const std::uint32_t other = lanes.broadcast(mine, lane);
    if (other > kinds) kinds = other;
  }
  return count;
}

// Updates that were read while a batch was written, and are not received yet: the next ones.
struct Ahead {
  std::uint32_t count;
  std::uint32_t kinds;  // as of read_lines
  std::uint64_t seen;
  Update updates[kMostUpdates];
};

// Reads the next updates, by a group that has nothing else to do. An updater that waits for more does not.
template <class Lanes>
MOTIFLUX_DEVICE void look_ahead(const Lanes& lanes, const Stream& stream, const Pending& pending,
                                Ahead& ahead) {
  if (stream.batch_updates > 0) return;
  std::uint32_t kinds;
  const std::uint32_t count = read_lines(lanes, stream, pending.received + 1, ahead.updates, kinds);
  if (!lanes.leads()) return;
  ahead.count = count;
  ahead.kinds = kinds;
  ahead.seen = stamp_now();
}

// The next updates in `updates`, those that were read ahead or those that a few looks find.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t next_updates(const Lanes& lanes, const Stream& stream, std::uint64_t first,
                                           Ahead& ahead, Update* updates, std::uint32_t& kinds,
                                           std::uint64_t& seen) {
  constexpr std::uint32_t kLooks = 4;  // before the updater looks for other things
  std::uint32_t count = ahead.count;
  if (count > 0) {
    kinds = ahead.kinds;
    seen = ahead.seen;
    for (std::uint32_t i = lanes.lane(); i < count; i += Lanes::kLanes) updates[i] = ahead.updates[i];
    lanes.sync();  // all have read the count
    if (lanes.leads()) ahead.count = 0;
    return count;
  }
  for (std::uint32_t look = 0; look < kLooks && count == 0; ++look)
    count = read_lines(lanes, stream, first, updates, kinds);
  seen = stamp_now();
  return count;
}

// Receives the next updates into `pending`, by a group of lanes. All updates that were there are published.
template <class Lanes>
MOTIFLUX_DEVICE void receive(const Lanes& lanes, const Stream& stream, Pending& pending, Ahead& ahead) {
  const std::uint64_t first = pending.received + 1;
  std::uint32_t kinds = 0;
  std::uint64_t seen = 0;
  const std::uint32_t count = next_updates(lanes, stream, first, ahead, pending.updates, kinds, seen);
  if (stream.batch_updates > 0 && lanes.ballot(lanes.leads() && is_to_wait(stream, pending, count)) != 0)
    return;
  for (std::uint32_t number = lanes.lane(); number < count; number += Lanes::kLanes)
    stream.stamp(first + number, Stamp::kSeen, seen);
  lanes.sync();
  if (!lanes.leads() || count == 0) return;
  if (kinds > pending.known_kinds) {
    // The host has written the tables of a kind before the first update of it.
    const UpdateLine& line = stream.updates[(first + count - 1) & (stream.update_count - 1)];
    static_cast<void>(
        device::system_wide(const_cast<std::uint64_t&>(line.words[0])).load(device::Order::kAcquire));
    pending.known_kinds = kinds;
  }
  pending.received += count;
  pending.count = count;
  pending.written = 0;
  device::device_wide(stream.pending->received).store(pending.received, device::Order::kRelaxed);
}

}  // namespace detail

}  // namespace motiflux::streaming
