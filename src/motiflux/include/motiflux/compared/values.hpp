// Comparisons between two values of 64 bits, exactly as csrc/copies/comparison.hpp makes them.
//
// Integers are compared as m * left < n * right + c in 128 bits, doubles as left < factor * right + offset,
// rounded after each operation: units that include this are compiled without fused operations. If the factor
// is 1 or -1, the sum is not rounded.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::compared {

enum class Operator : std::uint8_t { kEqual = 0, kUnequal, kLess, kAtMost, kGreater, kAtLeast };

enum class Form : std::uint8_t { kPlain = 0, kIntegers, kFloats };  // kPlain: integers, m = n = 1, c = 0

// The numbers of a comparison: m, n and c (low word first), or the bits of a factor and an offset.
struct Numbers {
  std::int64_t words[4];
};

MOTIFLUX_HOST_DEVICE inline double as_double(std::int64_t bits) {
#if defined(__CUDACC_RTC__)
  return __longlong_as_double(bits);
#else
  return __builtin_bit_cast(double, bits);
#endif
}

// How two values are ordered, as a bit: doubles that are no numbers are not ordered.
inline constexpr std::uint32_t kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8;

// Whether an operator accepts an order: its bits are a digit of a number, so that no lane branches.
MOTIFLUX_HOST_DEVICE inline bool accepts(Operator op, std::uint32_t order) {
  constexpr std::uint32_t kAccepted[] = {
      kEqual, kLess | kGreater | kUnordered, kLess, kLess | kEqual, kGreater, kGreater | kEqual};
  constexpr std::uint32_t kDigits = kAccepted[0] | kAccepted[1] << 4 | kAccepted[2] << 8 |
                                    kAccepted[3] << 12 | kAccepted[4] << 16 | kAccepted[5] << 20;
  return (kDigits >> 4 * static_cast<std::uint32_t>(op) & order) != 0;
}

template <class T>
MOTIFLUX_HOST_DEVICE inline std::uint32_t order_of(T left, T right) {
  if (left < right) return kLess;
  if (left == right) return kEqual;
  return left > right ? kGreater : kUnordered;
}

// An integer of 128 bits with a sign: NVRTC has no such type.
struct Signed {
  std::uint64_t low;
  std::int64_t high;
};

MOTIFLUX_HOST_DEVICE inline Signed product(std::int64_t a, std::int64_t b) {
  const std::uint64_t low = static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
#if defined(__CUDACC_RTC__)
  return {low, __mul64hi(a, b)};
#else
  __extension__ using Product = __int128;
  return {low, static_cast<std::int64_t>(static_cast<Product>(a) * b >> 64)};
#endif
}

MOTIFLUX_HOST_DEVICE inline Signed sum(const Signed& a, const Signed& b) {
  const std::uint64_t low = a.low + b.low;
  const std::uint64_t high =
      static_cast<std::uint64_t>(a.high) + static_cast<std::uint64_t>(b.high) + (low < a.low);
  return {low, static_cast<std::int64_t>(high)};
}

MOTIFLUX_HOST_DEVICE inline std::uint32_t order_of(const Signed& left, const Signed& right) {
  return left.high != right.high ? order_of(left.high, right.high) : order_of(left.low, right.low);
}

// The order of a double and the exact sum of two: the rounded sum decides unless it equals the left side,
// then what was rounded off.
MOTIFLUX_HOST_DEVICE inline std::uint32_t order_of_sum(double left, double a, double b) {
  const double sum = a + b;
  if (left != sum || sum - sum != 0.0) return order_of(left, sum);
  const double of_b = sum - a, of_a = sum - of_b;
  return order_of(0.0, (a - of_a) + (b - of_b));
}

MOTIFLUX_HOST_DEVICE inline bool compare(Operator op, Form form, const Numbers& numbers, std::int64_t left,
                                         std::int64_t right) {
  const std::int64_t* words = numbers.words;
  if (form == Form::kPlain) return accepts(op, order_of(left, right));
  if (form == Form::kIntegers) {
    const Signed offset{static_cast<std::uint64_t>(words[2]), words[3]};
    return accepts(op, order_of(product(words[0], left), sum(product(words[1], right), offset)));
  }
  const double factor = as_double(words[0]), offset = as_double(words[1]);
  const double value = as_double(left), scaled = factor * as_double(right);
  const bool exact = factor == 1.0 || factor == -1.0;
  return accepts(op, exact ? order_of_sum(value, scaled, offset) : order_of(value, scaled + offset));
}

// A span over the main values of all query edges.
struct Span {
  std::uint64_t length;  // of integers; the greatest number for longer ones
  double float_length;
  std::uint8_t there;
  std::uint8_t floats;

  // Whether `value` is at most the span above `lowest`.
  MOTIFLUX_HOST_DEVICE bool reaches(std::int64_t lowest, std::int64_t value) const {
    if (floats) return as_double(value) <= as_double(lowest) + float_length;
    return value <= lowest ||
           static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(lowest) <= length;
  }
  MOTIFLUX_HOST_DEVICE bool less(std::int64_t a, std::int64_t b) const {
    return floats ? as_double(a) < as_double(b) : a < b;
  }
};

}  // namespace motiflux::compared
