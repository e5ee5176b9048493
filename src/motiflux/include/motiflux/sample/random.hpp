// Random numbers of samples: a function of the seed, the sample's id, the level and the purpose, so that a
// sample is the same in any thread, group of lanes or order.
#pragma once

#include "motiflux/number.hpp"
#include "motiflux/random/philox.hpp"

#if !defined(__CUDACC_RTC__)
#include <cmath>
#endif

namespace motiflux::sample {

// The purpose of random numbers: no two purposes share a number.
enum class Purpose : std::uint32_t {
  kChoice = 0x53000000,  // the candidate to take; part: the block of candidates, 0 if there is one draw
  kKey = 0x53000100,     // of candidates that have weights; part: the index of the candidate
  kTrawl = 0x53000200,   // the depth of a sample before the rest is enumerated
};

struct Key {
  std::uint64_t seed;
  std::uint64_t id;  // of the sample; a lane that inherits keeps its own
};

MOTIFLUX_HOST_DEVICE inline random::Words draw(const Key& key, Purpose purpose, std::uint32_t level,
                                               std::uint32_t part = 0) {
  return random::draw(key.seed, static_cast<std::uint32_t>(purpose) + level, key.id, part);
}

// A number below `end`, from 64 random bits: uniform up to one part in 2^64 / end.
MOTIFLUX_HOST_DEVICE inline std::uint64_t below(std::uint64_t end, std::uint32_t low, std::uint32_t high) {
  return high_product(random::joined(low, high), end);
}

}  // namespace motiflux::sample
