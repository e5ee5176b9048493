#include "copies/allowed.hpp"

#include <algorithm>
#include <cmath>

namespace motiflux::copies {
namespace {

constexpr Interval kNoIntegers{1, 0};
constexpr Interval kNoFloats{std::bit_cast<std::int64_t>(1.0), std::bit_cast<std::int64_t>(-1.0)};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Neighbouring doubles that are tried to find the end of an interval: it is near the value that solves an
// equation, unless that is rounded to 0.
constexpr int kTried = 8;

bool is_upper(Operator op) {
  return op == Operator::kLess || op == Operator::kAtMost;
}

// The values v with m * v op bound; m is positive.
Interval integers(Operator op, Int128 m, Int128 bound) {
  constexpr Int128 kMost = static_cast<Int128>(1) << 65;  // beyond all values
  Int128 floor = m == 1 ? bound : bound / m;
  const bool divides = m == 1 || floor * m == bound;
  if (!divides && bound < 0) --floor;
  floor = std::clamp(floor, -kMost, kMost);
  Int128 low = -kMost, high = kMost;
  switch (op) {
    case Operator::kLess:
      high = divides ? floor - 1 : floor;
      break;
    case Operator::kAtMost:
      high = floor;
      break;
    case Operator::kGreater:
      low = floor + 1;
      break;
    case Operator::kAtLeast:
      low = divides ? floor : floor + 1;
      break;
    default:
      if (!divides) return kNoIntegers;
      low = high = floor;
  }
  if (high < kAllIntegers.low || low > kAllIntegers.high) return kNoIntegers;
  return {static_cast<std::int64_t>(std::max<Int128>(low, kAllIntegers.low)),
          static_cast<std::int64_t>(std::min<Int128>(high, kAllIntegers.high))};
}

Interval doubles(double low, double high) {
  return {std::bit_cast<std::int64_t>(low), std::bit_cast<std::int64_t>(high)};
}

// The values v with v op sum + rest; the rest, of which only the sign matters, is less than half the distance
// to the next double.
Interval doubles(Operator op, double sum, double rest) {
  if (std::isnan(sum)) return kNoFloats;
  const auto below = [&] { return std::nextafter(sum, -kInfinity); };
  const auto above = [&] { return std::nextafter(sum, kInfinity); };
  switch (op) {
    case Operator::kLess:
      return sum == -kInfinity ? kNoFloats : doubles(-kInfinity, rest > 0 ? sum : below());
    case Operator::kAtMost:
      return doubles(-kInfinity, rest >= 0 ? sum : below());
    case Operator::kGreater:
      return sum == kInfinity ? kNoFloats : doubles(rest < 0 ? sum : above(), kInfinity);
    case Operator::kAtLeast:
      return doubles(rest <= 0 ? sum : above(), kInfinity);
    default:
      return rest == 0 ? doubles(sum, sum) : kNoFloats;
  }
}

// What adding a and b rounds off; 0 if the sum is not finite.
double rounded_off(double a, double b, double sum) {
  if (!std::isfinite(sum)) return 0;
  const double of_b = sum - a, of_a = sum - of_b;
  return (a - of_a) + (b - of_b);
}

// The values that satisfy `fits`, which holds from some value on (`up`), or up to some value: one near
// `guess`.
template <class Fits>
Allowed from_near(double guess, bool up, Fits&& fits) {
  if (!std::isfinite(guess)) return {kAllFloats, false};
  const double inside = up ? kInfinity : -kInfinity;
  double last = guess;  // the last value that fits, on the way out
  int tried = 0;
  if (fits(guess)) {
    for (double next = guess; tried <= kTried; ++tried) {
      next = std::nextafter(next, -inside);
      if (!fits(next)) break;
      last = next;
    }
  } else {
    do last = std::nextafter(last, inside);
    while (++tried <= kTried && !fits(last));
  }
  if (tried > kTried || std::isinf(last)) return {kAllFloats, false};
  return {up ? doubles(last, kInfinity) : doubles(-kInfinity, last), true};
}

Allowed floats_right(const Comparison& one, Operator op, double left) {
  if (one.factor == 1 || one.factor == -1) {
    const double sum = left - one.offset;
    if (!std::isfinite(sum)) return {kAllFloats, false};
    const double rest = rounded_off(left, -one.offset, sum);
    return {one.factor == 1 ? doubles(mirrored(op), sum, rest) : doubles(op, -sum, -rest), true};
  }
  const auto fits = [&](double value) {
    return holds(one, op, std::bit_cast<std::int64_t>(left), std::bit_cast<std::int64_t>(value));
  };
  return from_near((left - one.offset) / one.factor, is_upper(op) == one.rises(), fits);
}

Interval both(bool floats, Interval a, Interval b) {
  const auto value = [](std::int64_t bits) { return std::bit_cast<double>(bits); };
  if (floats) return doubles(std::max(value(a.low), value(b.low)), std::min(value(a.high), value(b.high)));
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

}  // namespace

Allowed allowed_left(const Comparison& one, std::int64_t right) {
  if (one.plain) return allowed_plainly(one.op, right);
  if (one.op == Operator::kUnequal) return {one.floats ? kAllFloats : kAllIntegers, false};
  if (one.floats) {
    const double scaled = one.factor * std::bit_cast<double>(right), sum = scaled + one.offset;
    const bool plain = one.factor == 1 || one.factor == -1;
    return {doubles(one.op, sum, plain ? rounded_off(scaled, one.offset, sum) : 0), true};
  }
  Int128 bound;
  if (__builtin_add_overflow(static_cast<Int128>(right) * one.n, one.c, &bound)) return {kAllIntegers, false};
  return {integers(one.op, one.m, bound), true};
}

Allowed allowed_right(const Comparison& one, std::int64_t left) {
  if (one.plain) return allowed_plainly(mirrored(one.op), left);
  if (one.op == Operator::kUnequal) return {one.floats ? kAllFloats : kAllIntegers, false};
  if (one.floats) {
    const double value = std::bit_cast<double>(left);
    if (one.op != Operator::kEqual) return floats_right(one, one.op, value);
    const Allowed most = floats_right(one, Operator::kAtMost, value);
    const Allowed least = floats_right(one, Operator::kAtLeast, value);
    return {both(true, most.interval, least.interval), most.exact && least.exact};
  }
  Int128 bound;
  if (__builtin_sub_overflow(static_cast<Int128>(left) * one.m, one.c, &bound)) return {kAllIntegers, false};
  if (one.n > 0) return {integers(mirrored(one.op), one.n, bound), true};
  if (__builtin_sub_overflow(Int128{0}, bound, &bound)) return {kAllIntegers, false};
  return {integers(one.op, -static_cast<Int128>(one.n), bound), true};
}

SoughtSide::SoughtSide(const Comparison& comparison, bool left) : comparison_(&comparison), left_(left) {
  const Operator op = left ? comparison.op : mirrored(comparison.op);
  if (op == Operator::kUnequal) return;
  lower_ = !is_upper(op);
  upper_ = is_upper(op) || op == Operator::kEqual;
  if (comparison.floats) {
    // Of a sum that was rounded, or a factor at the side that is sought, more has to be looked at.
    const bool same = comparison.factor == 1 && comparison.offset == 0;
    const bool product = left && comparison.factor != 1 && comparison.factor != -1;
    if (!same && !product) return;
    kind_ = Kind::kFloats;
    strict_ = op == Operator::kLess || op == Operator::kGreater;
    factor_ = comparison.factor;
    offset_ = comparison.offset;
    return;
  }
  constexpr Int128 kMost = Int128{1} << 62;
  if (comparison.m != 1 || comparison.n != 1 || comparison.c > kMost || comparison.c < -kMost) return;
  kind_ = Kind::kIntegers;
  const auto offset = static_cast<std::int64_t>(left ? comparison.c : -comparison.c);
  low_ = offset + (op == Operator::kGreater ? 1 : 0);
  high_ = offset - (op == Operator::kLess ? 1 : 0);
}

bool SoughtSide::narrow_otherwise(std::int64_t known, Interval& interval, bool& exact) const {
  const Allowed allowed = left_ ? allowed_left(*comparison_, known) : allowed_right(*comparison_, known);
  exact = exact && allowed.exact;
  interval = both(comparison_->floats, interval, allowed.interval);
  if (!comparison_->floats) return interval.low <= interval.high;
  return std::bit_cast<double>(interval.low) <= std::bit_cast<double>(interval.high);
}

Allowed allowed_by_floats(const Span& span, std::int64_t lowest, std::int64_t highest) {
  const double low = std::bit_cast<double>(lowest), high = std::bit_cast<double>(highest);
  Allowed above = from_near(high - span.float_span, true, [&](double value) {
    return span.reaches(std::bit_cast<std::int64_t>(value), highest);
  });
  above.interval = both(true, above.interval, doubles(Operator::kAtMost, low + span.float_span, 0));
  return above;
}

}  // namespace motiflux::copies
