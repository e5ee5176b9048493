// Kernels that measure rings: round-trip time and throughput.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/device/ring.hpp"

#if defined(MOTIFLUX_SIMT)
#include "motiflux/device/backoff.hpp"
#include "motiflux/device/group_ring.hpp"
#include "motiflux/lanes/group.hpp"
#endif

namespace motiflux::device {

// A packet whose first word is this ends the echo and is not answered.
inline constexpr std::uint32_t kStopWord = 0xFFFFFFFF;

// Launched with one block of 32 threads.
struct EchoArgs {
  Ring in;                     // from the host
  Ring out;                    // to the host; slots at least as large as those of `in`
  std::uint32_t* stop;         // nonzero ends the kernel
  std::uint32_t record_words;  // 32-bit words of a record
};

struct FloodArgs {
  Ring out;             // to the host
  std::uint64_t* next;  // first record that no warp has taken; 0 at the start
  std::uint32_t* stop;  // nonzero ends the kernel, without the remaining records
  std::uint64_t records;
  std::uint32_t record_words;  // 32-bit words of a record; a slot holds at least one
};

// Word `word` of record `record` of a flood: the number of the record modulo 2^32, then words derived from
// it.
MOTIFLUX_HOST_DEVICE constexpr std::uint32_t flood_word(std::uint64_t record, std::uint32_t word) {
  return static_cast<std::uint32_t>(record) + word * 0x9E3779B9u;
}

#if defined(MOTIFLUX_SIMT)

using Warp = lanes::Group<32>;

// The flag as the leader reads it, in every lane.
MOTIFLUX_DEVICE bool must_stop(const Warp& warp, std::uint32_t* stop) {
  const std::uint32_t flag = warp.leads() ? system_wide(*stop).load(Order::kRelaxed) : 0;
  return warp.broadcast(flag) != 0;
}

// Waits until it has reserved a ticket; false when stopped.
MOTIFLUX_DEVICE bool reserve(const Warp& warp, const Ring& ring, std::uint32_t* stop, std::uint64_t& ticket) {
  Backoff backoff(4);
  while (!try_reserve(warp, ring, ticket)) {
    if (must_stop(warp, stop)) return false;
    backoff.wait();
  }
  return true;
}

// Tickets of a ring with one producing group, which needs no shared counter: this saves some round trips to
// the L2 cache per packet.
struct OwnTickets {
  std::uint64_t next;
  std::uint64_t tail;
};

// Waits for room for the next ticket; false when stopped.
MOTIFLUX_DEVICE bool await_free_slot(const Warp& warp, const Ring& ring, std::uint32_t* stop,
                                     OwnTickets& own) {
  Backoff backoff(4);
  while (own.next - own.tail >= ring.slots) {
    own.tail = warp.broadcast(warp.leads() ? system_wide(*ring.tail).load(Order::kAcquire) : 0);
    warp.sync();
    if (own.next - own.tail < ring.slots) break;
    if (must_stop(warp, stop)) return false;
    backoff.wait();
  }
  return true;
}

// Sends a packet back; false when stopped.
MOTIFLUX_DEVICE bool answer(const Warp& warp, const EchoArgs& args, const std::uint32_t* words,
                            std::uint32_t count, OwnTickets& own) {
  if (!await_free_slot(warp, args.out, args.stop, own)) return false;
  const std::uint64_t ticket = own.next++;
  auto* answered = payload_of<std::uint32_t>(args.out, ticket);
  for (std::uint32_t i = warp.lane(); i < count * args.record_words; i += Warp::kLanes)
    answered[i] = words[i];
  publish(warp, args.out, ticket, count);
  return true;
}

MOTIFLUX_DEVICE void echo(const EchoArgs& args) {
  // Polling keeps the latency low: sleep only after about a second without packets.
  constexpr std::uint32_t kPolls = 1u << 20;
  constexpr std::uint32_t kPollsPerStopCheck = 64;  // polls per check of the stop flag
  const Warp warp;
  // The position where an earlier kernel on the same ring ended: only the consumer writes the tail.
  std::uint64_t position =
      warp.broadcast(warp.leads() ? system_wide(*args.in.tail).load(Order::kRelaxed) : 0);
  // The warp is the only producer of `out`; between launches, the tickets keep its position.
  std::uint64_t* kept = &args.out.tickets->issued;
  OwnTickets own{warp.broadcast(warp.leads() ? device_wide(*kept).load(Order::kRelaxed) : 0), 0};
  Backoff backoff(kPolls);
  for (std::uint32_t poll = 1;; ++poll) {
    std::uint32_t count;
    const unsigned char* packet = try_take(warp, args.in, position, count);
    if (packet != nullptr) {
      const auto* words = reinterpret_cast<const std::uint32_t*>(packet);
      const bool last = count > 0 && words[0] == kStopWord;
      // When stopped, the packet stays in the ring for the next kernel.
      if (!last && !answer(warp, args, words, count, own)) break;
      release(warp, args.in, position++);
      if (last) break;
      backoff = Backoff(kPolls);
      continue;
    }
    if (poll % kPollsPerStopCheck == 0 && must_stop(warp, args.stop)) break;
    backoff.wait();
  }
  if (warp.leads()) device_wide(*kept).store(own.next, Order::kRelaxed);
}

// Every warp takes the next records and writes them as one packet, until all are taken.
MOTIFLUX_DEVICE void flood(const FloodArgs& args) {
  constexpr std::uint32_t kMost = 32;
  const Warp warp;
  const std::uint32_t fit = args.out.slot_bytes / 4 / args.record_words;
  const std::uint32_t batch = fit < kMost ? fit : kMost;
  for (;;) {
    const std::uint64_t taken = warp.leads() ? device_wide(*args.next).fetch_add(batch, Order::kRelaxed) : 0;
    const std::uint64_t first = warp.broadcast(taken);
    if (first >= args.records) return;
    const std::uint64_t left = args.records - first;
    const std::uint32_t count = left < batch ? static_cast<std::uint32_t>(left) : batch;
    std::uint64_t ticket;
    if (!reserve(warp, args.out, args.stop, ticket)) return;
    auto* words = payload_of<std::uint32_t>(args.out, ticket);
    for (std::uint32_t i = warp.lane(); i < count * args.record_words; i += Warp::kLanes)
      words[i] = flood_word(first + i / args.record_words, i % args.record_words);
    publish(warp, args.out, ticket, count);
    if (must_stop(warp, args.stop)) return;
  }
}

#endif

}  // namespace motiflux::device

#if defined(MOTIFLUX_SIMT)

extern "C" __global__ void motiflux_echo(const __grid_constant__ motiflux::device::EchoArgs args) {
  motiflux::device::echo(args);
}

extern "C" __global__ void motiflux_flood(const __grid_constant__ motiflux::device::FloodArgs args) {
  motiflux::device::flood(args);
}

#endif
