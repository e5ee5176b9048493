#include "bind_copies.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "bind_checks.hpp"
#include "bindings.hpp"
#include "common/free_gil.hpp"
#include "copies/build.hpp"
#include "motiflux/view/plan.hpp"
#include "python_int.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

copies::Int128 joined(std::int64_t upper, std::uint64_t lower) {
  return static_cast<copies::Int128>((static_cast<Total>(static_cast<std::uint64_t>(upper)) << 64) | lower);
}

copies::CopyIndex checked_index(const PyCopyIndex& given, std::size_t copies) {
  const auto& [offsets, neighbors, starts, rows] = given;
  require(offsets.size() >= 1 && offsets.data()[offsets.size() - 1] == neighbors.size(),
          "offsets do not end at the last pair");
  require(starts.size() == neighbors.size() + 1 && starts.data()[starts.size() - 1] == copies,
          "starts do not end at the last copy");
  copies::CopyIndex index;
  index.offsets = offsets.data();
  index.neighbors = neighbors.data();
  index.starts = starts.data();
  if (rows) {
    const auto& [columns, others] = *rows;
    require(others.size() == copies, "one entry of rows for each copy expected");
    for (const auto& column : columns) {
      require(column.size() == copies, "one entry of rows for each copy expected");
      index.row_columns.push_back(column.data());
    }
    index.row_others = others.data();
  }
  return index;
}

copies::Comparison checked_comparison(const PyComparison& given,
                                      const std::vector<copies::Variable>& variables) {
  const auto& [left, right, left_column, right_column, op, floats, m, n, upper, lower, factor, offset] =
      given;
  const auto size = static_cast<int>(variables.size());
  require(left >= 0 && left < size && right >= 0 && right < size, "a comparison names no variable");
  const auto columns = [&](int variable) {
    return static_cast<int>(variables[static_cast<std::size_t>(variable)].columns.size());
  };
  require(
      left_column >= 0 && left_column < columns(left) && right_column >= 0 && right_column < columns(right),
      "a comparison names no column");
  require(op >= 0 && op <= static_cast<int>(copies::Operator::kAtLeast), "unknown operator");
  require(m >= 1 && n != 0 && factor != 0 && std::isfinite(factor) && std::isfinite(offset),
          "a malformed comparison");
  copies::Comparison one;
  one.left = left;
  one.right = right;
  one.left_column = left_column;
  one.right_column = right_column;
  one.op = static_cast<copies::Operator>(op);
  one.floats = floats;
  one.m = m;
  one.n = n;
  one.c = joined(upper, lower);
  one.factor = factor;
  one.offset = offset;
  one.plain = !floats && m == 1 && n == 1 && one.c == 0;
  return one;
}

using PyRange = std::tuple<std::uint64_t, std::uint64_t>;

std::vector<copies::Range> checked_ranges(const OwnedComparisons& comparisons,
                                          const std::vector<PyRange>& given) {
  const auto& variables = comparisons.get().network.variables;
  require(given.size() == variables.size(), "one range for each variable expected");
  std::vector<copies::Range> ranges;
  for (const auto& [first, last] : given) ranges.push_back({first, last});
  return ranges;
}

nb::object number(Total total) {
  return to_python(Wide(total));
}

// The choices of rows of data vertices, one column for each level: for each choice its row, and the place of
// the copy of each variable. At most `most` choices of each row, if that is not 0.
nb::tuple list_choices(
    const OwnedComparisons& comparisons,
    const nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& rows,
    std::uint64_t most) {
  const copies::Compared& compared = comparisons.get();
  const int levels = comparisons.levels();
  require(rows.shape(1) == static_cast<std::size_t>(levels), "one column for each level expected");
  const std::size_t variables = compared.network.variables.size();
  std::vector<std::int64_t> of_row;
  std::vector<std::uint64_t> places;
  {
    const FreeGil free_gil;
    for (std::size_t at = 0; at < rows.size(); ++at)
      if (rows.data()[at] >= comparisons.vertices()) throw nb::value_error("no such vertex");
    copies::Ranges ranges(compared, levels);
    for (std::size_t row = 0; row < rows.shape(0); ++row) {
      const std::uint32_t* values = rows.data() + row * static_cast<std::size_t>(levels);
      bool possible = true;
      for (int level = 0; level < levels && possible; ++level) possible = ranges.enter(level, values);
      if (!possible) continue;
      std::uint64_t found = 0;
      ranges.list(levels - 1, [&](std::span<const copies::Place> choice) {
        of_row.push_back(static_cast<std::int64_t>(row));
        places.insert(places.end(), choice.begin(), choice.end());
        return ++found != most;
      });
    }
  }
  const std::size_t found = of_row.size();
  return nb::make_tuple(to_numpy(std::move(of_row)), to_numpy(std::move(places), found, variables));
}

