#include "bind_copies.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <optional>

#include "bind_checks.hpp"
#include "bindings.hpp"
#include "common/free_gil.hpp"
#include "common/live_work.hpp"
#include "common/watched.hpp"
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

using PyRows = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The choices of rows of data vertices, one column for each level, piece by piece. At most `most` choices of
// each row, if that is not 0.
class RowChoices {
  using Clock = std::chrono::steady_clock;

 public:
  RowChoices(nb::object comparisons, PyRows rows, std::uint64_t most)
      : comparisons_(std::move(comparisons)),
        rows_(std::move(rows)),
        most_(most),
        given_(nb::cast<const OwnedComparisons&>(comparisons_)),
        ranges_(given_.get(), given_.levels()) {
    require(rows_.shape(1) == static_cast<std::size_t>(given_.levels()),
            "one column for each level expected");
    for (std::size_t at = 0; at < rows_.size(); ++at)
      if (rows_.data()[at] >= given_.vertices()) throw nb::value_error("no such vertex");
    ranges_.watch([this](std::size_t) { return keep_going(); });
  }

  // For each of the next choices its row, and the place of the copy of each variable: `most` choices, fewer
  // if these take long, none if `timeout` seconds have passed. Python's signals are handled meanwhile.
  nb::tuple next(std::uint64_t most, std::optional<double> timeout) {
    require(most >= 1, "at least one choice expected");
    started_ = looked_ = Clock::now();
    timeout_ = timeout;
    std::vector<std::int64_t> of_row;
    std::vector<std::uint64_t> places;
    {
      const LiveWork live([this] { exiting_.store(true, std::memory_order_relaxed); });
      const nb::gil_scoped_release release;
      try {
        most_ == 1 ? fill_first(most, of_row, places) : fill(most, of_row, places);
      } catch (const copies::Stopped&) {
        row_ = rows_.shape(0);  // a decision that was ended is not taken up again
        stopped_ = true;
      }
    }
    if (error_) throw nb::python_error();
    const std::size_t found = of_row.size();
    const std::size_t variables = given_.get().network.variables.size();
    return nb::make_tuple(to_numpy(std::move(of_row)), to_numpy(std::move(places), found, variables));
  }

  // True once all choices were given, None if time was up before.
  nb::object finished() const {
    return stopped_ ? nb::none() : nb::object(nb::bool_(!list_ && row_ == rows_.shape(0)));
  }

 private:
  static constexpr std::chrono::milliseconds kHandOut{50};

  void fill(std::uint64_t most, std::vector<std::int64_t>& of_row, std::vector<std::uint64_t>& places) {
    while (of_row.size() < most && (list_ || begin())) {
      if ((most_ != 0 && found_ == most_) || !list_->next()) {
        list_.reset();
        ++row_;
        continue;
      }
      ++found_;
      of_row.push_back(static_cast<std::int64_t>(row_));
      places.insert(places.end(), list_->chosen().begin(), list_->chosen().end());
      if (of_row.size() % kLook != 0) continue;
      if (!keep_going()) throw copies::Stopped{};
      if (looked_ - started_ > kHandOut) return;
    }
  }

  // The same for the first choice of each row.
  void fill_first(std::uint64_t most, std::vector<std::int64_t>& of_row, std::vector<std::uint64_t>& places) {
    while (of_row.size() < most && row_ < rows_.shape(0)) {
      if (row_ % kLook == 0 && !keep_going()) throw copies::Stopped{};
      const std::size_t row = row_;
      const std::span<const copies::Place> first =
          enter() ? ranges_.first_choice(given_.levels() - 1) : std::span<const copies::Place>{};
      ++row_;
      if (first.empty()) continue;
      of_row.push_back(static_cast<std::int64_t>(row));
      places.insert(places.end(), first.begin(), first.end());
      if (of_row.size() % kLook == 0 && looked_ - started_ > kHandOut) return;
    }
  }

  // Matches the vertices of the row `row_`, but those before the first that differs from the row matched
  // last; false if no choice is left.
  bool enter() {
    const std::uint32_t* values = rows_.data() + row_ * rows_.shape(1);
    int level = 0;
    while (level < entered_ && values[level] == last_[level]) ++level;
    last_ = values;
    while (level < given_.levels() && ranges_.enter(level, values)) ++level;
    entered_ = level;
    return level == given_.levels();
  }

