// Counting trailing levels in closed form.
//
// Once the levels before it are matched, a level of the tail depends on nothing but those, so its set is
// fixed. Levels that cannot meet (different labels, say) multiply. Levels that can form a component: the
// number of ways to take a different vertex from each of their sets is found by inclusion and exclusion over
// the partitions of the component (GraphPi, SC 2020), or as a falling factorial where all share one set.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/total.hpp"

namespace motiflux::search {

struct TailComponent {
  std::vector<int> levels;
  // Levels with the same number have the same set; numbers are 0, 1, ... in order of appearance.
  std::vector<int> set_of;
  // Levels whose vertices are ordered among themselves: each choice was counted this many times.
  std::uint64_t divisor = 1;

  int sets() const;
};

struct Tail {
  int start = 0;  // first level; the number of levels if there is no tail
  std::vector<TailComponent> components;
};

// Sets of one component that may differ, and its levels, at most.
inline constexpr int kMostTailSets = 4;
inline constexpr std::size_t kMostMixedLevels = 6;

// Ways to take `levels` different vertices, in order, from one set of `size`, over `divisor`, which is at
// most the factorial of `levels`. Nothing if there are more than 2^65.
std::optional<Total> falling_factorial(std::uint64_t size, std::size_t levels, std::uint64_t divisor);

// Ways to take a different vertex from each level's set. common[mask] is the size of the intersection of the
// sets in `mask`, whose bits number sets. Throws std::overflow_error.
Total distinct_choices(const TailComponent& component, std::span<const std::uint64_t> common);

}  // namespace motiflux::search
