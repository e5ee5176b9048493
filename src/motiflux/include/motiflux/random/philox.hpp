// Random numbers as a function of their place of use: Philox4x32 with ten rounds, of Salmon, Moraes, Dror and
// Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
//
// The key is the seed; the counter is the place:
//
//   words 0, 1   index: of an edge, a vertex, a sample
//   word  2      stream: the purpose, so that no two purposes share a number
//   word  3      part: the first four numbers of that index, the next four, ...
//
// The same place gives the same numbers in any thread, on the CPU and on a GPU.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::random {

struct Words {
  std::uint32_t word[4];
};

MOTIFLUX_HOST_DEVICE constexpr Words philox(Words counter, std::uint32_t key0, std::uint32_t key1) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  constexpr std::uint32_t kStep0 = 0x9E3779B9u, kStep1 = 0xBB67AE85u;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter.word[0];
    const std::uint64_t product1 = kMultiplier1 * counter.word[2];
    counter = {{static_cast<std::uint32_t>(product1 >> 32) ^ counter.word[1] ^ key0,
                static_cast<std::uint32_t>(product1),
                static_cast<std::uint32_t>(product0 >> 32) ^ counter.word[3] ^ key1,
                static_cast<std::uint32_t>(product0)}};
    key0 += kStep0;
    key1 += kStep1;
  }
  return counter;
}

// Four numbers of the place (stream, index, part) under a seed.
MOTIFLUX_HOST_DEVICE constexpr Words draw(std::uint64_t seed, std::uint32_t stream, std::uint64_t index,
                                          std::uint32_t part = 0) {
  const Words counter{
      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), stream, part}};
  return philox(counter, static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

// Two numbers as one of 64 bits.
MOTIFLUX_HOST_DEVICE constexpr std::uint64_t joined(std::uint32_t low, std::uint32_t high) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}

// A number of [0, 1) from 64 random bits, of which it keeps 53.
MOTIFLUX_HOST_DEVICE constexpr double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace motiflux::random
