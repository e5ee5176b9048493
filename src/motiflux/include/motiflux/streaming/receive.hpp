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

// Words of lines that are on their way: a few looks at once, of kOfLook lines each.
template <std::uint32_t looks, class Lanes>
struct LinesAsked {
  static constexpr std::uint32_t kOfLook = Lanes::kLanes / kWordsOfUpdate;
  static constexpr std::uint32_t kLooks = looks;

  std::uint64_t words[looks];

  // Asks for the lines of the updates from `moment` on.
  MOTIFLUX_DEVICE void ask(const Lanes& lanes, const Stream& stream, std::uint64_t moment) {
    for (std::uint32_t look = 0; look < looks; ++look) {
      const std::uint64_t own = moment + look * kOfLook + lanes.lane() / kWordsOfUpdate;
      const UpdateLine& line = stream.updates[own & (stream.update_count - 1)];
      words[look] = device::system_wide(const_cast<std::uint64_t&>(line.words[lanes.lane() % kWordsOfUpdate]))
                        .load(device::Order::kRelaxed);
    }
  }

  // Copies the updates that are there to `updates`, and returns how many. `mine`: more than the kinds that
  // the lane found.
  MOTIFLUX_DEVICE std::uint32_t take(const Lanes& lanes, std::uint64_t moment, Update* updates,
                                     std::uint32_t& mine) const {
    const std::uint32_t own = lanes.lane() / kWordsOfUpdate, word = lanes.lane() % kWordsOfUpdate;
    std::uint32_t count = 0;
    bool goes_on = true;
    for (const std::uint64_t tagged : words) {
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
    return count;
  }
};

// What a group has asked for while it did other things: lines of the updates after those that are pending.
template <class Lanes>
using NextLines = LinesAsked<4, Lanes>;

// Counts updates that were copied behind those that are pending, by all lanes. `mine`: as of LinesAsked.
template <class Lanes>
MOTIFLUX_DEVICE void count_received(const Lanes& lanes, const Stream& stream, Pending& pending,
                                    std::uint32_t count, std::uint32_t mine) {
  std::uint32_t kinds = pending.known_kinds;
  for (std::uint32_t more = lanes.ballot(mine > kinds); more != 0; more &= more - 1) {
    const std::uint32_t other = lanes.broadcast(mine, lowest_bit(more));
    if (other > kinds) kinds = other;
  }
  const std::uint64_t first = pending.received + 1, seen = stamp_now();
  for (std::uint32_t number = lanes.lane(); number < count; number += Lanes::kLanes)
    stream.stamp(first + number, Stamp::kSeen, seen);
  lanes.sync();
  if (lanes.leads() && count > 0) {
    if (kinds > pending.known_kinds) {
      // The host has written the tables of a kind before the first update of it.
      const UpdateLine& line = stream.updates[(first + count - 1) & (stream.update_count - 1)];
      static_cast<void>(
          device::system_wide(const_cast<std::uint64_t&>(line.words[0])).load(device::Order::kAcquire));
      pending.known_kinds = kinds;
    }
    pending.received += count;
    pending.count += count;
    device::device_wide(stream.pending->received).store(pending.received, device::Order::kRelaxed);
  }
  lanes.sync();
}

// Receives the next updates into `pending`, by a group of lanes; all updates that were there are published.
template <class Lanes>
MOTIFLUX_DEVICE void receive(const Lanes& lanes, const Stream& stream, Pending& pending) {
  constexpr std::uint32_t kLooks = 4;  // before the updater looks for other things
  LinesAsked<2, Lanes> first;
  const std::uint64_t moment = pending.received + 1;
  lanes.sync();
  if (lanes.leads()) {
    pending.count = pending.written = 0;
    pending.early = 0;
  }
  std::uint32_t count = 0, mine = 0;
  for (std::uint32_t look = 0; look < kLooks && count == 0; ++look) {
    first.ask(lanes, stream, moment);
    count = first.take(lanes, moment, pending.updates, mine);
  }
  if (count == 2 * first.kOfLook) {  // there are many: a second time brings the rest
    LinesAsked<kMostUpdates / LinesAsked<1, Lanes>::kOfLook - 2, Lanes> rest;
    rest.ask(lanes, stream, moment + count);
    count += rest.take(lanes, moment + count, pending.updates + count, mine);
  }
  if (stream.batch_updates > 0 && lanes.ballot(lanes.leads() && is_to_wait(stream, pending, count)) != 0)
    return;
  count_received(lanes, stream, pending, count, mine);
}

// Whether a group may ask for lines while `unwritten` updates are pending. An updater that waits for more
// updates does not.
template <class Lanes>
MOTIFLUX_DEVICE bool has_room_for_next(const Stream& stream, std::uint32_t unwritten) {
  constexpr std::uint32_t kMost = NextLines<Lanes>::kLooks * NextLines<Lanes>::kOfLook;
  return stream.batch_updates == 0 && unwritten + kMost <= kMostUpdates;
}

// Puts the updates of lines that were asked for behind those that are pending, of which the written ones go.
// `asked`: whether lines were asked for.
template <class Lanes>
MOTIFLUX_DEVICE void receive_next(const Lanes& lanes, const Stream& stream, Pending& pending,
                                  const NextLines<Lanes>& lines, bool asked) {
  if (!asked) return;
  const std::uint32_t written = pending.written, rest = pending.count - written;
  const std::uint64_t moment = pending.received + 1;
  Update kept{};
  if (lanes.lane() < rest) kept = pending.updates[written + lanes.lane()];
  lanes.sync();
  if (lanes.lane() < rest) pending.updates[lanes.lane()] = kept;
  if (lanes.leads()) {
    pending.count = rest;
    pending.early = pending.early_unwritten();
    pending.written = 0;
  }
  std::uint32_t mine = 0;
  const std::uint32_t count = lines.take(lanes, moment, pending.updates + rest, mine);
  lanes.sync();
  count_received(lanes, stream, pending, count, mine);
}

}  // namespace detail

}  // namespace motiflux::streaming