// Offsets, neighbours, starts, rows of attributes, columns; columns by main value and other vertices, or
// None.
nb::tuple build_copies(const InputArray<std::uint64_t>& offsets, const InputArray<std::uint32_t>& neighbors,
                       const std::optional<InputArray<std::uint32_t>>& edges,
                       const std::optional<InputArray<std::int64_t>>& starts, std::uint64_t copies,
                       const std::optional<InputArray<std::uint8_t>>& arc_mask,
                       const std::optional<InputArray<std::uint8_t>>& row_mask,
                       const std::vector<InputArray<std::int64_t>>& columns, bool floats, bool by_value) {
  copies::CopySource source;
  source.offsets = as_span(offsets);
  source.neighbors = as_span(neighbors);
  source.edges = as_span(edges);
  source.starts = as_span(starts);
  source.copies = copies;
  source.arc_mask = as_span(arc_mask);
  source.row_mask = as_span(row_mask);
  source.floats = floats;
  source.by_value = by_value;
  require(!source.offsets.empty() && source.offsets.back() == source.neighbors.size(),
          "offsets do not end at the last arc");
  require(!edges || source.edges.size() == source.neighbors.size(), "one edge for each arc expected");
  require(!arc_mask || source.arc_mask.size() == source.neighbors.size(), "one mark for each arc expected");
  require(!row_mask || source.row_mask.size() == copies, "one mark for each copy expected");
  const std::uint64_t all = starts ? source.starts.size() : copies;
  for (std::size_t arc = 0; arc < source.neighbors.size(); ++arc)
    require((source.edges.empty() ? arc : source.edges[arc]) < all, "no such edge");
  for (std::size_t edge = 0; edge < source.starts.size(); ++edge) {
    const std::uint64_t next =
        edge + 1 < source.starts.size() ? static_cast<std::uint64_t>(source.starts[edge + 1]) : copies;
    require(
        source.starts[edge] >= 0 && static_cast<std::uint64_t>(source.starts[edge]) <= next && next <= copies,
        "rows of edges do not ascend");
  }
  for (const auto& column : columns) {
    require(column.size() == copies, "one value for each copy expected");
    source.columns.push_back(as_span(column));
  }
  copies::CopyRows made;
  {
    const FreeGil free_gil;
    made = copies::build_copies(source);
  }
  nb::list of_columns, of_rows;
  for (auto& column : made.columns) of_columns.append(to_numpy(std::move(column)));
  for (auto& column : made.row_columns) of_rows.append(to_numpy(std::move(column)));
  nb::object others = by_value && !columns.empty() ? to_numpy(std::move(made.row_others)) : nb::none();
  return nb::make_tuple(to_numpy(std::move(made.offsets)), to_numpy(std::move(made.neighbors)),
                        to_numpy(std::move(made.starts)), to_numpy(std::move(made.rows)), of_columns, of_rows,
                        others);
}

}  // namespace

