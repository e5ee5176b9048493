// A ring's two ends, used by a group of lanes together.
//
//   std::uint64_t ticket;
//   if (!try_reserve(group, ring, ticket)) ...full: do other work, or back off and try again
//   std::uint32_t* words = payload_of<std::uint32_t>(ring, ticket);
//   for (std::uint32_t i = group.lane(); i < count * record_words; i += Group::kLanes) words[i] = ...;
//   publish(group, ring, ticket, count);
//
// The leader alone synchronises with the other side, and the group's barriers order its accesses with those
// of the other lanes. In the PTX memory model a lane's writes precede the leader's release in causality
// order, because __syncwarp over both lanes orders accesses before it in each with accesses after it in each;
// the release then publishes all writes that precede it, not only its own thread's, to all threads of the
// system. No other fence is needed. Likewise, the leader's acquire precedes the lanes' accesses after the
// barrier. A shuffle carries a value but orders no memory, which is why a barrier follows it.
//
// The cost of a packet hardly depends on its size: a release waits until the group's writes have arrived, and
// an acquire invalidates the multiprocessor's first-level cache. So fill packets.
//
// All lanes of the group make the calls; all get the same result. `Group` is lanes::Group of any width.
#pragma once

#include "motiflux/device/ring.hpp"

namespace motiflux::device {

template <class Group>
MOTIFLUX_DEVICE bool try_reserve(const Group& group, const Ring& ring, std::uint64_t& ticket) {
  constexpr std::uint64_t kFull = ~std::uint64_t{0};
  std::uint64_t reserved = kFull;
  if (group.leads() && !try_reserve(ring, reserved)) reserved = kFull;
  ticket = group.broadcast(reserved);
  group.sync();
  return ticket != kFull;
}

template <class Group>
MOTIFLUX_DEVICE void publish(const Group& group, const Ring& ring, std::uint64_t ticket,
                             std::uint32_t count) {
  group.sync();
  if (group.leads()) publish(ring, ticket, count);
}

template <class Group>
MOTIFLUX_DEVICE const unsigned char* try_take(const Group& group, const Ring& ring, std::uint64_t position,
                                              std::uint32_t& count) {
  constexpr std::uint32_t kEmpty = ~std::uint32_t{0};
  std::uint32_t found = kEmpty;
  if (group.leads() && try_take(ring, position, found) == nullptr) found = kEmpty;
  count = group.broadcast(found);
  group.sync();
  return count != kEmpty ? payload_of<const unsigned char>(ring, position) : nullptr;
}

template <class Group>
MOTIFLUX_DEVICE void release(const Group& group, const Ring& ring, std::uint64_t position) {
  group.sync();
  if (group.leads()) release(ring, position);
}

}  // namespace motiflux::device