  // Begins the list of the next row that has choices; false if there is none.
  bool begin() {
    for (; row_ < rows_.shape(0); ++row_) {
      if (row_ % kLook == 0 && !keep_going()) throw copies::Stopped{};
      if (!enter()) continue;
      list_.emplace(ranges_.list(given_.levels() - 1));
      found_ = 0;
      return true;
    }
    return false;
  }

  // Called without the GIL.
  bool keep_going() {
    const auto now = Clock::now();
    if (timeout_ && std::chrono::duration<double>(now - started_).count() >= *timeout_) return false;
    if (exiting_.load(std::memory_order_relaxed)) return false;
    if (now - looked_ < kSignalPeriod) return true;
    looked_ = now;
    const nb::gil_scoped_acquire acquire;
    error_ = PyErr_CheckSignals() != 0;
    return !error_;
  }

  static constexpr std::size_t kLook = 256;  // rows, and choices, between two looks at the clock

  nb::object comparisons_;
  PyRows rows_;
  const std::uint64_t most_;
  const OwnedComparisons& given_;
  copies::Ranges ranges_;
  std::optional<copies::ChoiceList> list_;  // of the row `row_`
  std::size_t row_ = 0;
  std::uint64_t found_ = 0;              // of that row
  const std::uint32_t* last_ = nullptr;  // the row matched last
  int entered_ = 0;                      // its levels that have copies left
  Clock::time_point started_, looked_;
  std::optional<double> timeout_;
  std::atomic<bool> exiting_{false};
  bool stopped_ = false;
  bool error_ = false;
};

template <class Values>
nb::object given(Values&& values) {
  const std::size_t size = values.size();
  return to_numpy(std::forward<Values>(values), size);
}

// Offsets, neighbours, starts, rows of attributes, columns; columns by main value, other vertices and their
// places among the neighbours, or None.
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
  for (auto& column : made.columns) of_columns.append(given(std::move(column)));
  nb::object others = nb::none();
  if (by_value && !columns.empty()) {
    for (auto& column : made.by_value.columns) of_rows.append(given(std::move(column)));
    others = nb::make_tuple(given(std::move(made.by_value.others)), given(std::move(made.by_value.pairs)));
  }
  return nb::make_tuple(given(std::move(made.offsets)), given(std::move(made.neighbors)),
                        given(std::move(made.starts)), given(std::move(made.rows)), of_columns, of_rows,
                        others);
}

copies::PairSource checked_pairs(const InputArray<std::uint64_t>& offsets,
                                 const InputArray<std::uint32_t>& neighbors,
                                 const InputArray<std::uint64_t>& starts,
                                 const std::vector<InputArray<std::int64_t>>& columns, bool floats) {
  copies::PairSource source{as_span(offsets), as_span(neighbors), as_span(starts), {}, floats};
  require(!source.offsets.empty() && source.offsets.back() == source.neighbors.size(),
          "offsets do not end at the last pair");
  require(source.offsets.front() == 0 && std::is_sorted(source.offsets.begin(), source.offsets.end()),
          "offsets do not ascend from 0");
  require(source.starts.size() == source.neighbors.size() + 1, "one start for each pair expected");
  require(source.starts.front() == 0 && std::is_sorted(source.starts.begin(), source.starts.end()),
          "starts do not ascend from 0");
  for (const auto& column : columns) {
    require(column.size() == source.starts.back(), "one value for each copy expected");
    source.columns.push_back(as_span(column));
  }
  return source;
}

// The rows by main value of copies by pairs of vertices: columns, other vertices and their places among the
// neighbours.
nb::tuple sort_copies(const InputArray<std::uint64_t>& offsets, const InputArray<std::uint32_t>& neighbors,
                      const InputArray<std::uint64_t>& starts,
                      const std::vector<InputArray<std::int64_t>>& columns, bool floats) {
  require(!columns.empty(), "copies without values have no order");
  const copies::PairSource source = checked_pairs(offsets, neighbors, starts, columns, floats);
  copies::ValueRows made;
  {
    const FreeGil free_gil;
    made = copies::sort_by_value(source);
  }
  nb::list of_rows;
  for (auto& column : made.columns) of_rows.append(given(std::move(column)));
  return nb::make_tuple(of_rows, nb::make_tuple(given(std::move(made.others)), given(std::move(made.pairs))));
}

