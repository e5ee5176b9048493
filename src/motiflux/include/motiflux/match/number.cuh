// Arithmetic of 128-bit numbers (motiflux/number.hpp) for the counts of tails.
#pragma once

#include "motiflux/match/tail_task.hpp"

namespace motiflux::match {

MOTIFLUX_DEVICE void subtract(Number& from, const Number& number) {
  const std::uint64_t borrow = from.low < number.low;
  from.low -= number.low;
  from.high -= number.high + borrow;
}

// Products, quotients and sums are function calls by value, not inlined: ptxas needs more than linear time
// for an entry point. With them inlined, first calls took 4.1 to 4.4 s instead of 2.8 to 3.4 (an H200).

// A number modulo 2^128, and whether it overflowed.
struct Wrapped {
  Number number;
  bool overflow;
};

MOTIFLUX_DEVICE_CALL Wrapped product_of(Number product, Number factor) {
  const std::uint64_t a = product.low, b = factor.low;
  const std::uint64_t cross = product.high * b + factor.high * a;
  bool overflow = false;
  if ((product.high | factor.high) != 0)
    overflow = (product.high != 0 && factor.high != 0) || high_product(product.high, b) != 0 ||
               high_product(factor.high, a) != 0;
  product.low = a * b;
  product.high = high_product(a, b) + cross;
  return {product, overflow || product.high < cross};
}

// Multiplies modulo 2^128; returns whether the product overflowed.
MOTIFLUX_DEVICE bool multiply(Number& product, const Number& factor) {
  const Wrapped found = product_of(product, factor);
  product = found.number;
  return found.overflow;
}

MOTIFLUX_DEVICE_CALL Number quotient(Number number, std::uint32_t divisor) {
  const std::uint64_t upper = (number.high % divisor) << 32 | number.low >> 32;
  number.high /= divisor;
  const std::uint64_t lower = (upper % divisor) << 32 | (number.low & 0xffffffffu);
  number.low = (upper / divisor) << 32 | lower / divisor;
  return number;
}

// The sum over all lanes, in each.
template <class Lanes>
MOTIFLUX_DEVICE_CALL Wrapped sum_over(const Lanes lanes, Number number) {
  // No sum of 32 words of 32 bits passes 64 bits.
  std::uint64_t words[4] = {number.low & 0xffffffffu, number.low >> 32, number.high & 0xffffffffu,
                            number.high >> 32};
  if (lanes.ballot(number.high != 0) == 0) {
    const std::uint64_t lower = lanes.sum(words[0]), upper = lanes.sum(words[1]) + (lower >> 32);
    return {{upper << 32 | (lower & 0xffffffffu), upper >> 32}, false};
  }
  std::uint64_t carry = 0;
  for (std::uint64_t& word : words) {
    word = lanes.sum(word) + carry;
    carry = word >> 32;
  }
  return {{words[1] << 32 | (words[0] & 0xffffffffu), words[3] << 32 | (words[2] & 0xffffffffu)}, carry != 0};
}

// The number of ways to take `levels` different members of a set of `size`, the members of each chain
// ascending.
struct Ways {
  Number number;
  bool overflow;  // the number does not fit
};

MOTIFLUX_DEVICE_CALL Ways falling_factorial(std::uint64_t size, std::uint32_t levels,
                                            const std::uint8_t* chains, std::uint32_t chain_count) {
  Ways ways{{size >= levels, 0}, false};
  if (size < levels) return ways;
  std::uint32_t chain = 0, left = 0, taken = 0;
  for (std::uint32_t level = 0; level < levels; ++level, --size, ++taken) {
    if (left == 0) {
      left = chain < chain_count ? chains[chain++] : 1;
      taken = 0;
    }
    --left;
    ways.overflow |= multiply(ways.number, {size, 0});
    if (taken > 0)
      ways.number = quotient(ways.number, taken + 1);  // exact: a multiple of a binomial coefficient
  }
  return ways;
}

}  // namespace motiflux::match
