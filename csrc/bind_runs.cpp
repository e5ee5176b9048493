// Bindings of runs that are matched elsewhere.
#include "bind_runs.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "bind_accesses.hpp"
#include "bind_checks.hpp"
#include "bind_own_rows.hpp"
#include "bind_run.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "common/parallel.hpp"
#include "common/watched.hpp"
#include "dynamic/changed_rows.hpp"
#include "dynamic/copy_rows.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using dynamic::Vertex;
using dynamic::Way;

// Rows of graphs with fewer edges are made without looking at signals.
constexpr std::uint64_t kBrief = 200'000;

template <class T, int kDimensions>
using Table = nb::ndarray<const T, nb::ndim<kDimensions>, nb::c_contig, nb::device::cpu>;

template <class T, int kDimensions>
std::optional<Table<T, kDimensions>> table_of(const nb::handle given, const char* expected) {
  if (given.is_none()) return std::nullopt;
  Table<T, kDimensions> table;
  if (!nb::try_cast(given, table, false)) throw dynamic::WrongMatches(expected);
  return table;
}

}  // namespace

void PythonMatcher::match(const std::shared_ptr<const dynamic::Run>& run, dynamic::Watch& watch,
                          const std::function<void()>& write,
                          const std::function<void(const dynamic::RunMatches&)>& use) {
  if (first_ != nullptr && first_->match(run, use)) return;
  const nb::gil_scoped_acquire acquire;
  const std::size_t roots = run->roots.size();
  const nb::object given = nb::cast(PyRun(run, watch, write));
  PyRun& seen = nb::cast<PyRun&>(given);
  nb::object result;
  try {
    result = nb::callable(callback_)(given);  // held, as the monitor may be given another one meanwhile
  } catch (...) {
    seen.end();
    if (seen.was_cut_short()) throw dynamic::Stopped();
    throw;
  }
  seen.end();
  if (result.is_none()) {
    if (!seen.stopped())
      throw dynamic::WrongMatches("a tuple (totals, sums, rows) expected, found None though it may go on");
    throw dynamic::Stopped();
  }
  if (!nb::isinstance<nb::tuple>(result) || nb::len(result) != 3)
    throw dynamic::WrongMatches("a tuple (totals, sums, rows) expected");
  const auto totals = table_of<std::uint64_t, 2>(result[0], "totals of shape [roots, 2], uint64, expected");
  const auto sums = table_of<std::uint64_t, 3>(result[1], "sums of shape [plans, 2, 2], uint64, expected");
  const auto rows = table_of<std::uint32_t, 2>(result[2], "rows of shape [k, 1 + levels], uint32, expected");
  dynamic::RunMatches matches;
  if (totals) {
    if (totals->shape(0) != roots || totals->shape(1) != 2)
      throw dynamic::WrongMatches("totals of shape [roots, 2] expected");
    matches.totals = {totals->data(), totals->size()};
  }
  if (sums) {
    if (sums->shape(1) != 2 || sums->shape(2) != 2)
      throw dynamic::WrongMatches("sums of shape [plans, 2, 2] expected");
    matches.sums = {sums->data(), sums->size()};
  }
  if (rows) {
    if (rows->shape(1) < 1) throw dynamic::WrongMatches("rows of shape [k, 1 + levels] expected");
    matches.rows = {rows->data(), rows->size()};
    matches.width = rows->shape(1);
  }
  const nb::gil_scoped_release release;
  use(matches);
}

nb::object describe_plan(const dynamic::Monitor& monitor, std::uint32_t number) {
  require(number < monitor.plans().size(), "no such plan");
  const dynamic::Plan& plan = monitor.plans()[number];
  nb::list steps;
  for (const dynamic::Step& step : plan.steps) {
    nb::list sources;
    for (const dynamic::Source& source : step.sources)
      sources.append(
          nb::make_tuple(source.level, static_cast<int>(source.way), source.target, source.before_change));
    steps.append(nb::make_tuple(nb::list(sources), step.reuse, step.anchor, step.after, step.before,
                                step.distinct, step.allowed));
  }
  nb::list parts;
  if (!plan.tail.blocks.empty())
    for (const search::TailComponent& component : plan.tail.blocks[0].components)
      parts.append(nb::make_tuple(component.levels, component.sets(), component.chains));
  const nb::tuple tail = nb::make_tuple(plan.tail.start, parts);
  return nb::make_tuple(plan.pattern, monitor.listed(plan), plan.levels(), steps, tail);
}

