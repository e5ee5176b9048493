// The number of ways to take a different vertex for each of some levels, by inclusion and exclusion.
//
// sum(block) is the weighted number of ways to take the same vertex for all levels of a block. Over the
// partitions of the levels, each with the Moebius function of the partition lattice, (-1)^(b-1) (b-1)! for a
// block of b, as weight, the products of such sums add up to the number sought.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/total.hpp"
#include "motiflux/bits.hpp"

namespace motiflux::search {

inline constexpr std::size_t kMostDistinctLevels = 6;

__extension__ using SignedTotal = __int128;

// Arithmetic in `Number` must be exact or modular (Wide).
template <class Number, class Sum>
Number alternating_choices(std::size_t levels, Sum&& sum) {
  constexpr std::array<unsigned, kMostDistinctLevels> kFactorials{1, 1, 2, 6, 24, 120};
  std::array<Number, std::size_t{1} << kMostDistinctLevels> sums, ways;
  const std::uint32_t all = (std::uint32_t{1} << levels) - 1;
  for (std::uint32_t block = 1; block <= all; ++block) {
    sums[block] = Number(sum(block));
    sums[block] *= Number(kFactorials[static_cast<std::size_t>(std::popcount(block)) - 1]);
  }
  ways[0] = Number(1u);
  for (std::uint32_t chosen = 1; chosen <= all; ++chosen) {
    const std::uint32_t lowest = chosen & -chosen, rest = chosen ^ lowest;
    Number total(0u);
    for (std::uint32_t others = rest;; others = (others - 1) & rest) {
      const std::uint32_t block = lowest | others;
      if (!(sums[block] == Number(0u))) {
        Number term = sums[block];
        term *= ways[chosen ^ block];
        if (std::popcount(block) % 2 == 0)
          total -= term;
        else
          total += term;
      }
      if (others == 0) break;
    }
    ways[chosen] = total;
  }
  return ways[all];
}

// The same in the narrowest exact arithmetic. `largest` is the product of the sums of single levels. Nothing
// if numbers might pass 2^126.
template <class Sum>
std::optional<Total> counted_choices(std::size_t levels, double largest, Sum&& sum) {
  // Each product of sums is at most `largest`, and the weights of all partitions add up to levels!.
  for (std::size_t factor = 2; factor <= levels; ++factor) largest *= static_cast<double>(factor);
  if (largest < 0x1p62)
    return static_cast<Total>(alternating_choices<std::int64_t>(
        levels, [&](std::uint32_t block) { return static_cast<std::int64_t>(sum(block)); }));
  if (largest < 0x1p126)
    return static_cast<Total>(alternating_choices<SignedTotal>(
        levels, [&](std::uint32_t block) { return static_cast<SignedTotal>(sum(block)); }));
  return std::nullopt;
}

}  // namespace motiflux::search
