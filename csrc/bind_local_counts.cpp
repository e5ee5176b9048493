// Bindings of local counts (csrc/local_counts). Each takes a timeout in seconds and returns None after it. A
// table is an array of words and the number of words per number.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "bind_checks.hpp"
#include "bind_until.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "local_counts/edge_orbits.hpp"
#include "local_counts/five/edges.hpp"
#include "local_counts/five/vertices.hpp"
#include "local_counts/orbits.hpp"
#include "local_counts/walks.hpp"
#include "local_counts/wedges.hpp"
#include "local_counts/words.hpp"
#include "python_int.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
namespace five = local_counts::five;

std::uint32_t vertices_of(const PyAdjacency& rows) {
  require(std::get<0>(rows).size() >= 1, "offsets must not be empty");
  return static_cast<std::uint32_t>(std::get<0>(rows).size() - 1);
}

using PyMiddles = std::tuple<PyAdjacency, PyAdjacency, int>;  // rows to them, rows from them, number

std::vector<local_counts::Middles> middles_of(const std::vector<PyMiddles>& kinds) {
  require(!kinds.empty(), "no middles");
  const std::uint32_t vertices = vertices_of(std::get<0>(kinds[0]));
  std::vector<local_counts::Middles> result;
  for (const auto& [first, second, number] : kinds) {
    require(number >= 1, "no middles");
    result.push_back({{as_adjacency(first, vertices), as_adjacency(second, vertices), vertices}, number});
  }
  return result;
}

nb::object wedge_total(const std::vector<PyMiddles>& kinds, int below, int threads,
                       std::optional<double> timeout) {
  require(below >= 0 && below <= 2, "malformed wedges");
  const std::vector<local_counts::Middles> middles = middles_of(kinds);
  Total total = 0;
  const bool done = run_until(threads, timeout, [&](const Workers& workers) {
    total = local_counts::wedge_total(middles, static_cast<local_counts::Below>(below), workers);
  });
  return done ? to_python(total) : nb::none();
}

using PyTable = std::tuple<InputArray<std::uint64_t>, std::size_t>;

local_counts::Table checked(const PyTable& table) {
  const auto& [words, width] = table;
  require(width >= 1 && width < Wide::kWords && words.size() % width == 0, "malformed table");
  return {as_span(words), width};
}

// Makes a table by make(workers).
template <class Make>
nb::object table_until(int threads, std::optional<double> timeout, Make&& make) {
  local_counts::OwnedTable table{{}, 1};
  if (!run_until(threads, timeout, [&](const Workers& workers) { table = make(workers); })) return nb::none();
  return nb::make_tuple(to_numpy(std::move(table.words)), table.width);
}

nb::object wedges_of_ends(const std::vector<PyMiddles>& kinds, int threads, std::optional<double> timeout) {
  const std::vector<local_counts::Middles> middles = middles_of(kinds);
  return table_until(threads, timeout, [&](const Workers& workers) {
    return local_counts::table_of(local_counts::wedges_of_ends(middles, workers), workers);
  });
}

nb::object table_product(const PyTable& first, const PyTable& second, int threads,
                         std::optional<double> timeout) {
  const local_counts::Table a = checked(first), b = checked(second);
  require(a.size() == b.size(), "tables differ in their size");
  return table_until(threads, timeout,
                     [&](const Workers& workers) { return local_counts::product(a, b, workers); });
}

nb::object table_minus(const PyTable& first, std::uint64_t times, const PyTable& second, int threads,
                       std::optional<double> timeout) {
  const local_counts::Table a = checked(first), b = checked(second);
  require(a.size() == b.size(), "tables differ in their size");
  return table_until(threads, timeout,
                     [&](const Workers& workers) { return local_counts::minus(a, times, b, workers); });
}

nb::object table_row_sums(const PyAdjacency& rows, const PyTable& table, int threads,
                          std::optional<double> timeout) {
  const std::uint32_t vertices = vertices_of(rows);
  const std::span offsets(as_adjacency(rows, vertices).offsets, std::size_t{vertices} + 1);
  const local_counts::Table numbers = checked(table);
  require(numbers.size() == offsets.back(), "a number for each arc expected");
  return table_until(threads, timeout, [&](const Workers& workers) {
    return local_counts::row_sums(offsets, numbers, workers);
  });
}

// For each arc, the table's number of one of its ends: of its target if `end` is 1, else of its source.
nb::object table_of_ends(const PyAdjacency& rows, const PyTable& table, int end, int threads,
                         std::optional<double> timeout) {
  const std::uint32_t vertices = vertices_of(rows);
  const view::Adjacency adjacency = as_adjacency(rows, vertices);
  const local_counts::Table numbers = checked(table);
  require(numbers.size() == vertices, "a number for each vertex expected");
  return table_until(threads, timeout, [&](const Workers& workers) {
    return end == 1 ? local_counts::of_targets(adjacency, vertices, numbers, workers)
                    : local_counts::of_sources(adjacency, vertices, numbers, workers);
  });
}

