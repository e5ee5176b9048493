// Python's Comparisons: a network with the arrays that it points into.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "common/arrays.hpp"
#include "copies/ranges.hpp"

namespace motiflux {

// Offsets, neighbours, starts, greatest values or None; and, or None, columns, other vertices and their
// places among the neighbours, starts and samples of rows by main value.
using PyCopyRows = std::tuple<std::vector<InputArray<std::int64_t>>, InputArray<std::uint32_t>,
                              InputArray<std::uint32_t>, InputArray<std::uint64_t>, InputArray<std::int64_t>>;
using PyCopyIndex =
    std::tuple<InputArray<std::uint64_t>, InputArray<std::uint32_t>, InputArray<std::uint64_t>,
               std::optional<InputArray<std::int64_t>>, std::optional<PyCopyRows>>;
// Whether a vertex, the two levels, columns of values, index (of an edge), missing values (of a vertex).
using PyVariable = std::tuple<bool, int, int, std::vector<InputArray<std::int64_t>>,
                              std::optional<PyCopyIndex>, std::optional<InputArray<std::uint8_t>>>;
// Left and right variables, left and right columns, operator, whether floats; m, n, upper and lower half of
// c; factor, offset.
using PyComparison = std::tuple<int, int, int, int, int, bool, std::int64_t, std::int64_t, std::int64_t,
                                std::uint64_t, double, double>;
// Whether floats, upper and lower half of the span, span.
using PySpan = std::tuple<bool, std::int64_t, std::uint64_t, double>;

// A comparison between variables, whose columns are counted.
copies::Comparison checked_comparison(const PyComparison& given,
                                      const std::vector<copies::Variable>& variables);
copies::Span checked_span(const PySpan& given);
// Checks an index of `copies` copies.
copies::CopyIndex checked_index(const PyCopyIndex& given, std::size_t copies);

class OwnedComparisons {
 public:
  OwnedComparisons(std::vector<PyVariable> variables, const std::vector<PyComparison>& comparisons,
                   std::optional<PySpan> span, int levels, bool count_choices);
  OwnedComparisons(const OwnedComparisons&) = delete;
  OwnedComparisons& operator=(const OwnedComparisons&) = delete;

  const copies::Compared& get() const { return compared_; }
  int levels() const { return levels_; }
  // Vertices of the graph that the indexes are of; 0 if there are none.
  std::size_t vertices() const { return vertices_; }

 private:
  std::vector<PyVariable> variables_;
  copies::Compared compared_;
  int levels_;
  std::size_t vertices_ = 0;
};

}  // namespace motiflux
