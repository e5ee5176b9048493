// What chosen copies leave to the others: comparisons, and sums of them along paths, as bounds.
//
// If x.time < y.time < z.time within a day, a chosen x bounds z from both sides. Bounds follow from the
// comparisons, but do not replace them: what rounds is rounded outwards, and what no bound says (<>) is left
// out.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "copies/network.hpp"

namespace motiflux::copies {

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

  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  static void apply(const Bound& bound, std::int64_t value, Interval& interval);
  static bool is_tighter(const Bound& bound, const Bound& known);
  std::vector<Link> links(const Network& network) const;
  void close(const Network& network);

  std::vector<std::size_t> first_;          // the first column of each variable among all columns
  std::size_t first_size_ = 0;              // the number of variables
  std::vector<char> floats_;                // by column
  std::vector<std::vector<Bound>> bounds_;  // by target and source
};

}  // namespace motiflux::copies
