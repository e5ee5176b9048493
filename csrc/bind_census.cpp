// Bindings of the census (csrc/census). Each takes a timeout in seconds and returns None after it, or what
// was done by then.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "bind_checks.hpp"
#include "bind_until.hpp"
#include "bindings.hpp"
#include "census/nulls.hpp"
#include "census/triad_orbits.hpp"
#include "common/arrays.hpp"
#include "python_int.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

int kinds_of(bool directed) {
  return directed ? census::kKinds : 1;
}

void check_size(int size) {
  require(size == 3 || size == 4, "size must be 3 or 4");
}

nb::list to_list(const census::Bins& bins) {
  nb::list result;
  for (const Total number : bins) result.append(to_python(number));
  return result;
}

std::uint32_t rows_of(const PyAdjacency& rows) {
  require(std::get<0>(rows).size() >= 1, "offsets must not be empty");
  return static_cast<std::uint32_t>(std::get<0>(rows).size() - 1);
}

// The bins (csrc/census/bins.hpp) of a graph, as ints.
nb::object census_bins(const PyAdjacency& forward, const PyAdjacency& reverse, bool directed, int size,
                       int threads, std::optional<double> timeout) {
  check_size(size);
  const std::uint32_t vertices = rows_of(forward);
  const view::Adjacency to = as_adjacency(forward, vertices), from = as_adjacency(reverse, vertices);
  census::Bins bins;
  const bool done = run_until(threads, timeout, [&](const Workers& workers) {
    bins = census::count_bins(to, from, vertices, kinds_of(directed), size, workers);
  });
  return done ? nb::object(to_list(bins)) : nb::none();
}

using Numbers = InputArray<std::uint32_t>;

nb::object triad_orbits(const PyAdjacency& forward, const PyAdjacency& reverse, std::size_t number,
                        const Numbers& pairs, const Numbers& middles, const Numbers& ends,
                        const Numbers& triangles, const Numbers& contained, int threads,
                        std::optional<double> timeout) {
  const std::uint32_t vertices = rows_of(forward);
  const view::Adjacency to = as_adjacency(forward, vertices), from = as_adjacency(reverse, vertices);
  require(pairs.size() == 3 && middles.size() == 9 && ends.size() == 9 && triangles.size() == 81 &&
              contained.size() == number * number,
          "malformed orbits");
  for (const Numbers* numbers : {&pairs, &middles, &ends, &triangles})
    require(std::ranges::all_of(as_span(*numbers), [&](std::uint32_t orbit) { return orbit < number; }),
            "no such orbit");
  const census::TriadOrbits orbits{number,        as_span(pairs),     as_span(middles),
                                   as_span(ends), as_span(triangles), as_span(contained)};
  std::vector<std::uint64_t> found;
  const bool done = run_until(threads, timeout, [&](const Workers& workers) {
    found = census::triad_orbits(census::typed_rows(to, from, vertices, workers), orbits, workers);
  });
  return done ? to_numpy(std::move(found)) : nb::none();
}

// Vertices, whether directed, whether mutual arcs are kept, sources, targets, ends of layers, labels.
using PyWiring = std::tuple<std::uint32_t, bool, bool, Numbers, Numbers, InputArray<std::uint64_t>,
                            std::optional<Numbers>>;

census::Wiring wiring_of(const PyWiring& given) {
  const auto& [vertices, directed, keeps_mutual, sources, targets, layers, labels] = given;
  census::Wiring wiring{vertices,         directed,        directed && keeps_mutual, as_span(sources),
                        as_span(targets), as_span(layers), as_span(labels)};
  require(wiring.sources.size() == wiring.targets.size(), "a target for each source expected");
  require(!labels || wiring.labels.size() == vertices, "a label for each vertex expected");
  std::uint64_t begin = 0;
  for (const std::uint64_t end : wiring.layers) {
    require(begin <= end && end <= wiring.sources.size(), "malformed layers");
    require(std::ranges::is_sorted(wiring.sources.subspan(begin, end - begin)), "unsorted sources");
    begin = end;
  }
  require(begin == wiring.sources.size(), "edges of no layer");
  for (std::size_t at = 0; at < wiring.sources.size(); ++at)
    require(std::max(wiring.sources[at], wiring.targets[at]) < vertices &&
                wiring.sources[at] != wiring.targets[at],
            "no such edge");
  return wiring;
}

// (sources, targets, swaps) of one random graph; edges are in the order of the layers.
nb::object rewired(const PyWiring& given, double proposals, std::uint64_t seed, std::uint64_t number,
                   std::optional<double> timeout) {
  const census::Wiring wiring = wiring_of(given);
  census::Rewired found;
  const bool done = run_until(1, timeout, [&](const Workers& workers) {
    found = census::rewired(wiring, proposals, seed, number, workers);
  });
  if (!done) return nb::none();
  return nb::make_tuple(to_numpy(std::move(found.sources)), to_numpy(std::move(found.targets)), found.swaps);
}

// (kept, swaps) after each round.
nb::object overlaps(const PyWiring& given, std::uint64_t rounds, std::uint64_t seed,
                    std::optional<double> timeout) {
  const census::Wiring wiring = wiring_of(given);
  census::Overlaps found;
  const bool done = run_until(
      1, timeout, [&](const Workers& workers) { found = census::overlaps(wiring, rounds, seed, workers); });
  return done ? nb::object(nb::make_tuple(found.kept, found.swaps)) : nb::none();
}

// Calls progress(done, total) unless it is None; false if it raised.
bool report(const nb::object& progress, std::uint64_t done, std::uint64_t total) {
  if (progress.is_none()) return true;
  try {
    progress(done, total);
    return true;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return false;
}

// The bins of random graphs 0, 1, ..., in this order, as many as were finished in time before the first that
// was not; and the swaps of all that were finished.
nb::tuple null_bins(const PyWiring& given, double proposals, std::uint64_t seed, std::size_t graphs, int size,
                    int threads, std::optional<double> timeout, const nb::object& progress) {
  check_size(size);
  const census::Wiring wiring = wiring_of(given);
  census::NullCensus result(kinds_of(wiring.directed), size, graphs);
  run_until(
      threads, timeout,
      [&](const Workers& workers) { census::count_nulls(wiring, proposals, seed, workers, result); },
      [&] { return report(progress, result.done.load(), graphs); });
  nb::list bins;
  for (std::size_t at = 0; at < graphs && result.finished[at]; ++at) bins.append(to_list(result.bins[at]));
  return nb::make_tuple(bins, result.swaps.load(), result.done.load());
}

}  // namespace

void bind_census(nb::module_& module) {
  module.def("census_bins", &census_bins, "forward"_a, "reverse"_a, "directed"_a, "size"_a, "threads"_a,
             "timeout"_a.none());
  module.def("triad_orbits", &triad_orbits, "forward"_a, "reverse"_a, "number"_a, "pairs"_a, "middles"_a,
             "ends"_a, "triangles"_a, "contained"_a, "threads"_a, "timeout"_a.none());
  module.def("rewired", &rewired, "wiring"_a, "proposals"_a, "seed"_a, "number"_a, "timeout"_a.none());
  module.def("overlaps", &overlaps, "wiring"_a, "rounds"_a, "seed"_a, "timeout"_a.none());
  module.def("null_bins", &null_bins, "wiring"_a, "proposals"_a, "seed"_a, "graphs"_a, "size"_a, "threads"_a,
             "timeout"_a.none(), "progress"_a.none());
}

}  // namespace motiflux
