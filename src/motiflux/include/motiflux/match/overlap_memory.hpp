// Where a group keeps the state of overlapping components (match/overlap_walk.cuh draws it).
#pragma once

#include "motiflux/match/tail_task.hpp"

namespace motiflux::match {

// Values that no vertex has, for separators that an entry lacks: different for the two lists, so never equal.
inline constexpr std::uint32_t kNoInnerSeparator = 0xffffffffu, kNoOuterSeparator = 0xfffffffeu;

// An entry of a list.
struct Entry {
  std::uint32_t vertex[view::kMostSeparators];
  std::uint64_t ways;
};

// The choices of a branch.
class Choices {
 public:
  Choices() = default;
  MOTIFLUX_DEVICE Choices(std::uint32_t* memory, std::uint32_t capacity, bool list)
      : memory_(memory), capacity_(capacity), columns_(list ? view::kMostSeparators : 1) {}

  // By place: the vertex of a separator.
  MOTIFLUX_DEVICE std::uint32_t* vertices(std::uint32_t separator) const {
    return memory_ + std::uint64_t{separator} * capacity_;
  }

  // The ways; with a mask of the leaf levels, the ways times a number that depends on the sets of these
  // levels.
  MOTIFLUX_DEVICE std::uint64_t* ways(std::uint32_t mask = 0) const {
    return reinterpret_cast<std::uint64_t*>(memory_ + std::uint64_t{columns_} * capacity_) +
           std::uint64_t{mask} * capacity_;
  }

  MOTIFLUX_DEVICE Entry entry(std::uint32_t place, std::uint32_t separators, std::uint32_t none) const {
    Entry found{{none, none, none}, ways()[place]};
    for (std::uint32_t separator = 0; separator < view::kMostSeparators; ++separator)
      if (separator < separators) found.vertex[separator] = vertices(separator)[place];
    return found;
  }

 private:
  std::uint32_t* memory_;
  std::uint32_t capacity_;
  std::uint32_t columns_;
};

// In shared memory.
struct OverlapMemory {
  BranchState* branches;
  Number* totals;
  std::uint64_t* sizes;
  Number* sums;  // by mask of levels
  Number* ways;

  MOTIFLUX_DEVICE OverlapMemory(const view::OverlapComponents& components, void* behind)
      : branches(reinterpret_cast<BranchState*>(behind)),
        totals(reinterpret_cast<Number*>(branches + components.branches)),
        sizes(reinterpret_cast<std::uint64_t*>(totals + components.components)),
        sums(reinterpret_cast<Number*>(sizes + components.sizes)),
        ways(sums + components.masks) {}
};

}  // namespace motiflux::match