nb::object table_sum(const PyTable& table, int threads, std::optional<double> timeout) {
  const local_counts::Table numbers = checked(table);
  Wide total;
  const bool done = run_until(threads, timeout,
                              [&](const Workers& workers) { total = local_counts::sum(numbers, workers); });
  return done ? to_python(total) : nb::none();
}

// Kind, registers, rows, weights, power, and whether it stays below a.
using PyStep = std::tuple<int, std::size_t, std::size_t, std::optional<PyAdjacency>,
                          std::optional<InputArray<std::uint64_t>>, int, bool>;
using PyWalk = std::tuple<std::vector<PyStep>, bool, int, std::optional<PyAdjacency>>;

local_counts::Step step_of(const PyStep& step, std::uint32_t vertices, std::size_t registers) {
  const auto& [move, into, from, rows, weights, power, below] = step;
  require(move >= 0 && move <= 6 && into < registers && from < registers && power >= 1, "malformed step");
  local_counts::Step result{
      static_cast<local_counts::Move>(move), into, from, {}, as_span(weights), power, below};
  const bool needs_rows = move <= static_cast<int>(local_counts::Move::kEnds);
  require(needs_rows == rows.has_value(), "malformed step");
  if (rows) result.rows = as_adjacency(*rows, vertices);
  const std::size_t size = rows ? result.rows.offsets[vertices] : vertices;
  require(!weights || result.weights.size() == size, "a weight for each arc or vertex expected");
  require(result.move != local_counts::Move::kScale || weights, "malformed step");
  return result;
}

local_counts::Walk walk_of(const PyWalk& walk, std::uint32_t vertices) {
  const auto& [steps, apart, finish, rows] = walk;
  require(!steps.empty() && std::get<0>(steps[0]) == 0, "a walk starts at the neighbours of a vertex");
  require(finish >= 0 && finish <= 2 && rows.has_value() == (finish != 0), "malformed walk");
  std::size_t registers = 0;
  for (const PyStep& step : steps) registers = std::max(registers, std::get<1>(step) + 1);
  local_counts::Walk result{{}, registers, apart, static_cast<local_counts::Finish>(finish), {}, vertices};
  for (const PyStep& step : steps) result.steps.push_back(step_of(step, vertices, registers));
  if (rows) result.rows = as_adjacency(*rows, vertices);
  return result;
}

nb::object walk_counts(const PyWalk& walk, std::uint32_t vertices, int threads,
                       std::optional<double> timeout) {
  const local_counts::Walk found = walk_of(walk, vertices);
  return table_until(threads, timeout,
                     [&](const Workers& workers) { return local_counts::walk_counts(found, workers); });
}

// The work of the walks from each root; only from the first roots if these exceed `most`.
nb::object walk_work(const PyWalk& walk, std::uint32_t vertices, const InputArray<std::uint32_t>& roots,
                     double most) {
  const local_counts::Walk found = walk_of(walk, vertices);
  for (const std::uint32_t root : as_span(roots)) require(root < vertices, "no such vertex");
  return to_numpy(local_counts::walk_work(found, as_span(roots), most));
}

nb::object weighted_cycles(const PyAdjacency& rows, const InputArray<std::uint64_t>& weights, int threads,
                           std::optional<double> timeout) {
  const std::uint32_t vertices = vertices_of(rows);
  const view::Adjacency adjacency = as_adjacency(rows, vertices);
  require(weights.size() == adjacency.offsets[vertices], "a weight for each arc expected");
  return table_until(threads, timeout, [&](const Workers& workers) {
    return local_counts::table_of(
        local_counts::weighted_cycles(adjacency, vertices, as_span(weights), workers), workers);
  });
}

using OfArcs = std::vector<std::uint64_t> (*)(const view::Adjacency&, std::uint32_t, const Workers&);

template <OfArcs count>
nb::object of_arcs(const PyAdjacency& rows, int threads, std::optional<double> timeout) {
  const std::uint32_t vertices = vertices_of(rows);
  const view::Adjacency adjacency = as_adjacency(rows, vertices);
  return table_until(threads, timeout, [&](const Workers& workers) {
    return local_counts::OwnedTable{count(adjacency, vertices, workers), 1};
  });
}

// Counts orbits by count(workers).
template <class Count>
nb::object orbits_until(int threads, std::optional<double> timeout, Count&& count) {
  local_counts::Orbits found;
  if (!run_until(threads, timeout, [&](const Workers& workers) { found = count(workers); }))
    return nb::none();
  nb::list above;
  for (const auto& [at, missing] : found.above) above.append(nb::make_tuple(at, to_python(missing)));
  const std::size_t size = found.words.size();
  return nb::make_tuple(to_numpy(std::move(found.words), size), above);
}

using CountOrbits = local_counts::Orbits (*)(const view::Adjacency&, std::uint32_t, const Workers&);

