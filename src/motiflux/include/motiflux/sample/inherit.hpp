// Sample inheritance (gSWORD, section 4.1): lanes of a group of 32 whose samples died continue with samples
// of other lanes.
//
// A group is 32 consecutive sample ids, the first a multiple of 32, that take each level together; lane l has
// sample first + l, keeps its id whatever it inherits, and with it its random numbers. Each of k lanes that
// continue one sample has 1/k of its weight, so the expectation of the group's sum of weights is unchanged.
// The estimate divides by the number of samples begun, dead ones included; an inheriting lane begins none.
#pragma once

#include "motiflux/bits.hpp"

namespace motiflux::sample {

inline constexpr std::uint32_t kGroup = 32;

enum class Inheritance : std::uint8_t {
  kOff = 0,     // lanes of dead samples idle until the group is done
  kOne = 1,     // all continue with the sample of the lowest living lane (Algorithm 2)
  kSpread = 2,  // the living lanes' samples are assigned in turn
};

struct Heritage {
  std::uint32_t lane;    // the lane whose sample it continues: itself, if alive
  std::uint32_t shares;  // number of lanes that continue that sample; 0: none lives
};

// The position of the set bit of `word` with `rank` set bits below it.
MOTIFLUX_HOST_DEVICE inline std::uint32_t bit_of_rank(std::uint32_t word, std::uint32_t rank) {
  for (; rank > 0; --rank) word &= word - 1;
  return lowest_bit(word);
}

// The heritage of a lane when the samples of the lanes `alive` live.
MOTIFLUX_HOST_DEVICE inline Heritage heritage(Inheritance mode, std::uint32_t alive, std::uint32_t lane) {
  const bool lives = alive >> lane & 1;
  if (alive == 0 || mode == Inheritance::kOff) return {lane, lives ? 1u : 0u};
  const std::uint32_t living = count_bits(alive), idle = kGroup - living;
  if (mode == Inheritance::kOne) {
    const std::uint32_t heir = lowest_bit(alive);
    return lives && lane != heir ? Heritage{lane, 1} : Heritage{heir, idle + 1};
  }
  const std::uint32_t before = bits_below(lane);
  const std::uint32_t rank = lives ? count_bits(alive & before) : count_bits(~alive & before) % living;
  const std::uint32_t shares = 1 + idle / living + (rank < idle % living ? 1 : 0);
  return {lives ? lane : bit_of_rank(alive, rank), shares};
}

}  // namespace motiflux::sample
