// A bounded ring of packets from many producers to one consumer: from the groups of a running kernel to the
// host, or from the host to a running kernel.
//
//   memory of the producers' side          memory of the host, mapped for the GPU
//   +---------+--------+-----------+       +------+
//   | claimed | issued | tail_seen |       | tail |  packets that the consumer has released
//   +---------+--------+-----------+       +------+
//
//   slot = ticket % slots                  |      0      |      1      |      2      |      3      |
//   ticket in flight (tail 5, issued 9)    |      8      |      5      |      6      |      7      |
//                                          +------+------+------+------+------+------+------+------+
//   published[slot]                        |  9   |  12  |  6   |  32  |  7   |  3   |  4   |  20  |
//                                          +------+------+------+------+------+------+------+------+
//                                            ticket + 1 (56 bits), number of records (8 bits)
//                                          +-------------+-------------+-------------+-------------+
//   payload + slot * slot_bytes            |   . . . .   |   . . . .   |   . . . .   |   . . . .   |
//                                          +-------------+-------------+-------------+-------------+
//
//   Tickets 5, 6 and 8 are published here, 7 is being written: the consumer may take 5 and 6, and then waits.
//
// A producer reserves a ticket, writes the payload of its slot, and publishes. After reserving it must
// publish, if only a packet of no records: the consumer takes tickets in order and would wait for it for
// ever. No function here waits: each returns if the ring is full or empty.
//
// All words start as zero, so zeroed memory is an empty ring. Tickets have 64 bits and start at 0: at 10^9
// packets per second they last for 584 years. The 56 bits of a published word wrap after two years,
// harmlessly: a slot only has to distinguish a ticket from the ticket a lap before.
//
// The GPU only loads and stores mapped memory; read-modify-write operations stay in the producers' memory.
//
// One thread calls each of the functions below. For packets that a group of lanes writes or reads together,
// see group_ring.hpp.
#pragma once

#include "motiflux/device/atomic_ref.hpp"

namespace motiflux::device {

// Counters of the producers.
struct Tickets {
  std::uint64_t claimed;    // reservations, and attempts about to be withdrawn
  std::uint64_t issued;     // the next ticket
  std::uint64_t tail_seen;  // the consumer's tail as last read by a producer; never falls
};

struct Ring {
  Tickets* tickets;  // the consumer needs none
  std::uint64_t* tail;
  std::uint64_t* published;  // [slots]
  unsigned char* payload;    // [slots][slot_bytes]
  std::uint32_t slots;       // a power of two
  std::uint32_t slot_bytes;  // a multiple of 4; of 128 for a GPU to write whole lines
};

inline constexpr std::uint32_t kMaxRecords = 255;  // per packet

MOTIFLUX_DEVICE std::uint32_t slot_of(const Ring& ring, std::uint64_t ticket) {
  return static_cast<std::uint32_t>(ticket) & (ring.slots - 1);
}

// The payload of a ticket's slot.
template <class T>
MOTIFLUX_DEVICE T* payload_of(const Ring& ring, std::uint64_t ticket) {
  return reinterpret_cast<T*>(ring.payload + std::uint64_t{slot_of(ring, ticket)} * ring.slot_bytes);
}

// The value of published[] for a ticket, without the number of records.
MOTIFLUX_DEVICE std::uint64_t stamp_of(std::uint64_t ticket) {
  return (ticket + 1) << 8;
}

// Reads the consumer's position for all producers. The packets before it have been read: acquired here,
// released again to readers of tail_seen.
MOTIFLUX_DEVICE std::uint64_t refresh_tail(const Ring& ring) {
  const std::uint64_t tail = system_wide(*ring.tail).load(Order::kAcquire);
  device_wide(ring.tickets->tail_seen).fetch_max(tail, Order::kRelease);
  return tail;
}

// Reserves the next ticket; false if the ring is full, or was a moment ago.
//
// Claiming is separate from issuing, so that neither is a compare-and-swap: of many concurrent swaps one
// succeeds per round trip to the L2 cache, while all additions succeed. A claim counts the claims before it,
// and holds if they are fewer than `limit`; it is withdrawn otherwise. Until then other producers may see a
// ring as full that is not, but never all: the first claim after one that leaves room holds.
//
// Why a ticket's slot is free: say this call gets ticket t. Then t + 1 claims that hold are issued. The last
// of them to be claimed counted at least t others, fewer than its limit, so its thread had acquired a tail >
// t - slots: packet t - slots has been read. That was this thread, or one with an earlier ticket, and the
// additions to `issued`, which acquire and release, pass on its acquire.
MOTIFLUX_DEVICE bool try_reserve(const Ring& ring, std::uint64_t& ticket) {
  const auto claimed = device_wide(ring.tickets->claimed);
  std::uint64_t limit = device_wide(ring.tickets->tail_seen).load(Order::kAcquire) + ring.slots;
  if (claimed.load(Order::kRelaxed) >= limit) {
    limit = refresh_tail(ring) + ring.slots;
    if (claimed.load(Order::kRelaxed) >= limit) return false;
  }
  if (claimed.fetch_add(1, Order::kRelaxed) >= limit) {
    claimed.fetch_add(~std::uint64_t{0}, Order::kRelaxed);
    return false;
  }
  ticket = device_wide(ring.tickets->issued).fetch_add(1, Order::kAcqRel);
  return true;
}

// Publishes the packet. `count` is at most kMaxRecords, and may be 0.
MOTIFLUX_DEVICE void publish(const Ring& ring, std::uint64_t ticket, std::uint32_t count) {
  system_wide(ring.published[slot_of(ring, ticket)]).store(stamp_of(ticket) | count, Order::kRelease);
}

// The packet at the consumer's position, or null if it is not published yet. It stays valid until it is
// released. On a GPU, read it with ordinary loads: not through __ldg or pointers marked __restrict__, whose
// cache is not coherent with other writers.
MOTIFLUX_DEVICE const unsigned char* try_take(const Ring& ring, std::uint64_t position,
                                              std::uint32_t& count) {
  const std::uint64_t word = system_wide(ring.published[slot_of(ring, position)]).load(Order::kAcquire);
  count = static_cast<std::uint32_t>(word & 0xFF);
  return word - count == stamp_of(position) ? payload_of<const unsigned char>(ring, position) : nullptr;
}

// Releases the slot of the packet at `position`. The next position is position + 1.
MOTIFLUX_DEVICE void release(const Ring& ring, std::uint64_t position) {
  system_wide(*ring.tail).store(position + 1, Order::kRelease);
}

}  // namespace motiflux::device
