// Rows of bits over one small set: row i is the set of members that may follow member i.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace motiflux::sets {

struct BitRows {
  const std::uint64_t* rows;   // [size * words]
  const std::uint64_t* inner;  // [words]: the members that may be followed
  std::size_t size;
  std::size_t words;
};

struct Chains {
  std::uint64_t pairs = 0;    // j follows i, and may be followed
  std::uint64_t triples = 0;  // and k follows both
};

// To be inlined into functions compiled with and without the popcnt instruction.
__attribute__((always_inline)) inline Chains count_chains_in(const BitRows& bits) {
  Chains found;
  const std::uint64_t* end = bits.rows + bits.size * bits.words;
  for (const std::uint64_t* row = bits.rows; row != end; row += bits.words) {
    for (std::size_t word = 0; word < bits.words; ++word) {
      for (std::uint64_t left = row[word] & bits.inner[word]; left != 0; left &= left - 1) {
        const auto next = word * 64 + static_cast<std::size_t>(std::countr_zero(left));
        const std::uint64_t* other = bits.rows + next * bits.words;
        for (std::size_t at = 0; at < bits.words; ++at)
          found.triples += static_cast<std::uint64_t>(std::popcount(row[at] & other[at]));
        ++found.pairs;
      }
    }
  }
  return found;
}

}  // namespace motiflux::sets
