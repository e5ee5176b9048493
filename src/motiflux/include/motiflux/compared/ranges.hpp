// Narrowing the ranges of copies of one candidate until their ends agree, as csrc/copies/ranges.cpp does.
//
// A comparison of main columns that rises keeps with two pairs of values also the pair of their minima, and
// so does a span. So if all comparisons are such, ranges whose first copies agree pairwise have a choice.
#pragma once

#include "motiflux/compared/network.hpp"
#include "motiflux/sets/span.hpp"

namespace motiflux::compared {

// Pairs of copies of two ranges that are compared one by one while a search goes on.
inline constexpr std::uint32_t kMostPairs = 16;

// No place, and no pair, is known.
inline constexpr std::uint32_t kUnknown = ~std::uint32_t{0};

MOTIFLUX_HOST_DEVICE inline bool is_small(Operator op) {
  return op == Operator::kLess || op == Operator::kAtMost;
}

// The pair of a candidate that its lane knows: of a window's entry, or a guess by the place in a row.
struct KnownPair {
  std::uint32_t variable = kUnknown;
  std::uint32_t pair = kUnknown;
  bool certain = false;
};

// Narrows the ranges of one candidate. Code is kept small, as lanes take it in common: one loop bisects for
// all kinds of comparisons.
class Narrowing {
 public:
  // whole: both ends of ranges are narrowed, else only the first copies, which are enough where they decide.
  MOTIFLUX_HOST_DEVICE Narrowing(const Network& network, Range* ranges, bool whole)
      : network_(network), ranges_(ranges), whole_(whole) {}

  // Narrows the ranges of the first `matched` variables, of which those from `known` on are new; false if no
  // choice of copies is left.
  MOTIFLUX_HOST_DEVICE bool narrow(std::uint32_t known, std::uint32_t matched) {
    const std::uint32_t last = network_.judged[matched];
    std::uint32_t first = network_.judged[known], moved = ~std::uint32_t{0};
    do {
      changed_ = 0;
      for (std::uint32_t c = first; c < last; ++c) {
        const Comparison& one = network_.comparisons[c];
        const std::uint32_t ends = std::uint32_t{1} << one.left | std::uint32_t{1} << one.right;
        if (((moved | changed_) & ends) == 0) continue;
        if (!(one.monotone ? narrow_ends(one) : check(one))) return false;
      }
      if (network_.span.there && !narrow_span(matched)) return false;
      first = 0;
      moved = changed_;
    } while (moved != 0);
    return true;
  }

 private:
  // What a range is restricted by: a comparison with a value at its other side, or a span from it.
  struct Limit {
    const Comparison* comparison;  // null: the span
    Operator op;
    bool is_left;  // whether the copies of the range are at the left
    std::int64_t other;
  };

  // Makes the ends of two ranges agree with a monotone comparison; false if a range becomes empty.
  MOTIFLUX_HOST_DEVICE bool narrow_ends(const Comparison& one) {
    const bool falls = !one.rises && !network_.variables[one.right].is_vertex;  // the left side is a vertex
    const bool equal = one.op == Operator::kEqual;
    const std::uint32_t sides = whole_ && !falls ? 2 : 1;
    for (std::uint32_t turn = 0; turn < (equal ? 2 * sides : sides); ++turn) {
      const Operator op = !equal ? one.op : turn < sides ? Operator::kAtMost : Operator::kAtLeast;
      const bool small = is_small(op), second = turn % sides != 0;
      // A greater right side has greater copies, so the first ones of the right must not be too small.
      const bool raises = falls ? !small : !second;
      const bool is_left = !falls && small == second;
      const Range other = ranges_[is_left ? one.right : one.left];
      const std::uint32_t place = raises || falls ? other.first : other.last - 1;
      const std::int64_t value = network_.columns[is_left ? one.right_column : one.left_column][place];
      const Limit limit{&one, op, is_left, value};
      if (!restrict(is_left ? one.left : one.right, is_left ? one.left_column : one.right_column, raises,
                    limit))
        return false;
    }
    return true;
  }

