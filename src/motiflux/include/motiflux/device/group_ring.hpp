// A ring's two ends, used by a group of lanes together.
//
//   std::uint64_t ticket;
//   if (!try_reserve(group, ring, ticket)) ...full: go on with something else, or back off and try again
//   std::uint32_t* words = payload_of<std::uint32_t>(ring, ticket);
//   for (std::uint32_t i = group.lane(); i < count * record_words; i += Group::kLanes) words[i] = ...;
//   publish(group, ring, ticket, count);
//
// One lane talks to the other side, and the group's barriers carry its words to the other lanes and theirs to
// it. In the PTX memory model a lane's writes come before the leader's release in causality order, because
// __syncwarp over both lanes orders what was before it in each with what is after it in each; the release
// then hands over all that precedes it so, not only its own thread's writes, and to all threads of the
// system. No other fence is needed. The same way round, what the leader acquires is before what the lanes do
// after the barrier. A shuffle carries a value but orders no memory, which is why a barrier follows it.
//
// A packet costs the same whatever is in it: a release waits until the group's writes have arrived, and an
// acquire drops what the multiprocessor's first-level cache holds. So fill packets.
//
// All lanes of the group make the calls; all get the same answer. `Group` is lanes::Group of any width.
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
