#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/watched.hpp"
#include "search/count.hpp"
#include "search/enumerate.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using PyAdjacency = std::tuple<InputArray<std::uint64_t>, InputArray<std::uint32_t>>;
using PySource = std::tuple<std::uint16_t, std::uint16_t>;
// first_source, source_count, reuse, anchor, after, before, distinct, not_out, not_in, min_out, min_in
using PyStep =
    std::tuple<std::uint32_t, std::uint32_t, std::int32_t, std::int32_t, std::uint32_t, std::uint32_t,
               std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

constexpr int kMaxThreads = 1024;

void require(bool holds, const char* what) {
  if (!holds) throw nb::value_error(what);
}

// A search::Problem together with the arrays it points into.
class OwnedProblem {
 public:
  OwnedProblem(const std::vector<PyStep>& steps, const std::vector<PySource>& sources,
               std::vector<PyAdjacency> slots, PyAdjacency out, PyAdjacency in, int method)
      : arrays_(std::move(slots)), out_(std::move(out)), in_(std::move(in)) {
    for (const PyStep& step : steps) steps_.push_back(std::make_from_tuple<view::Step>(step));
    for (const auto& [slot, level] : sources) sources_.push_back({slot, level});
    const std::size_t rows = std::get<0>(out_).size();
    require(rows >= 1, "offsets must not be empty");
    problem_.vertices = static_cast<std::uint32_t>(rows - 1);
    problem_.out = checked(out_);
    problem_.in = checked(in_);
    for (const PyAdjacency& slot : arrays_) problem_.slots.push_back(checked(slot));
    require(method >= 0 && method <= 2, "unknown intersection method");
    problem_.method = static_cast<sets::Method>(method);
    check_plan();
    problem_.plan = {static_cast<std::uint32_t>(steps_.size()), steps_.data(), sources_.data()};
  }
  OwnedProblem(const OwnedProblem&) = delete;
  OwnedProblem& operator=(const OwnedProblem&) = delete;

  const search::Problem& get() const { return problem_; }

 private:
  view::Adjacency checked(const PyAdjacency& arrays) const {
    const auto& [offsets, neighbors] = arrays;
    require(offsets.size() == std::size_t{problem_.vertices} + 1,
            "adjacencies differ in their number of rows");
    require(offsets.data()[problem_.vertices] == neighbors.size(),
            "offsets do not end at the last neighbour");
    return {offsets.data(), neighbors.data()};
  }

  // What the search relies on without looking.
  void check_plan() const {
    const auto levels = static_cast<int>(steps_.size());
    require(levels >= 2 && levels <= view::kMaxLevels, "a plan has 2 to 32 levels");
    require(steps_[1].source_count > 0, "level 1 has no source");
    for (int level = 0; level < levels; ++level) {
      const view::Step& step = steps_[static_cast<std::size_t>(level)];
      const std::uint32_t earlier = (std::uint32_t{1} << level) - 1;
      const std::uint32_t named = step.after | step.before | step.distinct | step.not_out | step.not_in;
      require((named & ~earlier) == 0, "a step names a level that is not earlier");
      require(std::uint64_t{step.first_source} + step.source_count <= sources_.size(),
              "sources out of range");
      if (level == 0) continue;
      require(step.source_count > 0 || step.reuse >= 2, "a step without candidates");
      require(step.reuse == view::kNoReuse || (step.reuse >= 2 && step.reuse < level), "reuse out of range");
      require(step.anchor >= 0 && step.anchor < level, "anchor out of range");
      require(
          step.reuse == view::kNoReuse || steps_[static_cast<std::size_t>(step.reuse)].anchor <= step.anchor,
          "a step's anchor is before that of the step it reuses");
      for (std::uint32_t s = 0; s < step.source_count; ++s) {
        const view::Source& source = sources_[step.first_source + s];
        require(source.level <= step.anchor, "a source is later than the anchor");
        require(source.slot < arrays_.size(), "a source names no adjacency");
      }
    }
  }

