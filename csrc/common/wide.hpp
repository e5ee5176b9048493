// Totals of any size that a search may reach.
//
// 32 query vertices with 32-bit images make at most 2^1024 embeddings. Arithmetic is modulo 2^1088, so sums
// with terms of alternating signs are right whatever the intermediate values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/total.hpp"

namespace motiflux {

class Wide {
 public:
  static constexpr std::size_t kWords = 17;

  Wide(Total value = 0) {
    words_[0] = static_cast<std::uint64_t>(value);
    words_[1] = static_cast<std::uint64_t>(value >> 64);
  }

  const std::array<std::uint64_t, kWords>& words() const { return words_; }

  // The number of words up to the highest nonzero one.
  std::size_t length() const {
    std::size_t length = kWords;
    while (length > 0 && words_[length - 1] == 0) --length;
    return length;
  }
  Total low() const { return Total{words_[1]} << 64 | words_[0]; }

  Wide& operator+=(const Wide& other) {
    Total carry = 0;
    for (std::size_t at = 0; at < kWords; ++at) {
      carry += Total{words_[at]} + other.words_[at];
      words_[at] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    return *this;
  }

  Wide& operator-=(const Wide& other) {
    std::uint64_t borrow = 0;
    for (std::size_t at = 0; at < kWords; ++at) {
      const Total less = Total{words_[at]} - other.words_[at] - borrow;
      words_[at] = static_cast<std::uint64_t>(less);
      borrow = less >> 64 != 0;
    }
    return *this;
  }

  Wide& operator*=(const Wide& other) {
    Wide product;
    const std::size_t own = length(), others = other.length();
    for (std::size_t a = 0; a < own; ++a) {
      Total carry = 0;
      for (std::size_t b = 0; a + b < kWords && (b < others || carry != 0); ++b) {
        carry += product.words_[a + b];
        if (b < others) carry += Total{words_[a]} * other.words_[b];
        product.words_[a + b] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
      }
    }
    return *this = product;
  }

  // The quotient by a number that divides it.
  Wide& operator/=(std::uint64_t divisor) {
    Total rest = 0;
    for (std::size_t at = kWords; at-- > 0;) {
      rest = rest << 64 | words_[at];
      words_[at] = static_cast<std::uint64_t>(rest / divisor);
      rest %= divisor;
    }
    return *this;
  }

  friend bool operator==(const Wide&, const Wide&) = default;

 private:
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace motiflux
