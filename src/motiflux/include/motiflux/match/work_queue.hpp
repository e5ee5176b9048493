// The global work queue: groups of a running search that have no work wait for splits of other groups' work.
//
// A group that finds no more root arcs takes a ticket, and waits in the wait slot that the ticket names. A
// group that has work checks from time to time whether another group waits. If so, it pushes a Split: the
// second half of its shallowest walk.
//
//   ticket        0       1       2           3       4       5       6
//                 split   split   abandoned   waits   waits
//                                 issued              wanted
//
//   state[ticket % wait_slots]:  2 * lap       the holder waits or has not arrived yet
//                                2 * lap + 1   the split is in the slot; lap = ticket / wait_slots
//                                kAbandoned    the holder has left, as will every later holder
//
// A group that pushes claims a ticket as producers of a ring do (device/ring.hpp): by additions only. It may
// find that no group waits although one does. A holder that leaves and a group that publishes a split both
// swap the slot's state, and one of the two succeeds: no split is lost in an abandoned slot.
//
// Groups leave once the queue is `closed`: all root arcs and splits are done, a group was stopped, or there
// was no space for rows. The flag is only a hint. It has copies in distant memory lines, since thousands of
// groups poll it.
#pragma once

#include "motiflux/bits.hpp"
#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/device/backoff.hpp"
#include "motiflux/match/work_queue_task.hpp"

namespace motiflux::match {

inline constexpr std::uint32_t kAbandoned = ~std::uint32_t{0};
inline constexpr std::uint64_t kNoTicket = ~std::uint64_t{0};

MOTIFLUX_DEVICE std::uint32_t wait_slot_of(const WorkQueue& work_queue, std::uint64_t ticket) {
  return static_cast<std::uint32_t>(ticket) & (work_queue.wait_slots - 1);
}

// The state of a ticket's wait slot while its holder waits.
MOTIFLUX_DEVICE std::uint32_t waiting_state(const WorkQueue& work_queue, std::uint64_t ticket) {
  return 2 * static_cast<std::uint32_t>(ticket / work_queue.wait_slots);
}

// Whether a group waited a moment ago.
MOTIFLUX_DEVICE bool a_group_waits(const WorkQueue& work_queue) {
  const auto wanted = device::device_wide(work_queue.counts->wanted).load(device::Order::kRelaxed);
  return device::device_wide(work_queue.counts->claimed).load(device::Order::kRelaxed) < wanted;
}

// Called by one lane: returns a ticket whose holder waits for a split and whose wait slot the caller may
// write; kNoTicket if there is none.
MOTIFLUX_DEVICE std::uint64_t claim_wait_slot(const WorkQueue& work_queue) {
  const auto claimed = device::device_wide(work_queue.counts->claimed);
  const auto wanted = device::device_wide(work_queue.counts->wanted).load(device::Order::kRelaxed);
  if (claimed.fetch_add(std::uint64_t{1}, device::Order::kRelaxed) >= wanted) {
    claimed.fetch_add(~std::uint64_t{0}, device::Order::kRelaxed);
    return kNoTicket;
  }
  const std::uint64_t ticket =
      device::device_wide(work_queue.counts->issued).fetch_add(std::uint64_t{1}, device::Order::kRelaxed);
  const auto state = device::device_wide(work_queue.states[wait_slot_of(work_queue, ticket)]);
  device::Backoff backoff(0);
  for (;;) {  // until the holder of the ticket a lap before has taken its split
    const std::uint32_t found = state.load(device::Order::kAcquire);
    if (found == waiting_state(work_queue, ticket)) return ticket;
    if (found == kAbandoned) return kNoTicket;
    backoff.wait();
  }
}

// Called by one lane: publishes the split written to the slot; false if its holder has left.
MOTIFLUX_DEVICE bool publish_split(const WorkQueue& work_queue, std::uint64_t ticket) {
  const auto state = device::device_wide(work_queue.states[wait_slot_of(work_queue, ticket)]);
  const std::uint32_t waits = waiting_state(work_queue, ticket);
  std::uint32_t found = waits;
  while (!state.compare_exchange(found, waits + 1, device::Order::kAcqRel))
    if (found != waits) return false;
  return true;
}

// Called by one lane: waits for a split; returns the wait slot that holds it, or kAbandoned. Release the slot
// with `release_wait_slot`.
//
// It polls with relaxed loads: an acquire at device scope invalidates the multiprocessor's first-level cache,
// which groups with work share. The giver writes the split, then the state, with release; nobody but the
// holder changes the state after that. So the swap of the state for itself reads the giver's value, with
// acquire, and the split is read behind it. (A load with acquire in its place costs kernels more spills.)
// Nothing is read after kAbandoned.
MOTIFLUX_DEVICE std::uint32_t wait_for_split(const WorkQueue& work_queue, std::uint64_t& ticket) {
  ticket =
      device::device_wide(work_queue.counts->wanted).fetch_add(std::uint64_t{1}, device::Order::kRelaxed);
  const std::uint32_t wait_slot = wait_slot_of(work_queue, ticket), waits = waiting_state(work_queue, ticket);
  const auto state = device::device_wide(work_queue.states[wait_slot]);
  const auto closed = device::device_wide(work_queue.closed[wait_slot % kClosedCopies * kClosedStride]);
  device::Backoff backoff(2, 1024);
  for (;;) {
    std::uint32_t found = state.load(device::Order::kRelaxed);
    if (found == kAbandoned) return kAbandoned;
    if (found == waits + 1) {
      while (!state.compare_exchange(found, waits + 1, device::Order::kAcquire)) continue;
      return wait_slot;
    }
    if (found == waits && closed.load(device::Order::kRelaxed) != 0) {
      if (state.compare_exchange(found, kAbandoned, device::Order::kRelaxed)) return kAbandoned;
      continue;
    }
    backoff.wait();
  }
}

MOTIFLUX_DEVICE void release_wait_slot(const WorkQueue& work_queue, std::uint64_t ticket) {
  device::device_wide(work_queue.states[wait_slot_of(work_queue, ticket)])
      .store(waiting_state(work_queue, ticket) + 2, device::Order::kRelease);
}

// Called by all lanes: makes waiting groups leave.
template <class Lanes>
MOTIFLUX_DEVICE void close_queue(const Lanes& lanes, const WorkQueue& work_queue) {
  for (std::uint32_t copy = lanes.lane(); copy < kClosedCopies; copy += Lanes::kLanes)
    device::device_wide(work_queue.closed[copy * kClosedStride]).store(1u, device::Order::kRelaxed);
}

// Cuts a walk in two: halves the candidates not yet judged, or else the waiting ones of its strip. With
// `spare`, all may be given away. False if there are fewer than `least`.
MOTIFLUX_DEVICE bool halve(Cursor& kept, Cursor& given, bool spare, std::uint32_t least) {
  const std::uint32_t left = kept.next < kept.end ? kept.end - kept.next : 0;
  const std::uint32_t waiting = count_bits(kept.waiting);
  if (left + waiting < least) return false;
  given = kept;
  if (left > 0) {
    const std::uint32_t half = spare || waiting > 0 ? (left + 1) / 2 : left / 2;
    kept.end -= half;
    given.next = kept.end;
    given.waiting = 0;
    return half > 0;
  }
  for (std::uint32_t bit = 0; bit < waiting / 2; ++bit) given.waiting &= given.waiting - 1;
  if (!spare && waiting == 1) given.waiting = 0;
  kept.waiting ^= given.waiting;
  return given.waiting != 0;
}

}  // namespace motiflux::match
