// The first random numbers of 32 samples at a level, computed together.
#pragma once

#include "motiflux/sample/inherit.hpp"
#include "motiflux/sample/random.hpp"

namespace motiflux::sample {

// A key with the random numbers of a sample's first choice.
struct ReadyKey {
  Key key;
  random::Words first;  // draw(key, Purpose::kChoice, level, 0) at the current level
};

inline random::Words draw(const ReadyKey& ready, Purpose purpose, std::uint32_t level,
                          std::uint32_t part = 0) {
  return purpose == Purpose::kChoice && part == 0 ? ready.first : draw(ready.key, purpose, level, part);
}

// Computes the keys of samples first, first + 1, ...
void make_ready(std::uint64_t seed, std::uint64_t first, std::uint32_t level, ReadyKey (&keys)[kGroup]);

}  // namespace motiflux::sample
