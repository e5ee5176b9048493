// A comparison between a value of one variable and a value of another.
//
// Values have 64 bits: integers (numbers, nanoseconds, ranks of strings, ids) or the bits of a double.
// Integers are compared exactly as m * left < n * right + c in 128 bits, doubles as left < factor * right +
// offset, rounded after each operation (this folder is compiled without fused operations). If the factor is 1
// or -1, the sum is not rounded, so that it does not matter on which side an offset is written.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace motiflux::copies {

__extension__ using Int128 = __int128;

enum class Operator : std::uint8_t { kEqual = 0, kUnequal, kLess, kAtMost, kGreater, kAtLeast };

struct Comparison {
  int left = 0;  // variables
  int right = 0;
  int left_column = 0;
  int right_column = 0;
  Operator op = Operator::kLess;
  bool floats = false;
  bool plain = false;  // integers with m = n = 1 and c = 0
  std::int64_t m = 1;  // at least 1
  std::int64_t n = 1;  // not 0
  Int128 c = 0;
  double factor = 1;  // not 0
  double offset = 0;

  // Whether the right side grows with the value at the right.
  bool rises() const { return floats ? factor > 0 : n > 0; }
  int other(int variable) const { return left == variable ? right : left; }
  bool has(int variable) const { return left == variable || right == variable; }
};

// Values from `low` to `high`, both included: whole numbers, or the bits of doubles.
struct Interval {
  std::int64_t low;
  std::int64_t high;
};

inline constexpr Interval kAllIntegers{std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()};
inline constexpr Interval kAllFloats{std::bit_cast<std::int64_t>(-std::numeric_limits<double>::infinity()),
                                     std::bit_cast<std::int64_t>(std::numeric_limits<double>::infinity())};

template <class T>
inline bool compared(Operator op, T left, T right) {
  switch (op) {
    case Operator::kEqual:
      return left == right;
    case Operator::kUnequal:
      return left != right;
    case Operator::kLess:
      return left < right;
    case Operator::kAtMost:
      return left <= right;
    case Operator::kGreater:
      return left > right;
    default:
      return left >= right;
  }
}

// Whether left op a + b, for the exact sum: the rounded one decides unless it equals the left side, then what
// was rounded off.
inline bool compared_with_sum(Operator op, double left, double a, double b) {
  const double sum = a + b;
  if (left != sum || !std::isfinite(sum)) return compared(op, left, sum);
  const double of_b = sum - a, of_a = sum - of_b;
  return compared(op, 0.0, (a - of_a) + (b - of_b));
}

inline bool holds(const Comparison& comparison, Operator op, std::int64_t left, std::int64_t right) {
  if (comparison.plain) return compared(op, left, right);
  if (comparison.floats) {
    const double scaled = comparison.factor * std::bit_cast<double>(right);
    if (comparison.factor == 1 || comparison.factor == -1)
      return compared_with_sum(op, std::bit_cast<double>(left), scaled, comparison.offset);
    return compared(op, std::bit_cast<double>(left), scaled + comparison.offset);
  }
  return compared(op, static_cast<Int128>(left) * comparison.m,
                  static_cast<Int128>(right) * comparison.n + comparison.c);
}

inline bool holds(const Comparison& comparison, std::int64_t left, std::int64_t right) {
  return holds(comparison, comparison.op, left, right);
}

// Whether `value` is at most `span` above `lowest`: that of a span over all edges.
struct Span {
  bool there = false;
  bool floats = false;
  Int128 span = 0;
  double float_span = 0;

  bool reaches(std::int64_t lowest, std::int64_t value) const {
    if (floats) return std::bit_cast<double>(value) <= std::bit_cast<double>(lowest) + float_span;
    return static_cast<Int128>(value) - lowest <= span;
  }
  bool less(std::int64_t a, std::int64_t b) const {
    return floats ? std::bit_cast<double>(a) < std::bit_cast<double>(b) : a < b;
  }
};

}  // namespace motiflux::copies
