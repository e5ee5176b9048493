// Counts pairs of rows of two tables whose values a comparison holds for, and that agree in some columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "common/total.hpp"
#include "copies/comparison.hpp"

namespace motiflux::copies {

// Rows of cells, each with a value.
struct ValuedRows {
  std::span<const std::uint32_t> cells;  // row after row
  std::size_t columns;
  std::span<const std::int64_t> values;

  std::size_t size() const { return values.size(); }
  const std::uint32_t* row(std::size_t at) const { return cells.data() + at * columns; }
};

// Columns of the rows of both tables that have the same cell.
struct SameCell {
  std::size_t other;
  std::size_t held;
};

// The rows of one table. They are sorted once for each choice of columns: by their cells there, then by
// value.
class RelatedRows {
 public:
  // `left`: whether the held rows have the left side of the comparison.
  RelatedRows(const Comparison& comparison, bool left, ValuedRows held);

  // The number of pairs of one of `others` and a held row. O(others * log(held)), after sorting.
  Total count(const ValuedRows& others, std::span<const SameCell> same);

 private:
  struct Sorted {
    std::vector<std::uint32_t> keys;  // the cells of each row in the columns, row after row
    std::vector<std::int64_t> values;
  };
  using Run = std::span<const std::int64_t>;  // values of rows that agree, ascending

  const Sorted& sorted(const std::vector<std::size_t>& columns);
  Run run(const Sorted& rows, std::span<const std::uint32_t> key) const;
  std::size_t related(Run values, std::int64_t other) const;
  std::size_t related(Operator op, Run values, std::int64_t other) const;

  const Comparison comparison_;
  const bool left_;
  const bool ascends_;  // whether greater held values satisfy `<` of the comparison rather than lesser ones
  const ValuedRows held_;
  std::map<std::vector<std::size_t>, Sorted> sorted_;
};

}  // namespace motiflux::copies
