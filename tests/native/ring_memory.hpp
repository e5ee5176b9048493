// A ring in ordinary memory, each part an allocation of its own: the sanitizer sees a step outside.
#pragma once

#include <cstdint>
#include <vector>

#include "motiflux/device/ring.hpp"

struct RingMemory {
  RingMemory(std::uint32_t slots, std::uint32_t slot_bytes)
      : published(slots),
        payload(std::size_t{slots} * slot_bytes / 4),
        slots(slots),
        slot_bytes(slot_bytes) {}

  motiflux::device::Ring ring() {
    return {&tickets, &tail,     published.data(), reinterpret_cast<unsigned char*>(payload.data()),
            slots,    slot_bytes};
  }

  motiflux::device::Tickets tickets{};
  std::uint64_t tail = 0;
  std::vector<std::uint64_t> published;
  std::vector<std::uint32_t> payload;
  std::uint32_t slots;
  std::uint32_t slot_bytes;
};
