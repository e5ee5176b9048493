// The comparisons of a pattern, as a network of variables: a query edge, whose values are the copies between
// the images of its ends, or a query vertex, whose only value is its image.
//
// A choice assigns a copy to each variable such that all comparisons hold. Copies are named by their places
// in columns of values, one for each attribute that is compared; those of one pair of vertices are a range of
// places, and ascending by column 0, the variable's main column.
#pragma once

#include <cstdint>
#include <vector>

#include "copies/comparison.hpp"

namespace motiflux::copies {

using Place = std::uint64_t;

struct Variable {
  bool is_vertex = false;
  std::vector<const std::int64_t*> columns;  // values by place

  std::int64_t value(int column, Place place) const {
    return columns[static_cast<std::size_t>(column)][place];
  }
};

// Places from `first` to before `last`.
struct Range {
  Place first = 0;
  Place last = 0;

  Place size() const { return last - first; }
};

struct Network {
  std::vector<Variable> variables;
  std::vector<Comparison> comparisons;  // of two variables, or of two columns of one
  Span span;                            // over column 0 of all variables that are no vertices

  // Whether a comparison restricts ranges of main columns exactly: in a network of such comparisons alone,
  // ranges that agree with each other at their first places have a choice, namely these. Of vertices, any
  // column will do.
  bool is_monotone(const Comparison& one) const {
    const Variable& left = variables[static_cast<std::size_t>(one.left)];
    const Variable& right = variables[static_cast<std::size_t>(one.right)];
    if (one.op == Operator::kUnequal || one.left == one.right) return false;
    if ((!left.is_vertex && one.left_column != 0) || (!right.is_vertex && one.right_column != 0))
      return false;
    return left.is_vertex || right.is_vertex || one.rises();
  }

  bool holds(const Comparison& one, Place left, Place right) const {
    return copies::holds(one, variables[static_cast<std::size_t>(one.left)].value(one.left_column, left),
                         variables[static_cast<std::size_t>(one.right)].value(one.right_column, right));
  }
};

}  // namespace motiflux::copies
