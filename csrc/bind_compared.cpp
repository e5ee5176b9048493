// Bindings of patterns that compare attributes on changing graphs (csrc/dynamic/compared_matcher.hpp).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bind_checks.hpp"
#include "bind_copies.hpp"
#include "bind_found.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "dynamic/compared_matcher.hpp"
#include "motiflux/view/plan.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using dynamic::ComparedCopies;
using dynamic::ComparedPattern;
using dynamic::Label;
using dynamic::Vertex;
using Row = dynamic::Copies::Row;
using Moments = InputArray<std::int64_t>;

// Labels or None; a list or -1; other query vertices whose image differs, is greater, and is smaller.
using PyQueryVertex =
    std::tuple<std::optional<std::vector<Label>>, int, std::uint32_t, std::uint32_t, std::uint32_t>;
// Source, target, whether either way, index, whether in the order of the first column, whether it accepts
// all.
using PyQueryEdge = std::tuple<int, int, bool, std::size_t, bool, bool>;
// Source and target, -1 for any vertex; whether either way, index, whether it accepts all; of that vertex,
// labels or None, a list or -1, and query vertices whose images it is not.
using PyNegatedEdge =
    std::tuple<int, int, bool, std::size_t, bool, std::optional<std::vector<Label>>, int, std::uint32_t>;
// Whether a vertex, its position, columns.
using PyLiveVariable = std::tuple<bool, int, std::vector<std::size_t>>;

class PyCompared {
 public:
  PyCompared(nb::object copies, nb::object monitor)
      : copies_(std::move(copies)),
        monitor_(std::move(monitor)),
        matcher_(native_copies_of(copies_), native_monitor_of(monitor_)) {}

  std::size_t add_column(bool ranked) {
    ++columns_;
    return matcher_.copies().add_column(ranked);
  }
  void extend(std::size_t column, const InputArray<std::int64_t>& values,
              const InputArray<std::uint8_t>& missing) {
    require(column < columns_ && values.size() == missing.size(), "one mark for each value expected");
    matcher_.copies().extend(column, as_span(values), as_span(missing));
  }
  void shorten(std::size_t column, std::size_t size) {
    require(column < columns_, "no such column");
    matcher_.copies().shorten(column, size);
  }
  std::size_t size(std::size_t column) const {
    require(column < columns_, "no such column");
    return matcher_.copies().size(column);
  }
  void set_ranks(std::size_t column, const InputArray<std::int64_t>& ranks) {
    require(column < columns_, "no such column");
    matcher_.copies().set_ranks(column, {ranks.data(), ranks.data() + ranks.size()});
  }
  std::size_t add_index(std::optional<std::size_t> column, bool floats) {
    require(!column || *column < columns_, "no such column");
    ++indexes_;
    return matcher_.copies().add_index(column.value_or(ComparedCopies::kNoColumn), floats);
  }

  void add_pattern(std::size_t slot, bool listed, const std::vector<PyQueryVertex>& vertices,
                   const std::vector<PyQueryEdge>& edges, const std::vector<PyNegatedEdge>& negated,
                   const std::vector<PyLiveVariable>& variables, const std::vector<PyComparison>& comparisons,
                   const std::optional<PySpan>& span) {
    ComparedPattern pattern;
    pattern.slot = slot;
    pattern.listed = listed;
    require(vertices.size() >= 2 && vertices.size() <= view::kMaxLevels, "2 to 32 query vertices expected");
    for (const auto& [labels, list, distinct, greater, smaller] : vertices)
      pattern.vertices.push_back({labels, list, distinct, greater, smaller, {}});
    const auto size = static_cast<int>(vertices.size());
    for (const auto& [source, target, either, index, by_value, accepts_all] : edges) {
      require(source >= 0 && source < size && target >= 0 && target < size && source != target,
              "a query edge names no query vertex");
      require(index < indexes_, "no such index");
      ComparedPattern::QueryEdge edge;
      edge.source = source;
      edge.target = target;
      edge.either = either;
      edge.index = index;
      edge.by_value = by_value;
      edge.accepts_all = accepts_all;
      pattern.edges.push_back(std::move(edge));
    }
    for (const auto& [source, target, either, index, accepts_all, labels, list, besides] : negated) {
      constexpr int kNone = ComparedPattern::kNone;
      require(source >= kNone && source < size && target >= kNone && target < size && source != target,
              "a negated edge names no query vertex");
      require(index < indexes_, "no such index");
      ComparedPattern::Negated one;
      one.edge.source = source;
      one.edge.target = target;
      one.edge.either = either;
      one.edge.index = index;
      one.edge.accepts_all = accepts_all;
      one.labels = labels;
      one.list = list;
      one.besides = besides;
      pattern.negated.push_back(std::move(one));
    }
    for (const auto& [is_vertex, position, columns] : variables) {
      const auto number = static_cast<int>(pattern.variables.size());
      require(position >= 0 && position < (is_vertex ? size : static_cast<int>(edges.size())),
              "a variable names nothing");
      require(!columns.empty(), "a variable has no columns");
      for (const std::size_t column : columns) require(column < columns_, "no such column");
      if (is_vertex)
        pattern.vertices[static_cast<std::size_t>(position)].variables.push_back(number);
      else
        pattern.edges[static_cast<std::size_t>(position)].variable = number;
      pattern.variables.push_back({is_vertex ? ComparedPattern::kNone : position,
                                   is_vertex ? position : ComparedPattern::kNone, columns});
      pattern.network.variables.push_back({is_vertex, std::vector<const std::int64_t*>(columns.size())});
    }
    for (const PyComparison& one : comparisons)
      pattern.network.comparisons.push_back(checked_comparison(one, pattern.network.variables));
    if (span) pattern.network.span = checked_span(*span);
    matcher_.add_pattern(std::move(pattern));
  }
  void accept(std::size_t slot, std::size_t edge, const InputArray<std::uint8_t>& facets,
              const InputArray<Label>& labels) {
    matcher_.accept(slot, edge, {facets.data(), facets.data() + facets.size()},
                    {labels.data(), labels.data() + labels.size()});
  }