// The orbits of each vertex, or each arc: words modulo 2^64, and what is missing in some as pairs of a
// position and an int.
template <CountOrbits count>
nb::object orbits_of(const PyAdjacency& rows, int threads, std::optional<double> timeout) {
  const std::uint32_t vertices = vertices_of(rows);
  const view::Adjacency adjacency = as_adjacency(rows, vertices);
  return orbits_until(threads, timeout,
                      [&](const Workers& workers) { return count(adjacency, vertices, workers); });
}

using SumsForOrbits = Uncleared<std::uint64_t> (*)(const view::Adjacency&, std::uint32_t, const Workers&);

// The sums of each vertex, or each edge, from which orbits of five vertices follow.
template <SumsForOrbits sum>
nb::object orbit_sums_of(const PyAdjacency& rows, int threads, std::optional<double> timeout) {
  const std::uint32_t vertices = vertices_of(rows);
  const view::Adjacency adjacency = as_adjacency(rows, vertices);
  Uncleared<std::uint64_t> sums;
  if (!run_until(threads, timeout, [&](const Workers& workers) { sums = sum(adjacency, vertices, workers); }))
    return nb::none();
  const std::size_t size = sums.size();
  return to_numpy(std::move(sums), size);
}

using SolveOrbits = local_counts::Orbits (*)(const view::Adjacency&, std::uint32_t,
                                             std::span<const std::uint64_t>, const Workers&);

// As orbits_of, from the coefficients of the sums.
template <SolveOrbits count, std::size_t sums, std::size_t orbits>
nb::object all_orbits_of(const PyAdjacency& rows, const InputArray<std::uint64_t>& coefficients, int threads,
                         std::optional<double> timeout) {
  const std::uint32_t vertices = vertices_of(rows);
  const view::Adjacency adjacency = as_adjacency(rows, vertices);
  require(coefficients.size() == sums * orbits, "a coefficient for each sum and orbit expected");
  return orbits_until(threads, timeout, [&](const Workers& workers) {
    return count(adjacency, vertices, as_span(coefficients), workers);
  });
}

}  // namespace

void bind_local_counts(nb::module_& module) {
  module.def("wedge_total", &wedge_total, "kinds"_a, "below"_a, "threads"_a, "timeout"_a.none());
  module.def("wedges_of_ends", &wedges_of_ends, "kinds"_a, "threads"_a, "timeout"_a.none());
  module.def("triangles_of_arcs", &of_arcs<local_counts::triangles_of_arcs>, "rows"_a, "threads"_a,
             "timeout"_a.none());
  module.def("four_cycles_of_arcs", &of_arcs<local_counts::four_cycles_of_arcs>, "rows"_a, "threads"_a,
             "timeout"_a.none());
  module.def("weighted_cycles", &weighted_cycles, "rows"_a, "weights"_a, "threads"_a, "timeout"_a.none());
  module.def("orbits_of_vertices", &orbits_of<local_counts::orbits_of_vertices>, "rows"_a, "threads"_a,
             "timeout"_a.none());
  module.def("orbits_of_edges", &orbits_of<local_counts::orbits_of_edges>, "rows"_a, "threads"_a,
             "timeout"_a.none());
  module.def("orbit_sums_of_vertices", &orbit_sums_of<five::sums_of_vertices>, "rows"_a, "threads"_a,
             "timeout"_a.none());
  module.def("all_orbits_of_vertices",
             &all_orbits_of<five::all_orbits_of_vertices, five::kSums, five::kAllOrbits>, "rows"_a,
             "coefficients"_a, "threads"_a, "timeout"_a.none());
  module.def("orbit_sums_of_edges", &orbit_sums_of<five::sums_of_edges>, "rows"_a, "threads"_a,
             "timeout"_a.none());
  module.def("all_orbits_of_edges",
             &all_orbits_of<five::all_orbits_of_edges, five::kEdgeSums, 1 + five::kAllEdgeOrbits>, "rows"_a,
             "coefficients"_a, "threads"_a, "timeout"_a.none());
  module.def("table_product", &table_product, "first"_a, "second"_a, "threads"_a, "timeout"_a.none());
  module.def("table_minus", &table_minus, "first"_a, "times"_a, "second"_a, "threads"_a, "timeout"_a.none());
  module.def("table_row_sums", &table_row_sums, "rows"_a, "table"_a, "threads"_a, "timeout"_a.none());
  module.def("table_of_ends", &table_of_ends, "rows"_a, "table"_a, "end"_a, "threads"_a, "timeout"_a.none());
  module.def("table_sum", &table_sum, "table"_a, "threads"_a, "timeout"_a.none());
  module.def("walk_counts", &walk_counts, "walk"_a, "vertices"_a, "threads"_a, "timeout"_a.none());
  module.def("walk_work", &walk_work, "walk"_a, "vertices"_a, "roots"_a, "most"_a);
}

}  // namespace motiflux