// Offsets, neighbours, starts, rows of attributes and columns of copies by pairs as rows of their other
// vertices.
nb::tuple turn_copies(const InputArray<std::uint64_t>& offsets, const InputArray<std::uint32_t>& neighbors,
                      const InputArray<std::uint64_t>& starts, const InputArray<std::int64_t>& rows,
                      const std::vector<InputArray<std::int64_t>>& columns) {
  const copies::PairSource source = checked_pairs(offsets, neighbors, starts, columns, false);
  require(rows.size() == source.starts.back(), "one row of attributes for each copy expected");
  for (const std::uint32_t neighbor : source.neighbors)
    require(neighbor + std::size_t{1} < source.offsets.size(), "no such vertex");
  copies::CopyRows made;
  {
    const FreeGil free_gil;
    made = copies::turned_around(source, as_span(rows));
  }
  nb::list of_columns;
  for (auto& column : made.columns) of_columns.append(given(std::move(column)));
  return nb::make_tuple(given(std::move(made.offsets)), given(std::move(made.neighbors)),
                        given(std::move(made.starts)), given(std::move(made.rows)), of_columns);
}

}  // namespace

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

copies::Span checked_span(const PySpan& given) {
  const auto& [floats, upper, lower, length] = given;
  const copies::Span span{true, floats, joined(upper, lower), length};
  require(floats ? length >= 0 : span.span >= 0, "a span that is not negative expected");
  return span;
}

copies::CopyIndex checked_index(const PyCopyIndex& given, std::size_t size) {
  const auto& [offsets, neighbors, starts, lasts, rows] = given;
  require(offsets.size() >= 1 && offsets.data()[offsets.size() - 1] == neighbors.size(),
          "offsets do not end at the last pair");
  require(starts.size() == neighbors.size() + 1 && starts.data()[starts.size() - 1] == size,
          "starts do not end at the last copy");
  copies::CopyIndex index;
  index.offsets = offsets.data();
  index.neighbors = neighbors.data();
  index.starts = starts.data();
  require(!lasts || lasts->size() == neighbors.size(), "one greatest value for each pair expected");
  if (lasts) index.lasts = lasts->data();
  if (rows) {
    const auto& [columns, others, pairs, row_starts, samples] = *rows;
    require(row_starts.size() == offsets.size(), "one start of each row expected");
    require(others.size() == size && pairs.size() == size, "one entry of rows for each copy expected");
    for (const auto& column : columns) {
      require(column.size() == size, "one entry of rows for each copy expected");
      index.row_columns.push_back(column.data());
    }
    index.row_others = others.data();
    index.row_pairs = pairs.data();
    require(samples.size() == (size + copies::CopyIndex::kSampled - 1) / copies::CopyIndex::kSampled,
            "too few samples of rows");
    index.row_starts = row_starts.data();
    index.row_samples = samples.data();
  }
  return index;
}

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
    compared_.network.span = checked_span(*span);
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
      .def("count_to_many",
           [](const OwnedComparisons& self, const std::vector<PyRange>& ranges) {
             return number(copies::Choices(self.get().network).count_to_many(checked_ranges(self, ranges)));
           })
      .def("list", [](const OwnedComparisons& self, const std::vector<PyRange>& ranges) {
        nb::list found;
        const copies::Choices choices(self.get().network);
        copies::ChoiceList list(choices, checked_ranges(self, ranges));
        while (list.next()) {
          const std::span<const copies::Place> choice = list.chosen();
          found.append(nb::tuple(nb::cast(std::vector<copies::Place>(choice.begin(), choice.end()))));
        }
        return found;
      });
  nb::class_<RowChoices>(module, "RowChoices")
      .def(nb::init<nb::object, PyRows, std::uint64_t>(), "comparisons"_a, "rows"_a, "most"_a)
      .def("next", &RowChoices::next, "most"_a, "timeout"_a.none())
      .def_prop_ro("finished", &RowChoices::finished);
  module.def("build_copies", &build_copies, nb::kw_only(), "offsets"_a, "neighbors"_a, "edges"_a.none(),
             "starts"_a.none(), "copies"_a, "arc_mask"_a.none(), "row_mask"_a.none(), "columns"_a, "floats"_a,
             "by_value"_a);
  module.def("sort_copies", &sort_copies, nb::kw_only(), "offsets"_a, "neighbors"_a, "starts"_a, "columns"_a,
             "floats"_a);
  module.def("turn_copies", &turn_copies, nb::kw_only(), "offsets"_a, "neighbors"_a, "starts"_a, "rows"_a,
             "columns"_a);
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
