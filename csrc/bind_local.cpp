// Bindings of local counts (csrc/local). Each takes a timeout in seconds, and returns None when it passed.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <tuple>
#include <vector>

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

using PyMiddles = std::tuple<PyAdjacency, PyAdjacency, int>;  // rows to them, rows from them, how many

std::vector<local::Middles> middles_of(const std::vector<PyMiddles>& kinds) {
  require(!kinds.empty(), "no middles");
  const std::uint32_t vertices = vertices_of(std::get<0>(kinds[0]));
  std::vector<local::Middles> result;
  for (const auto& [first, second, number] : kinds) {
    require(number >= 1, "no middles");
    result.push_back({{checked(first, vertices), checked(second, vertices), vertices}, number});
  }
  return result;
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

nb::object wedge_total(const std::vector<PyMiddles>& kinds, int below, int threads,
                       std::optional<double> timeout) {
  require(below >= 0 && below <= 2, "malformed wedges");
  const std::vector<local::Middles> middles = middles_of(kinds);
  Total total = 0;
  const bool done = run_until(threads, timeout, [&](const Workers& workers) {
    total = local::wedge_total(middles, static_cast<local::Below>(below), workers);
  });
  return done ? to_python(total) : nb::none();
}

nb::object wedges_of_ends(const std::vector<PyMiddles>& kinds, int threads, std::optional<double> timeout) {
  const std::vector<local::Middles> middles = middles_of(kinds);
  std::vector<std::uint64_t> counts;
  const bool done = run_until(
      threads, timeout, [&](const Workers& workers) { counts = local::wedges_of_ends(middles, workers); });
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
  module.def("wedge_total", &wedge_total, "kinds"_a, "below"_a, "threads"_a, "timeout"_a.none());
  module.def("wedges_of_ends", &wedges_of_ends, "kinds"_a, "threads"_a, "timeout"_a.none());
  module.def("triangles_of_arcs", &of_arcs<local::triangles_of_arcs>, "rows"_a, "threads"_a,
             "timeout"_a.none());
  module.def("four_cycles_of_arcs", &of_arcs<local::four_cycles_of_arcs>, "rows"_a, "threads"_a,
             "timeout"_a.none());
}

}  // namespace motiflux
