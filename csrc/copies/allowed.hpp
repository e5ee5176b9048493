// The values of one side of a comparison for which it holds, once the other side is known.
//
// Comparisons by order or equality allow an interval of values. Its ends are exact, as `holds` rounds: so
// copies in order of their values are bisected, and none has to be judged again.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "copies/comparison.hpp"

namespace motiflux::copies {

struct Allowed {
  Interval interval;  // empty if low is above high
  bool exact = true;  // otherwise values in the interval have to be judged one by one
};

Allowed allowed_left(const Comparison& comparison, std::int64_t right);
Allowed allowed_right(const Comparison& comparison, std::int64_t left);

// The same for plain integers, where `op` is between the value that is sought and `bound`.
inline Allowed allowed_plainly(Operator op, std::int64_t bound) {
  constexpr std::int64_t kLeast = kAllIntegers.low, kMost = kAllIntegers.high;
  switch (op) {
    case Operator::kLess:
      return {bound == kLeast ? Interval{1, 0} : Interval{kLeast, bound - 1}};
    case Operator::kAtMost:
      return {{kLeast, bound}};
    case Operator::kGreater:
      return {bound == kMost ? Interval{1, 0} : Interval{bound + 1, kMost}};
    case Operator::kAtLeast:
      return {{bound, kMost}};
    case Operator::kEqual:
      return {{bound, bound}};
    default:
      return {kAllIntegers, false};
  }
}

// The operator between the exchanged sides.
inline Operator mirrored(Operator op) {
  switch (op) {
    case Operator::kLess:
      return Operator::kGreater;
    case Operator::kAtMost:
      return Operator::kAtLeast;
    case Operator::kGreater:
      return Operator::kLess;
    case Operator::kAtLeast:
      return Operator::kAtMost;
    default:
      return op;
  }
}

// A comparison of which one side is known and the other one sought: the same intervals, by fewer operations
// where an end is a sum of two integers or a product of two doubles.
class SoughtSide {
 public:
  SoughtSide() = default;
  // `left`: whether the left side is sought.
  SoughtSide(const Comparison& comparison, bool left);

  // Leaves the values that the comparison allows in an interval, or more if `exact` becomes false: then these
  // have to be judged one by one. False if there are none.
  bool narrow(std::int64_t known, Interval& interval, bool& exact) const {
    switch (kind_) {
      case Kind::kIntegers:
        return narrow_integers(known, interval);
      case Kind::kFloats:
        return narrow_floats(known, interval);
      default:
        return narrow_otherwise(known, interval, exact);
    }
  }

 private:
  enum class Kind : std::uint8_t {
    kIntegers,  // known + low_ <= sought <= known + high_
    kFloats,    // factor_ * known + offset_ <= sought, or >=
    kOther,
  };

  bool narrow_integers(std::int64_t known, Interval& interval) const {
    std::int64_t end;
    if (lower_) {
      if (!__builtin_add_overflow(known, low_, &end)) {
        if (interval.low < end) interval.low = end;
      } else if (low_ > 0) {
        return false;
      }
    }
    if (upper_) {
      if (!__builtin_add_overflow(known, high_, &end)) {
        if (end < interval.high) interval.high = end;
      } else if (high_ < 0) {
        return false;
      }
    }
    return interval.low <= interval.high;
  }
  bool narrow_floats(std::int64_t known, Interval& interval) const {
    double end = factor_ * std::bit_cast<double>(known) + offset_;
    if (std::isnan(end)) return false;
    if (strict_) {
      if (std::isinf(end) && std::signbit(end) != lower_) return false;
      end = lower_ ? next_above(end) : -next_above(-end);
    }
    if (lower_ && std::bit_cast<double>(interval.low) < end) interval.low = std::bit_cast<std::int64_t>(end);
    if (upper_ && end < std::bit_cast<double>(interval.high))
      interval.high = std::bit_cast<std::int64_t>(end);
    return std::bit_cast<double>(interval.low) <= std::bit_cast<double>(interval.high);
  }
  bool narrow_otherwise(std::int64_t known, Interval& interval, bool& exact) const;
  // Of a number that is not the greatest.
  static double next_above(double value) {
    const auto bits = std::bit_cast<std::int64_t>(value + 0.0);  // -0 is 0
    return std::bit_cast<double>(bits < 0 ? bits - 1 : bits + 1);
  }

  const Comparison* comparison_ = nullptr;
  Kind kind_ = Kind::kOther;
  bool left_ = false;
  bool lower_ = false;
  bool upper_ = false;
  bool strict_ = false;
  std::int64_t low_ = 0;
  std::int64_t high_ = 0;
  double factor_ = 1;
  double offset_ = 0;
};

// The values that a span reaches from chosen ones, of which these are the least and the greatest.
Allowed allowed_by_floats(const Span& span, std::int64_t lowest, std::int64_t highest);
inline Allowed allowed_by(const Span& span, std::int64_t lowest, std::int64_t highest) {
  if (span.floats) return allowed_by_floats(span, lowest, highest);
  Interval interval = kAllIntegers;
  if (span.span > kAllIntegers.high) {
    const Int128 length = span.span < (Int128{1} << 65) ? span.span : Int128{1} << 65;
    const Int128 low = highest - length, high = lowest + length;
    if (low > interval.low) interval.low = static_cast<std::int64_t>(low);
    if (high < interval.high) interval.high = static_cast<std::int64_t>(high);
    return {interval};
  }
  const auto length = static_cast<std::int64_t>(span.span);
  std::int64_t end;
  if (!__builtin_sub_overflow(highest, length, &end)) interval.low = end;
  if (!__builtin_add_overflow(lowest, length, &end)) interval.high = end;
  return {interval};
}

}  // namespace motiflux::copies
