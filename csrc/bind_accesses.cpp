#include "bind_accesses.hpp"

#include <nanobind/ndarray.h>

#include <span>

#include "bind_checks.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "dynamic/opened_rows.hpp"

namespace motiflux {

namespace nb = nanobind;

PyAccesses estimate_accesses(const dynamic::Monitor& monitor, dynamic::AccessEstimator& estimator, PyRun& run,
                             const std::vector<std::pair<std::uint32_t, int>>& names,
                             const dynamic::AccessOptions& options) {
  require(options.threads >= 1 && options.threads <= 1024, "threads must be 1 to 1024");
  require(options.alpha > 0 && options.delta >= 0 && options.delta < 1,
          "alpha above 0 and delta of [0, 1) expected");
  require(!options.seconds || *options.seconds >= 0, "seconds must not be negative");
  require(names.size() <= UINT16_MAX, "too many names of rows");
  std::vector<dynamic::RowName> rows;
  for (const auto& [target, way] : names) {
    require(target < monitor.relations().targets(), "no such target");
    require(way >= 0 && way <= 2, "unknown way");
    rows.push_back({target, static_cast<dynamic::Way>(way)});
  }
  PyAccesses given;
  std::vector<std::uint32_t> numbers, vertices;
  std::vector<double> times;
  run.without_gil(
      [&](dynamic::Watch& watch) {
        given.facts = estimator.estimate(monitor, *run.run(), rows, options, watch);
        for (const auto& row : given.facts.rows) {
          numbers.push_back(row.name);
          vertices.push_back(row.vertex);
          times.push_back(row.times);
        }
        given.facts.rows = {};
      },
      false);
  given.names = to_numpy(std::move(numbers));
  given.vertices = to_numpy(std::move(vertices));
  given.times = to_numpy(std::move(times));
  return given;
}

namespace {

using OpenedRows = nb::ndarray<std::uint64_t, nb::numpy, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

void sort_rows(OpenedRows rows, int threads) {
  require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
  static_assert(sizeof(dynamic::OpenedRowSum) == 2 * sizeof(std::uint64_t));
  const std::span all(reinterpret_cast<dynamic::OpenedRowSum*>(rows.data()), rows.shape(0));
  const FreeGil free_gil;
  dynamic::sort_opened_rows(all, threads);
}

}  // namespace

void bind_accesses(nb::module_& module) {
  using namespace nb::literals;
  const auto fact = [](auto member) {
    return [member](const PyAccesses& given) { return given.facts.*member; };
  };
  using Facts = dynamic::Accesses;
  nb::class_<PyAccesses>(module, "Accesses")
      .def_ro("names", &PyAccesses::names)
      .def_ro("vertices", &PyAccesses::vertices)
      .def_ro("times", &PyAccesses::times)
      .def_prop_ro("num_roots", fact(&Facts::roots))
      .def_prop_ro("walks", fact(&Facts::walks))
      .def_prop_ro("wanted_walks", fact(&Facts::wanted))
      .def_prop_ro("rounds", fact(&Facts::rounds))
      .def_prop_ro("largest_row", fact(&Facts::largest))
      .def_prop_ro("is_exact", fact(&Facts::is_exact))
      .def_prop_ro("late", fact(&Facts::late));
  nb::class_<dynamic::AccessEstimator>(module, "AccessEstimator").def(nb::init<>());
  module.def("sort_opened_rows", &sort_rows, "rows"_a, "threads"_a);
}

}  // namespace motiflux
