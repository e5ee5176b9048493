// What chosen copies leave to the others: comparisons, and sums of them along paths, as bounds.
//
// If x.time < y.time < z.time within a day, a chosen x bounds z from both sides. Bounds follow from the
// comparisons, but do not replace them: what rounds is rounded outwards, and what no bound says (<>) is left
// out.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "copies/network.hpp"

namespace motiflux::copies {

// The sum of two integers; the least or the greatest one where it is none.
inline std::int64_t shifted(std::int64_t value, std::int64_t shift) {
  std::int64_t sum;
  if (!__builtin_add_overflow(value, shift, &sum)) return sum;
  return shift < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

class Reach {
 public:
  explicit Reach(const Network& network);

  // Whether the values of a column are doubles.
  bool floats(int variable, int column) const { return floats_[first_[at(variable)] + at(column)] != 0; }
  // All values.
  Interval all(int variable, int column) const {
    return floats(variable, column) ? kAllFloats : kAllIntegers;
  }

  // The differences of main values, target minus source, if these are whole numbers; else all.
  Interval differences(int target, int source) const;

  // Bounds on the columns of `target` that a choice for `source` leaves; intervals are those of `target`, by
  // column, and become smaller. values: of `source`, by column.
  void narrow(int target, int source, const std::int64_t* values, Interval* intervals) const {
    for (const Bound& bound : bounds_[at(target) * first_size_ + at(source)])
      apply(bound, values[bound.source_column], intervals[bound.column]);
  }
  // The same if `source` has values between these.
  void narrow_between(int target, int source, const std::int64_t* lows, const std::int64_t* highs,
                      Interval* intervals) const;

 private:
  // target <= alpha * source + beta (or >=), or for `exact` whole numbers source + shift.
  struct Bound {
    int source_column = 0;
    int column = 0;
    bool upper = false;
    bool floats = false;  // of the target
    bool source_floats = false;
    bool exact = false;
    std::int64_t shift = 0;
    double alpha = 1;
    double beta = 0;
    double scale = 0;  // the sum of the sizes of what beta was added up from
  };
  struct Link;

  // Relative error of a bound: much more than that of the few operations it is made of.
  static constexpr double kSlack = 1e-12;

  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  static std::int64_t whole(double value);
  static void apply(const Bound& bound, std::int64_t value, Interval& interval);
  static bool is_tighter(const Bound& bound, const Bound& known);
  std::vector<Link> links(const Network& network) const;
  void close(const Network& network);

  std::vector<std::size_t> first_;          // the first column of each variable among all columns
  std::size_t first_size_ = 0;              // the number of variables
  std::vector<char> floats_;                // by column
  std::vector<std::vector<Bound>> bounds_;  // by target and source
};

inline void Reach::apply(const Bound& bound, std::int64_t value, Interval& interval) {
  if (bound.exact) {
    const std::int64_t limit = shifted(value, bound.shift);
    if (bound.upper)
      interval.high = std::min(interval.high, limit);
    else
      interval.low = std::max(interval.low, limit);
    return;
  }
  const double given = bound.source_floats ? std::bit_cast<double>(value) : static_cast<double>(value);
  const double scaled = bound.alpha * given, limit = scaled + bound.beta;
  if (!std::isfinite(limit)) return;  // infinite values: the comparisons themselves decide
  const double slack =
      kSlack * (std::abs(scaled) + bound.scale) + std::numeric_limits<double>::min();  // of tiny values
  const double outward = bound.upper ? limit + slack : limit - slack;
  if (bound.floats) {
    if (bound.upper && outward < std::bit_cast<double>(interval.high))
      interval.high = std::bit_cast<std::int64_t>(outward);
    if (!bound.upper && outward > std::bit_cast<double>(interval.low))
      interval.low = std::bit_cast<std::int64_t>(outward);
  } else if (bound.upper) {
    interval.high = std::min(interval.high, whole(std::floor(outward) + 1));
  } else {
    interval.low = std::max(interval.low, whole(std::ceil(outward) - 1));
  }
}

}  // namespace motiflux::copies
