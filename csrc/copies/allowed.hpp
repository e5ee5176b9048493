// The values of one side of a comparison for which it holds, once the other side is known.
//
// Comparisons by order or equality allow an interval of values. Its ends are exact, as `holds` rounds: so
// copies in order of their values are bisected, and none has to be judged again.
#pragma once

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

// The values that a span reaches from chosen ones, of which these are the least and the greatest.
Allowed allowed_by(const Span& span, std::int64_t lowest, std::int64_t highest);

}  // namespace motiflux::copies
