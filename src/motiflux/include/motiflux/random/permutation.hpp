// A random order of 0..size-1 that takes no memory: place i is computed from i, in any thread.
//
// A Feistel network of eight rounds permutes the numbers of as many bits as size - 1 has; a number that lands
// beyond the end is permuted again until it lands before the end, less than two steps on average.
#pragma once

#include "motiflux/platform.hpp"
#include "motiflux/random/philox.hpp"

namespace motiflux::random {

inline constexpr int kPermutationRounds = 8;

struct Permutation {
  std::uint64_t keys[kPermutationRounds];
  std::uint64_t size;
  std::uint32_t left_bits;
  std::uint32_t right_bits;
};

// The permutation of 0..size-1 of a seed and a stream; size is at least 1.
MOTIFLUX_HOST_DEVICE constexpr Permutation make_permutation(std::uint64_t seed, std::uint32_t stream,
                                                            std::uint64_t size) {
  Permutation made{};
  std::uint32_t bits = 2;
  while (bits < 64 && ((size - 1) >> bits) != 0) ++bits;
  made.size = size;
  made.left_bits = bits / 2;
  made.right_bits = bits - bits / 2;
  for (int round = 0; round < kPermutationRounds; ++round) {
    const Words words = draw(seed, stream, static_cast<std::uint64_t>(round));
    made.keys[round] = joined(words.word[0], words.word[1]);
  }
  return made;
}

MOTIFLUX_HOST_DEVICE constexpr std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0xD6E8FEB86659FD93ull;
  value ^= value >> 32;
  value *= 0xD6E8FEB86659FD93ull;
  return value ^ (value >> 32);
}

// The image of `value`, which is below the permutation's size.
MOTIFLUX_HOST_DEVICE constexpr std::uint64_t permuted(const Permutation& permutation, std::uint64_t value) {
  const std::uint64_t left_mask = (std::uint64_t{1} << permutation.left_bits) - 1;
  const std::uint64_t right_mask = (std::uint64_t{1} << permutation.right_bits) - 1;
  do {
    std::uint64_t left = value >> permutation.right_bits, right = value & right_mask;
    // Two rounds at a time, after which both halves are as wide as before.
    for (int round = 0; round < kPermutationRounds; round += 2) {
      left ^= mixed(right ^ permutation.keys[round]) & left_mask;
      right ^= mixed(left ^ permutation.keys[round + 1]) & right_mask;
    }
    value = left << permutation.right_bits | right;
  } while (value >= permutation.size);
  return value;
}

}  // namespace motiflux::random