  // Whether some copies of two ranges satisfy a comparison, if there are few.
  MOTIFLUX_HOST_DEVICE bool check(const Comparison& one) const {
    const Range left = ranges_[one.left], right = ranges_[one.right];
    const bool same = one.left == one.right;
    if (std::uint64_t{left.size()} * (same ? 1 : right.size()) > kMostPairs) return true;
    for (std::uint32_t a = left.first; a < left.last; ++a)
      for (std::uint32_t b = same ? a : right.first; b < (same ? a + 1 : right.last); ++b)
        if (network_.holds(one, a, b)) return true;
    return false;
  }

  MOTIFLUX_HOST_DEVICE bool narrow_span(std::uint32_t matched) {
    const Span& span = network_.span;
    bool some = false;
    std::int64_t greatest_first = 0, least_last = 0;
    for (std::uint32_t v = 0; v < matched; ++v) {
      if (network_.variables[v].is_vertex) continue;
      const std::int64_t first = network_.main(v, ranges_[v].first);
      const std::int64_t last = whole_ ? network_.main(v, ranges_[v].last - 1) : 0;
      if (!some || span.less(greatest_first, first)) greatest_first = first;
      if (!some || span.less(last, least_last)) least_last = last;
      some = true;
    }
    for (std::uint32_t turn = 0; turn < (whole_ ? 2 * matched : matched); ++turn) {
      const bool raises = turn < matched;
      const std::uint32_t v = raises ? turn : turn - matched;
      const Limit limit{nullptr, {}, raises, raises ? greatest_first : least_last};
      if (!network_.variables[v].is_vertex && !restrict(v, network_.variables[v].main, raises, limit))
        return false;
    }
    return true;
  }

  MOTIFLUX_HOST_DEVICE bool fits(const Limit& limit, std::int64_t own) const {
    const std::int64_t left = limit.is_left ? own : limit.other, right = limit.is_left ? limit.other : own;
    if (limit.comparison == nullptr) return network_.span.reaches(left, right);
    return compare(limit.op, limit.comparison->form, limit.comparison->numbers, left, right);
  }

  // Moves the first place of a range to the first copy within a limit, which those behind it keep; or
  // (`raises` false) the end of the range behind the last one, which those before it keep. False if the range
  // becomes empty.
  MOTIFLUX_HOST_DEVICE bool restrict(std::uint32_t variable, std::uint32_t column, bool raises,
                                     const Limit& limit) {
    const Range range = ranges_[variable];
    const std::int64_t* values = network_.columns[column];
    // The place looked for is the first one where `fits` is as `raises` says: it is mostly an end.
    std::uint32_t first = range.first, last = range.last, at = raises ? first : last - 1;
    do {
      if (fits(limit, values[at]) == raises)
        last = at;
      else
        first = at + 1;
      at = first + (last - first) / 2;
    } while (first < last);
    if (first == (raises ? range.first : range.last)) return true;
    changed_ |= std::uint32_t{1} << variable;
    (raises ? ranges_[variable].first : ranges_[variable].last) = first;
    return raises ? first < range.last : range.first < first;
  }

  const Network& network_;
  Range* ranges_;
  const bool whole_;
  std::uint32_t changed_ = 0;  // bits of variables
};

// The copies of a variable that are matched with `level`; empty if there are none.
template <class VertexOf>
MOTIFLUX_HOST_DEVICE inline Range find(const Network& network, std::uint32_t v, VertexOf&& vertex,
                                       const KnownPair& known) {
  const Variable& variable = network.variables[v];
  const std::uint32_t from = vertex(variable.from);
  if (variable.is_vertex) {
    const bool missing = variable.missing != nullptr && variable.missing[from] != 0;
    return {from, missing ? from : from + 1};
  }
  std::uint32_t pair = known.variable == v ? known.pair : kUnknown;
  if (!(known.certain && known.variable == v)) {
    const std::uint32_t to = vertex(variable.to);
    const std::uint32_t first = variable.offsets[from], last = variable.offsets[from + 1];
    const std::uint32_t* row = variable.neighbors;
    if (pair < first || pair >= last || row[pair] != to) {
      const std::uint32_t* found = sets::lower_bound(row + first, row + last, to);
      if (found == row + last || *found != to) return {0, 0};
      pair = static_cast<std::uint32_t>(found - row);
    }
  }
  return {variable.starts[pair], variable.starts[pair + 1]};
}

}  // namespace motiflux::compared