  void load() {
    const FreeGil free_gil;
    matcher_.copies().load();
  }
  void apply(const InputArray<Row>& rows, const InputArray<std::uint8_t>& inserts) {
    require(rows.size() == inserts.size(), "one row for each change expected");
    require(matcher_.copies().changes().empty(), "the changes of a call are written already");
    std::vector<ComparedCopies::Change> changes(rows.size());
    for (std::size_t at = 0; at < changes.size(); ++at) {
      require(rows(at) < matcher_.copies().copies().rows(), "no such row");
      changes[at] = {rows(at), inserts(at) != 0};
    }
    const FreeGil free_gil;
    native_copies_of(copies_).index_removed();
    matcher_.copies().apply(changes);
  }
  nb::object match(nb::handle found, const Terms& terms, const std::optional<nb::callable>& full,
                   std::optional<double> timeout) {
    SignalWatch watch(timeout);
    return match_compared(native_monitor_of(monitor_), matcher_, found, terms, full, watch);
  }

  // A row of copies for each row of images.
  nb::object witnesses(std::size_t slot, const nb::ndarray<const Vertex, nb::ndim<2>, nb::c_contig>& images,
                       const Moments& came, const Moments& gone, const Moments& least) {
    require(came.size() == images.shape(0) && gone.size() == came.size() && least.size() == came.size(),
            "one moment for each row expected");
    std::vector<ComparedCopies::View> views;
    for (std::size_t at = 0; at < came.size(); ++at)
      views.push_back(
          {static_cast<ComparedCopies::Moment>(came(at)), static_cast<ComparedCopies::Moment>(gone(at))});
    std::vector<ComparedCopies::Moment> first;
    for (std::size_t at = 0; at < least.size(); ++at)
      first.push_back(static_cast<ComparedCopies::Moment>(least(at)));
    native_copies_of(copies_).index_removed();
    SignalWatch watch(std::nullopt);
    std::vector<Row> rows;
    try {
      rows = matcher_.witnesses(slot, {images.data(), images.size()}, views, first, watch);
    } catch (const dynamic::Stopped&) {
      watch.take_gil();
      throw nb::python_error();
    } catch (...) {
      watch.take_gil();
      throw;
    }
    watch.take_gil();
    return to_numpy(std::move(rows));
  }

  dynamic::ComparedMatcher& matcher() { return matcher_; }

 private:
  nb::object copies_, monitor_;
  dynamic::ComparedMatcher matcher_;
  std::size_t columns_ = 0, indexes_ = 0;
};

}  // namespace

void bind_compared(nb::module_& module) {
  nb::class_<PyCompared>(module, "Compared")
      .def(nb::init<nb::object, nb::object>(), "copies"_a, "monitor"_a)
      .def("add_column", &PyCompared::add_column, "ranked"_a)
      .def("extend", &PyCompared::extend, "column"_a, "values"_a, "missing"_a)
      .def("shorten", &PyCompared::shorten, "column"_a, "size"_a)
      .def("size", &PyCompared::size, "column"_a)
      .def("set_ranks", &PyCompared::set_ranks, "column"_a, "ranks"_a)
      .def("add_index", &PyCompared::add_index, "column"_a.none(), "floats"_a)
      .def("add_pattern", &PyCompared::add_pattern, "slot"_a, "listed"_a, "vertices"_a, "edges"_a,
           "negated"_a, "variables"_a, "comparisons"_a, "span"_a.none())
      .def(
          "drop_pattern", [](PyCompared& self, std::size_t slot) { self.matcher().drop_pattern(slot); },
          "slot"_a)
      .def("accept", &PyCompared::accept, "slot"_a, "edge"_a, "facets"_a, "labels"_a)
      .def("load", &PyCompared::load)
      .def("begin", [](PyCompared& self) { self.matcher().copies().begin(); })
      .def("apply", &PyCompared::apply, "rows"_a, "inserts"_a)
      .def("undo", [](PyCompared& self) { self.matcher().copies().undo(); })
      .def("match", &PyCompared::match, "found"_a, "terms"_a, "full"_a.none(), "timeout"_a.none())
      .def("witnesses", &PyCompared::witnesses, "slot"_a, "images"_a, "came"_a, "gone"_a, "least"_a)
      .def_prop_ro("nbytes", [](PyCompared& self) { return self.matcher().copies().bytes(); });
}

}  // namespace motiflux
