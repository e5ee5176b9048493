// Bindings of local counts (csrc/local). Each takes a timeout in seconds, and returns None when it passed.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <tuple>

#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/watched.hpp"
#include "local/wedges.hpp"
#include "python_int.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using PyAdjacency = std::tuple<InputArray<std::uint64_t>, InputArray<std::uint32_t>>;

void require(bool holds, const char* what) {
  if (!holds) throw nb::value_error(what);
}

view::Adjacency checked(const PyAdjacency& arrays, std::size_t vertices) {
  const auto& [offsets, neighbors] = arrays;
  require(offsets.size() == vertices + 1, "adjacencies differ in their number of rows");
  require(offsets.data()[vertices] == neighbors.size(), "offsets do not end at the last neighbour");
  return {offsets.data(), neighbors.data()};
}

std::uint32_t vertices_of(const PyAdjacency& rows) {
  require(std::get<0>(rows).size() >= 1, "offsets must not be empty");
  return static_cast<std::uint32_t>(std::get<0>(rows).size() - 1);
}

local::WedgeRows wedge_rows(const PyAdjacency& first, const PyAdjacency& second) {
  const std::uint32_t vertices = vertices_of(first);
  return {checked(first, vertices), checked(second, vertices), vertices};
}

// Runs work(workers) on `threads` threads; false when `timeout` passed first.
template <class Work>
bool run_until(int threads, std::optional<double> timeout, Work&& work) {
  require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
  const auto start = std::chrono::steady_clock::now();
  std::atomic<bool> stop{false};
  bool late = false;
  try {
    run_watched([&] { work(Workers{threads, &stop}); },
                [&] {
                  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
                  if (timeout && passed.count() >= *timeout) late = true, stop.store(true);
                  return true;
                },
                [&] { stop.store(true); });
  } catch (const Cancelled&) {
    if (!late) throw;
  }
  return !late;
}

nb::object wedge_total(const PyAdjacency& first, const PyAdjacency& second, int middles, int below,
                       int threads, std::optional<double> timeout) {
  require(middles >= 2 && below >= 0 && below <= 2, "malformed wedges");
  const local::WedgeRows rows = wedge_rows(first, second);
  Total total = 0;
  const bool done = run_until(threads, timeout, [&](const Workers& workers) {
    total = local::wedge_total(rows, middles, static_cast<local::Below>(below), workers);
  });
  return done ? to_python(total) : nb::none();
}

nb::object wedges_of_ends(const PyAdjacency& first, const PyAdjacency& second, int middles, int threads,
                          std::optional<double> timeout) {
  require(middles >= 2, "malformed wedges");
  const local::WedgeRows rows = wedge_rows(first, second);
  std::vector<std::uint64_t> counts;
  const bool done = run_until(threads, timeout, [&](const Workers& workers) {
    counts = local::wedges_of_ends(rows, middles, workers);
  });
  return done ? to_numpy(std::move(counts)) : nb::none();
}

using OfArcs = std::vector<std::uint64_t> (*)(const view::Adjacency&, std::uint32_t, const Workers&);

template <OfArcs count>
nb::object of_arcs(const PyAdjacency& rows, int threads, std::optional<double> timeout) {
  const std::uint32_t vertices = vertices_of(rows);
  const view::Adjacency adjacency = checked(rows, vertices);
  std::vector<std::uint64_t> counts;
  const bool done = run_until(threads, timeout,
                              [&](const Workers& workers) { counts = count(adjacency, vertices, workers); });
  return done ? to_numpy(std::move(counts)) : nb::none();
}

}  // namespace

void bind_local(nb::module_& module) {
  module.def("wedge_total", &wedge_total, "first"_a, "second"_a, "middles"_a, "below"_a, "threads"_a,
             "timeout"_a.none());
  module.def("wedges_of_ends", &wedges_of_ends, "first"_a, "second"_a, "middles"_a, "threads"_a,
             "timeout"_a.none());
  module.def("triangles_of_arcs", &of_arcs<local::triangles_of_arcs>, "rows"_a, "threads"_a,
             "timeout"_a.none());
  module.def("four_cycles_of_arcs", &of_arcs<local::four_cycles_of_arcs>, "rows"_a, "threads"_a,
             "timeout"_a.none());
}

}  // namespace motiflux