OwnedComparisons::OwnedComparisons(std::vector<PyVariable> variables,
                                   const std::vector<PyComparison>& comparisons, std::optional<PySpan> span,
                                   int levels, bool count_choices)
    : variables_(std::move(variables)), levels_(levels) {
  require(levels >= 1 && levels <= view::kMaxLevels, "1 to 32 levels expected");
  int before = 0;
  for (const auto& [is_vertex, from, to, columns, index, missing] : variables_) {
    require(from >= 0 && from < levels && to >= 0 && to < levels, "a variable names no level");
    require(!is_vertex || from == to, "a vertex has one level");
    require(std::max(from, to) >= before, "variables are not in the order of levels");
    before = std::max(from, to);
    copies::Variable variable{is_vertex, {}};
    const std::size_t copies = columns.empty() ? 0 : columns[0].size();
    for (const auto& column : columns) {
      require(column.size() == copies, "columns of one variable differ in length");
      variable.columns.push_back(column.data());
    }
    copies::Compared::Ends ends;
    ends.from = from;
    ends.to = to;
    if (index) {
      require(!is_vertex, "a vertex has no copies");
      const std::size_t all =
          columns.empty() ? std::get<2>(*index).data()[std::get<2>(*index).size() - 1] : copies;
      ends.index = checked_index(*index, all);
      require(ends.index.row_columns.empty() || ends.index.row_columns.size() == columns.size(),
              "rows of other columns");
      const std::size_t rows = std::get<0>(*index).size() - 1;
      require(vertices_ == 0 || vertices_ == rows, "indexes differ in their number of vertices");
      vertices_ = rows;
    }
    if (missing) {
      require(is_vertex && missing->size() == copies, "one mark for each value of a vertex expected");
      ends.missing = missing->data();
    }
    compared_.ends.push_back(ends);
    compared_.network.variables.push_back(std::move(variable));
  }
  for (const PyComparison& one : comparisons)
    compared_.network.comparisons.push_back(checked_comparison(one, compared_.network.variables));
  if (span) {
    const auto& [floats, upper, lower, length] = *span;
    compared_.network.span = {true, floats, joined(upper, lower), length};
    require(floats ? length >= 0 : compared_.network.span.span >= 0, "a span that is not negative expected");
    for (const copies::Variable& variable : compared_.network.variables)
      require(variable.is_vertex || !variable.columns.empty(), "a span over copies without values");
  }
  compared_.count_choices = count_choices;
  compared_.prepare(levels);
}

const OwnedComparisons& comparisons_of(nb::handle comparisons) {
  return nb::cast<const OwnedComparisons&>(comparisons);
}

void bind_copies(nb::module_& module) {
  nb::class_<OwnedComparisons>(module, "Comparisons")
      .def(nb::init<std::vector<PyVariable>, const std::vector<PyComparison>&, std::optional<PySpan>, int,
                    bool>(),
           nb::kw_only(), "variables"_a, "comparisons"_a, "span"_a.none(), "levels"_a, "count_choices"_a)
      .def("exists",
           [](const OwnedComparisons& self, const std::vector<PyRange>& ranges) {
             return copies::Choices(self.get().network).exists(checked_ranges(self, ranges));
           })
      .def("count",
           [](const OwnedComparisons& self, const std::vector<PyRange>& ranges) {
             return number(copies::Choices(self.get().network).count(checked_ranges(self, ranges)));
           })
      .def(
          "list",
          [](const OwnedComparisons& self, const std::vector<PyRange>& ranges) {
            nb::list found;
            copies::Choices(self.get().network)
                .list(checked_ranges(self, ranges), [&](std::span<const copies::Place> choice) {
                  found.append(nb::tuple(nb::cast(std::vector<copies::Place>(choice.begin(), choice.end()))));
                  return true;
                });
            return found;
          })
      .def("choices", &list_choices, "rows"_a, "most"_a);
  module.def("build_copies", &build_copies, nb::kw_only(), "offsets"_a, "neighbors"_a, "edges"_a.none(),
             "starts"_a.none(), "copies"_a, "arc_mask"_a.none(), "row_mask"_a.none(), "columns"_a, "floats"_a,
             "by_value"_a);
  module.def(
      "arcs_by_target",
      [](const InputArray<std::uint64_t>& offsets, const InputArray<std::uint32_t>& neighbors) {
        require(offsets.size() >= 1 && offsets.data()[offsets.size() - 1] == neighbors.size(),
                "offsets do not end at the last arc");
        for (std::size_t arc = 0; arc < neighbors.size(); ++arc)
          require(neighbors.data()[arc] + std::size_t{1} < offsets.size(), "no such vertex");
        std::vector<std::uint32_t> arcs;
        {
          const FreeGil free_gil;
          arcs = copies::arcs_by_target(as_span(offsets), as_span(neighbors));
        }
        return to_numpy(std::move(arcs));
      },
      "offsets"_a, "neighbors"_a);
}

}  // namespace motiflux