nb::object shared_levels(const dynamic::Monitor& monitor, std::uint32_t number) {
  require(number < monitor.plans().size(), "no such plan");
  const dynamic::Plan& plan = monitor.plans()[number];
  if (plan.group == dynamic::kNoNumber) return nb::none();
  nb::list steps;
  for (const dynamic::Loop& loop : plan.shared)
    steps.append(nb::make_tuple(loop.after, loop.before, loop.distinct));
  return nb::make_tuple(plan.group, steps);
}

nb::object classes_of(const dynamic::Monitor& monitor, std::uint32_t target) {
  const auto& relations = monitor.relations();
  require(target < relations.targets(), "no such target");
  const dynamic::Target& asked = relations.target(target);
  if (asked.everything) return nb::none();
  return to_numpy(std::vector<dynamic::Class>(asked.classes));
}

nb::object rows_of_target(const dynamic::Monitor& monitor, std::uint32_t target, int way, int threads,
                          bool with_room) {
  const dynamic::Graph& graph = monitor.graph();
  require(target < graph.relations().targets(), "no such target");
  require(way >= 0 && way <= 2, "unknown way");
  require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
  const std::size_t vertices = graph.vertices();
  Unwritten<std::uint64_t> places(vertices + 1), sizes(vertices);
  std::optional<Unwritten<Vertex>> neighbors;
  const auto no_room = [](std::uint64_t size) { return size; };
  std::uint64_t (*const room_of)(std::uint64_t) = with_room ? dynamic::room_of : +no_room;
  const auto work = [&](const Workers& workers) {
    graph.rows_of_target(target, static_cast<Way>(way), room_of, {places.data(), places.size()},
                         {sizes.data(), sizes.size()}, neighbors, workers);
  };
  if (graph.edges() < kBrief) {
    const FreeGil free_gil;
    work({threads, nullptr});
  } else {
    run_interruptible([&](const std::atomic<bool>& stop) { work({threads, &stop}); });
  }
  const std::size_t entries = neighbors->size();
  return nb::make_tuple(to_numpy(std::move(places), vertices + 1), to_numpy(std::move(sizes), vertices),
                        to_numpy(std::move(*neighbors), entries));
}

namespace {

// The caller answers for the addresses.
void copy_rows(const InputArray<std::uint64_t>& addresses, const InputArray<std::uint64_t>& starts,
               nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> to, int threads) {
  require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
  require(starts.size() == addresses.size() + 1, "a place for each row and one more expected");
  const std::span<const std::uint64_t> places = as_span(starts);
  require(std::ranges::is_sorted(places) && places.back() <= to.size(), "ascending places expected");
  const FreeGil free_gil;
  dynamic::copy_rows(as_span(addresses), places, to.data(), {threads, nullptr});
}

}  // namespace

void bind_runs(nb::module_& module) {
  module.def("copy_rows", &copy_rows, "addresses"_a, "starts"_a, "to"_a, "threads"_a);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const dynamic::WrongMatches& error) {
      PyErr_SetString(nb::module_::import_("motiflux.errors").attr("InternalError").ptr(), error.what());
    } catch (const dynamic::RowsLost& error) {
      PyErr_SetString(nb::module_::import_("motiflux.errors").attr("InternalError").ptr(), error.what());
    } catch (const dynamic::NotOpen& error) {
      PyErr_SetString(nb::module_::import_("motiflux.errors").attr("InternalError").ptr(), error.what());
    } catch (const dynamic::CallsOverlap&) {
      const nb::object error = nb::module_::import_("motiflux.errors").attr("ArgumentError");
      const nb::tuple about = nb::make_tuple("monitor", "a call after the run, or in its progress function",
                                             "a call while batches of the run overlap");
      PyErr_SetObject(error.ptr(), about.ptr());
    }
  });
  bind_run(module);
  bind_own_rows(module);
  bind_accesses(module);
}

}  // namespace motiflux
