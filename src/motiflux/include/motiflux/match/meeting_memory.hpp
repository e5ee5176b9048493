// Where a group keeps what it knows of pieces that meet (match/meeting_walk.cuh draws it).
#pragma once

#include "motiflux/match/tail_task.hpp"

namespace motiflux::match {

// What no vertex is, as a door that an entry of either list does not have: never the same.
inline constexpr std::uint32_t kNoDoorHere = 0xffffffffu, kNoDoorThere = 0xfffffffeu;

// An entry of a list.
struct Entry {
  std::uint32_t vertex[view::kMostDoors];
  std::uint64_t ways;
};

// What a part has to choose from.
class Choices {
 public:
  Choices() = default;
  MOTIFLUX_DEVICE Choices(std::uint32_t* memory, std::uint32_t room, bool list)
      : memory_(memory), room_(room), columns_(list ? view::kMostDoors : 1) {}

  // By place: the vertex of a door.
  MOTIFLUX_DEVICE std::uint32_t* vertices(std::uint32_t door) const {
    return memory_ + std::uint64_t{door} * room_;
  }

  // The ways, and with a mask of the levels beside lists, times a number that depends on their sets.
  MOTIFLUX_DEVICE std::uint64_t* ways(std::uint32_t mask = 0) const {
    return reinterpret_cast<std::uint64_t*>(memory_ + std::uint64_t{columns_} * room_) +
           std::uint64_t{mask} * room_;
  }

  MOTIFLUX_DEVICE Entry entry(std::uint32_t place, std::uint32_t doors, std::uint32_t none) const {
    Entry found{{none, none, none}, ways()[place]};
    for (std::uint32_t door = 0; door < view::kMostDoors; ++door)
      if (door < doors) found.vertex[door] = vertices(door)[place];
    return found;
  }

 private:
  std::uint32_t* memory_;
  std::uint32_t room_;
  std::uint32_t columns_;
};

// In shared memory.
struct MeetingMemory {
  PartState* parts;
  Number* totals;
  std::uint64_t* sizes;
  Number* sums;  // by mask of slots
  Number* ways;

  MOTIFLUX_DEVICE MeetingMemory(const view::Meetings& meetings, void* behind)
      : parts(reinterpret_cast<PartState*>(behind)),
        totals(reinterpret_cast<Number*>(parts + meetings.parts)),
        sizes(reinterpret_cast<std::uint64_t*>(totals + meetings.meetings)),
        sums(reinterpret_cast<Number*>(sizes + meetings.sizes)),
        ways(sums + meetings.masks) {}
};

}  // namespace motiflux::match
