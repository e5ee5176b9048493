// Updates from the input ring, which is in the host's memory: several packets at a time, since each look
// there takes about a microsecond.
//
// The paper's updater waits until there are b updates, or for t microseconds; ours takes what is there.
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/device/ring.hpp"
#include "motiflux/lanes/clock.hpp"
#include "motiflux/streaming/stream.hpp"
#include "motiflux/streaming/updater.hpp"

namespace motiflux::streaming {

namespace detail {

// Whether to wait for more than the updates that are there, in so many packets. Called by one lane.
MOTIFLUX_DEVICE bool is_to_wait(const Stream& stream, Pending& pending, std::uint32_t ready,
                                std::uint32_t packets) {
  if (packets == 0 || packets == 32 || ready >= stream.batch_updates) {
    pending.waits_since = 0;
    return false;
  }
  const std::uint64_t now = lanes::nanoseconds();
  if (pending.waits_since == 0) pending.waits_since = now;
  if (now - pending.waits_since < stream.batch_nanoseconds) return true;
  pending.waits_since = 0;
  return false;
}

// Which packets were read, and the last update that was in them: 32 bits of each.
MOTIFLUX_DEVICE std::uint64_t read_word(std::uint64_t position, std::uint64_t received) {
  return received << 32 | static_cast<std::uint32_t>(position);
}

// Tells the host which packets were read, so that it may write others. It takes long, as all writes before
// have to arrive, so it is done while there are no updates, or once half of the ring was read. A collector
// that tells for the updater does so at any time.
MOTIFLUX_DEVICE void release_packets(const Stream& stream, Pending& pending, bool idle) {
  if (kHasTeller) return;
  const std::uint64_t unknown = pending.position - pending.released;
  if (unknown == 0 || (!idle && 2 * unknown < stream.input.slots)) return;
  device::release(stream.input, pending.position - 1);
  pending.released = pending.position;
}

// Copies the updates of the next packets to `pending`, by a group of lanes. All updates that were there are
// published. A packet has at most kMostUpdates.
template <class Lanes>
MOTIFLUX_DEVICE void receive(const Lanes& lanes, const Stream& stream, Pending& pending) {
  const device::Ring& ring = stream.input;
  const std::uint64_t position = pending.position;
  std::uint32_t count = 0;
  const unsigned char* payload = device::try_take(ring, position + lanes.lane(), count);
  const std::uint32_t there = lanes.ballot(payload != nullptr);
  const std::uint64_t seen = stamp_now();
  const std::uint32_t packets = there == bits_below(32) ? 32 : lowest_bit(~there);  // without a gap
  if (lanes.lane() >= packets) count = 0;
  const std::uint32_t before = lanes.sums_before(count);
  const bool fits = lanes.lane() < packets && before + count <= kMostUpdates;
  std::uint32_t taken = count_bits(lanes.ballot(fits));
  const std::uint32_t ready = lanes.broadcast(before + count, packets == 0 ? 0 : packets - 1);
  if (stream.batch_updates > 0 &&
      lanes.ballot(lanes.leads() && is_to_wait(stream, pending, ready, packets)) != 0)
    taken = 0;
  const std::uint32_t all = taken > 0 ? lanes.broadcast(before + count, taken - 1) : 0;
  lanes.sync();  // what each lane has acquired is read by all
  // An update for each lane, from all packets at once. All lanes look for theirs, for the shuffles.
  for (std::uint32_t first = 0; first < all; first += Lanes::kLanes) {
    const std::uint32_t number = first + lanes.lane();
    std::uint32_t packet = 0, begin = 0;
    for (std::uint32_t next = 1; next < taken; ++next) {
      const std::uint32_t starts = lanes.broadcast(before, next);
      if (starts <= number) packet = next, begin = starts;
    }
    if (number >= all) continue;
    pending.updates[number] = device::payload_of<const Update>(ring, position + packet)[number - begin];
    stream.stamp(pending.received + 1 + number, Stamp::kSeen, seen);
    stream.stamp(pending.received + 1 + number, Stamp::kReceived, stamp_now());
  }
  lanes.sync();
  if (!lanes.leads()) return;
  if (taken > 0) {
    pending.position = position + taken;
    pending.received += all;
    pending.count = all;
    pending.written = 0;
    device::device_wide(stream.pending->received).store(pending.received, device::Order::kRelaxed);
    device::device_wide(stream.graph.stages.progress->read)
        .store(read_word(pending.position, pending.received), device::Order::kRelaxed);
  }
  release_packets(stream, pending, taken == 0);
}

// The same by the collector; `released`: the packets that the host knows of. A packet was read by all lanes if
// its updates are published. Called by one lane.
MOTIFLUX_DEVICE void release_read(const Stream& stream, std::uint64_t& released) {
  const Stages& stages = stream.graph.stages;
  const std::uint64_t read = device::device_wide(stages.progress->read).load(device::Order::kRelaxed);
  const auto more = static_cast<std::uint32_t>(read) - static_cast<std::uint32_t>(released);
  if (more == 0 || more > stream.input.slots) return;
  const auto since = static_cast<std::uint32_t>(published(stages)) - static_cast<std::uint32_t>(read >> 32);
  if (since > view::kMostInFlight) return;  // some are not published yet
  released += more;
  device::release(stream.input, released - 1);
}

}  // namespace detail

}  // namespace motiflux::streaming
