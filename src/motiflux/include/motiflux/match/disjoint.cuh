// Taking an entry of each of two lists, and a vertex of each of up to three sets of leaf levels, all vertices
// different: each pair of entries times the ways to choose from the sets.
//
// These depend on the separators of an entry only by how many of them are in each set and in each
// intersection of sets. With a and b such numbers of the two entries, and U the sets,
//
//   ways(a + b)  =  the sum over T, a part of U, of  ways to choose from U - T beside a  *  arranged(T, -b)
//
// so what the second entry adds by T is added up over all that share no vertex with the first, and each lane
// has a first entry of its own. All pairs are looked at: on a GPU that is no more than to find those that
// touch. Numbers are right modulo 2^128, and below that the caller knows what comes out to be.
#pragma once

#include "motiflux/bits.hpp"
#include "motiflux/match/number.cuh"
#include "motiflux/match/overlap_memory.hpp"

namespace motiflux::match {

// Entries of which the ways, times what arranged() comes to, may be added up in 64 bits: together they have
// less than so many.
inline constexpr std::uint64_t kMostWays = std::uint64_t{1} << 57;

MOTIFLUX_DEVICE Number signed_number(std::uint64_t value) {
  return {value, value >> 63 != 0 ? ~std::uint64_t{0} : 0};
}

// By mask of sets, how many vertices they have in common, less those of an entry; as 64 bits with a sign.
struct Left {
  std::uint64_t in[1u << view::kMostLevelsBesideLists];
};

// Ways to take a different vertex for each set of `mask`, where left.in says how many there are.
MOTIFLUX_DEVICE_CALL Number arranged(std::uint32_t mask, const Left& left) {
  Number ways{1, 0};
  for_each_bit(mask, [&](std::uint32_t set) { multiply(ways, signed_number(left.in[1u << set])); });
  if (count_bits(mask) == 2) subtract(ways, signed_number(left.in[mask]));
  if (count_bits(mask) < 3) return ways;
  for (std::uint32_t set = 0; set < 3; ++set) {
    Number pair = signed_number(left.in[mask & ~(1u << set)]);
    multiply(pair, signed_number(left.in[1u << set]));
    subtract(ways, pair);
  }
  add(ways, signed_number(2 * left.in[mask]));
  return ways;
}

// Subtracts the separators of an entry that sets contain; having(vertex) is a bit for each set with the
// vertex.
template <class Having>
MOTIFLUX_DEVICE void take_off(Left& left, const Entry& entry, std::uint32_t separators, std::uint32_t sets,
                              Having&& having) {
  if (sets == 0) return;
  for (std::uint32_t separator = 0; separator < separators; ++separator) {
    const std::uint32_t bits = having(entry.vertex[separator]);
    for (std::uint32_t mask = 1; mask >> sets == 0; ++mask) left.in[mask] -= (mask & bits) == mask;
  }
}

// The second list: entries, and what each adds by mask of sets.
struct Outer {
  Choices choices;
  std::uint32_t length;
  std::uint32_t separators;
  bool some;  // whether there is a second list
};

// Fills in what each entry adds by mask, its ways times arranged(). Whether the ways are too many.
template <class Lanes, class Having>
MOTIFLUX_DEVICE bool weigh(const Lanes& lanes, const Outer& outer, std::uint32_t sets, Having&& having) {
  Number share{0, 0};
  bool overflow = false;
  for (std::uint32_t place = lanes.lane(); place < outer.length; place += Lanes::kLanes) {
    const Entry entry = outer.choices.entry(place, outer.separators, kNoOuterSeparator);
    overflow |= entry.ways >= kMostWays;
    add(share, {entry.ways, 0});
    Left left{};
    take_off(left, entry, outer.separators, sets, having);
    for (std::uint32_t mask = 1; mask >> sets == 0; ++mask)
      outer.choices.ways(mask)[place] = arranged(mask, left).low * entry.ways;
  }
  const Number all = sum_over(lanes, share, overflow);
  lanes.sync();
  return overflow || all.high != 0 || all.low >= kMostWays;
}

MOTIFLUX_DEVICE bool touches(const Entry& a, const Entry& b) {
  bool same = false;
  for (std::uint32_t i = 0; i < view::kMostSeparators; ++i)
    for (std::uint32_t j = 0; j < view::kMostSeparators; ++j) same |= a.vertex[i] == b.vertex[j];
  return same;
}

// The number for an entry of the first list, with all of the second and kSets sets of leaf levels.
template <std::uint32_t kSets>
MOTIFLUX_DEVICE_CALL Number ways_with(const Entry& entry, const Outer& outer, const Left& left) {
  constexpr std::uint32_t kMasks = 1u << kSets;
  std::uint64_t added[kMasks];
  for (std::uint32_t mask = 0; mask < kMasks; ++mask) added[mask] = mask == 0 && !outer.some;
  for (std::uint32_t place = 0; place < outer.length; ++place) {
    if (touches(entry, outer.choices.entry(place, outer.separators, kNoOuterSeparator))) continue;
    for (std::uint32_t mask = 0; mask < kMasks; ++mask) added[mask] += outer.choices.ways(mask)[place];
  }
  Number ways{0, 0};
  for (std::uint32_t mask = 0; mask < kMasks; ++mask) {
    Number term = arranged((kMasks - 1) ^ mask, left);
    multiply(term, signed_number(added[mask]));
    add(ways, term);
  }
  multiply(ways, {entry.ways, 0});
  return ways;
}

// sizes[mask - 1] is what the sets of a mask have in common.
template <class Having>
MOTIFLUX_DEVICE Number ways_with_levels_beside(const Entry& entry, std::uint32_t separators,
                                               const Outer& outer, const std::uint64_t* sizes,
                                               std::uint32_t sets, Having&& having) {
  Left left{};
  for (std::uint32_t mask = 1; mask >> sets == 0; ++mask) left.in[mask] = sizes[mask - 1];
  take_off(left, entry, separators, sets, having);
  if (sets == 0) return ways_with<0>(entry, outer, left);
  if (sets == 1) return ways_with<1>(entry, outer, left);
  if (sets == 2) return ways_with<2>(entry, outer, left);
  return ways_with<3>(entry, outer, left);
}

}  // namespace motiflux::match