  std::vector<PyAdjacency> arrays_;
  PyAdjacency out_, in_;
  std::vector<view::Step> steps_;
  std::vector<view::Source> sources_;
  search::Problem problem_;
};

// Calls progress(done, total, found) unless it is None; false when it raised.
bool report(const nb::object& progress, const search::Control& control) {
  if (progress.is_none()) return true;
  try {
    progress(control.done(), control.total(), control.found.load(std::memory_order_relaxed));
    return true;
  } catch (nb::python_error& error) {
    error.restore();
    return false;
  }
}

// An exact Python int from 128 bits.
nb::object to_python(search::Total total) {
  const auto high = static_cast<std::uint64_t>(total >> 64);
  nb::object low = nb::int_(static_cast<std::uint64_t>(total));
  return high == 0 ? low : (nb::int_(high) << nb::int_(64)) | low;
}

nb::tuple count(const OwnedProblem& problem, int threads, std::optional<std::uint64_t> limit,
                std::optional<double> timeout, const nb::object& progress) {
  require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
  search::Control control(problem.get().root_arcs(), threads, timeout);
  search::Total total = 0;
  run_watched([&] { total = search::count(problem.get(), control, threads, limit); },
              [&] { return report(progress, control); }, [&] { control.stop(search::Stop::kCancelled); });
  return nb::make_tuple(to_python(total), static_cast<int>(control.reason()));
}

// Rows of an enumeration for Python; keeps the problem alive.
class Rows {
 public:
  Rows(nb::object problem, std::vector<std::uint32_t> position, int threads, std::size_t block_rows,
       std::optional<std::uint64_t> limit, std::optional<double> timeout)
      : problem_(std::move(problem)) {
    const auto& owned = nb::cast<const OwnedProblem&>(problem_);
    require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
    require(block_rows >= 1, "block_rows must be positive");
    require(position.size() == owned.get().plan.levels, "one column per level expected");
    for (std::uint32_t column : position) require(column < position.size(), "column out of range");
    rows_ = std::make_unique<search::Enumeration>(
        owned.get(), std::move(position), search::EnumerationOptions{threads, block_rows, limit, timeout});
  }

  // The next rows as [rows, levels] uint32, or None at the end.
  nb::object next(const nb::object& progress) {
    for (;;) {
      std::optional<search::Enumeration::Block> block;
      bool finished = false;
      {
        nb::gil_scoped_release release;
        block = rows_->next(kSignalPeriod);
        finished = !block && rows_->finished();
      }
      if (block) {
        const std::size_t columns = rows_->columns();
        const std::size_t count = block->size() / columns;
        return to_numpy(std::move(*block), count, columns);
      }
      if (finished) return nb::none();
      if (PyErr_CheckSignals() != 0 || !report(progress, rows_->control())) throw nb::python_error();
    }
  }

  void close() {
    nb::gil_scoped_release release;
    rows_->close();
  }

  int reason() const { return static_cast<int>(rows_->control().reason()); }

 private:
  nb::object problem_;
  std::unique_ptr<search::Enumeration> rows_;
};

}  // namespace

void bind_search(nb::module_& module) {
  nb::class_<OwnedProblem>(module, "Problem")
      .def(nb::init<const std::vector<PyStep>&, const std::vector<PySource>&, std::vector<PyAdjacency>,
                    PyAdjacency, PyAdjacency, int>(),
           "steps"_a, "sources"_a, "slots"_a, "out"_a, "in_"_a, "method"_a);
  module.def("count", &count, "problem"_a, "threads"_a, "limit"_a.none(), "timeout"_a.none(),
             "progress"_a.none());
  nb::class_<Rows>(module, "Rows")
      .def(nb::init<nb::object, std::vector<std::uint32_t>, int, std::size_t, std::optional<std::uint64_t>,
                    std::optional<double>>(),
           "problem"_a, "position"_a, "threads"_a, "block_rows"_a, "limit"_a.none(), "timeout"_a.none())
      .def("next", &Rows::next, "progress"_a.none())
      .def("close", &Rows::close)
      .def_prop_ro("reason", &Rows::reason);
}

}  // namespace motiflux
