// The host's end of a ring that a kernel writes to: see motiflux/device/ring.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "motiflux/device/ring.hpp"

namespace motiflux::ring {

using Clock = std::chrono::steady_clock;

// Throws std::invalid_argument unless `ring`, whose tickets may be missing, can hold records of
// `record_words` words.
inline void check_ring(const device::Ring& ring, std::uint32_t record_words) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  };
  const auto aligned = [](const void* address, std::uintptr_t bytes) {
    return address != nullptr && reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
  };
  require(aligned(ring.tail, 8), "tail must be the address of an aligned 64-bit word");
  require(aligned(ring.published, 8), "published must be the address of aligned 64-bit words");
  require(aligned(ring.payload, 4), "payload must be the address of aligned 32-bit words");
  require(ring.slots != 0 && (ring.slots & (ring.slots - 1)) == 0, "slots must be a power of two");
  require(ring.slot_bytes != 0 && ring.slot_bytes % 4 == 0, "slot_bytes must be a multiple of 4");
  require(record_words != 0 && record_words <= ring.slot_bytes / 4, "a slot must hold one record at least");
}

// The number of records that fit into a packet.
inline std::uint32_t records_per_slot(const device::Ring& ring, std::uint32_t record_words) {
  return std::min(device::kMaxRecords, ring.slot_bytes / 4 / record_words);
}

// Reads records of `record_words` 32-bit words, in order, across packets. One thread at a time.
//
// Published words are not trusted: a word that no producer writes at this point is an error, and only the
// packet's slot is read.
class Reader {
 public:
  // Continues at the position of the ring's last consumer. Throws std::invalid_argument.
  Reader(const device::Ring& ring, std::uint32_t record_words)
      : ring_(ring),
        record_words_(record_words),
        capacity_(records_per_slot(checked(ring, record_words), record_words)) {
    position_ = position();
  }

  std::uint32_t record_words() const { return record_words_; }

  // The number of packets released. May be called from any thread.
  std::uint64_t position() const { return device::system_wide(*ring_.tail).load(device::Order::kRelaxed); }

  // Copies the available records, at most `rows`. Throws std::runtime_error if an invalid word comes before
  // any record.
  std::size_t take(std::uint32_t* out, std::size_t rows) {
    std::size_t filled = 0;
    while (filled < rows && open_packet(filled == 0)) {
      const std::size_t more = std::min<std::size_t>(packet_->count - packet_->taken, rows - filled);
      // No records: `out` may be null.
      if (more != 0) {
        std::memcpy(out + filled * record_words_,
                    packet_->payload + std::size_t{packet_->taken} * record_words_ * 4,
                    more * record_words_ * 4);
      }
      filled += more;
      packet_->taken += static_cast<std::uint32_t>(more);
      if (packet_->taken == packet_->count) close_packet();
    }
    return filled;
  }

  // The same, but waits for a first record: busily until `spin_until`, then with short sleeps, until
  // `deadline` or until `stopped` is set.
  std::size_t read(std::uint32_t* out, std::size_t rows, Clock::time_point spin_until,
                   Clock::time_point deadline, const std::atomic<bool>& stopped) {
    using std::chrono::microseconds;
    constexpr microseconds kLongestSleep{50};
    microseconds sleep{5};
    for (;;) {
      const std::size_t filled = take(out, rows);
      if (filled != 0 || rows == 0 || stopped.load(std::memory_order_relaxed)) return filled;
      const Clock::time_point now = Clock::now();
      if (now >= deadline) return 0;
      if (now < spin_until) continue;
      std::this_thread::sleep_for(std::min<Clock::duration>(sleep, deadline - now));
      sleep = std::min(sleep * 2, kLongestSleep);
    }
  }

 private:
  struct Packet {
    const unsigned char* payload;
    std::uint32_t count;
    std::uint32_t taken;
  };

  static const device::Ring& checked(const device::Ring& ring, std::uint32_t record_words) {
    check_ring(ring, record_words);
    return ring;
  }

  // Sets packet_ to the packet at position_, if it is published.
  bool open_packet(bool may_throw) {
    if (packet_) return true;
    std::uint32_t count = 0;
    const unsigned char* payload = device::try_take(ring_, position_, count);
    if (payload != nullptr && count <= capacity_) {
      packet_ = Packet{payload, count, 0};
      return true;
    }
    if (payload == nullptr && is_plausible()) return false;
    if (may_throw)
      throw std::runtime_error("packet " + std::to_string(position_) + " of the ring is corrupt");
    return false;
  }

  void close_packet() {
    packet_.reset();
    device::release(ring_, position_++);
  }

  // Whether the slot of position_ has a valid word: of the packet itself (published meanwhile), of the packet
  // a lap before, or none yet.
  bool is_plausible() const {
    const std::uint64_t word =
        device::system_wide(ring_.published[device::slot_of(ring_, position_)]).load(device::Order::kRelaxed);
    const std::uint64_t stamp = word & ~std::uint64_t{0xFF};
    if (stamp == device::stamp_of(position_)) return true;
    return position_ < ring_.slots ? word == 0 : stamp == device::stamp_of(position_ - ring_.slots);
  }

  device::Ring ring_;
  std::uint32_t record_words_;
  std::uint32_t capacity_;
  std::uint64_t position_ = 0;
  std::optional<Packet> packet_;  // partly read
};

}  // namespace motiflux::ring
