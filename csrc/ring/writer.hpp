// The host's end of a ring that a kernel reads from: see motiflux/device/ring.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "motiflux/device/ring.hpp"
#include "ring/reader.hpp"

namespace motiflux::ring {

// The ring's only producer. One thread at a time.
class Writer {
 public:
  // The ring must be empty, new or not. Throws std::invalid_argument.
  Writer(const device::Ring& ring, std::uint32_t record_words) : ring_(ring), record_words_(record_words) {
    check_ring(ring, record_words);
    const std::uint64_t tail = device::system_wide(*ring_.tail).load(device::Order::kAcquire);
    tickets_ = {tail, tail, tail};
    std::uint32_t count = 0;
    if (device::try_take(ring_, tail, count) != nullptr)
      throw std::invalid_argument("the ring holds packets that nobody has read");
  }

  std::uint32_t record_words() const { return record_words_; }

  // Packets written. May be called from any thread.
  std::uint64_t position() const {
    return device::device_wide(tickets_.issued).load(device::Order::kRelaxed);
  }

  // Writes one packet; false if the ring is full. Throws std::invalid_argument if a slot does not hold it.
  bool try_write(const std::uint32_t* records, std::size_t count) {
    if (count > records_per_slot(ring_, record_words_))
      throw std::invalid_argument("more records than a packet holds");
    device::Ring ring = ring_;
    ring.tickets = &tickets_;
    std::uint64_t ticket;
    if (!device::try_reserve(ring, ticket)) return false;
    if (count != 0)
      std::memcpy(device::payload_of<unsigned char>(ring, ticket), records, count * record_words_ * 4);
    device::publish(ring, ticket, static_cast<std::uint32_t>(count));
    return true;
  }

 private:
  device::Ring ring_;
  std::uint32_t record_words_;
  mutable device::Tickets tickets_{};  // mutable: an atomic load needs a non-const object
};

}  // namespace motiflux::ring
