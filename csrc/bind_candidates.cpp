#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "bind_checks.hpp"
#include "bindings.hpp"
#include "candidates/filter.hpp"
#include "candidates/space.hpp"
#include "common/arrays.hpp"
#include "common/watched.hpp"
#include "motiflux/view/plan.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using Mask = std::optional<InputArray<std::uint8_t>>;
using PyArcRows = std::tuple<InputArray<std::uint64_t>, InputArray<std::uint32_t>,
                             std::optional<InputArray<std::uint32_t>>>;
using PyLabelGroups = std::tuple<InputArray<std::uint64_t>, InputArray<std::uint32_t>>;
using PyQueryVertex = std::tuple<std::vector<std::uint32_t>, Mask, std::uint64_t, std::uint64_t>;
using PyQueryEdge = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
using PyKind = std::tuple<bool, bool, Mask, Mask, Mask>;

graph::ArcRows as_rows(const PyArcRows& rows) {
  const auto& [offsets, neighbors, labels] = rows;
  require(offsets.size() >= 1, "offsets must not be empty");
  require(offsets.data()[offsets.size() - 1] == neighbors.size(), "offsets do not end at the last neighbour");
  require(!labels || labels->size() == neighbors.size(), "one label per arc expected");
  return {as_span(offsets), as_span(neighbors), as_span(labels)};
}

void require_mask(const Mask& mask, std::size_t size) {
  require(!mask || mask->size() == size, "a mask has the wrong length");
}

candidates::Query as_query(const candidates::DataGraph& graph, const std::vector<PyQueryVertex>& vertices,
                           const std::vector<PyQueryEdge>& edges, const std::vector<PyKind>& kinds,
                           bool injective) {
  require(vertices.size() >= 2 && vertices.size() <= view::kMaxLevels, "a pattern has 2 to 32 vertices");
  require(!kinds.empty() && kinds.size() <= candidates::kMaxKinds, "1 to 64 kinds of arcs expected");
  candidates::Query query;
  query.injective = injective;
  for (const auto& [labels, allowed, min_out, min_in] : vertices) {
    require_mask(allowed, graph.vertices());
    query.vertices.push_back({labels, as_span(allowed), min_out, min_in});
  }
  std::uint32_t touched = 0;
  for (const auto& [source, target, forward, backward] : edges) {
    require(source < vertices.size() && target < vertices.size() && source != target, "no such query vertex");
    require(forward < kinds.size() && backward < kinds.size(), "no such kind");
    query.edges.push_back({source, target, forward, backward});
    touched |= (std::uint32_t{1} << source) | (std::uint32_t{1} << target);
  }
  require(touched == (vertices.size() == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << vertices.size()) - 1),
          "a query vertex without edges");
  for (const auto& [out, in, labels, out_arcs, in_arcs] : kinds) {
    require_mask(labels, graph.edge_labels);
    require_mask(out_arcs, graph.out.neighbors.size());
    require_mask(in_arcs, graph.in.neighbors.size());
    query.kinds.push_back({out, in, as_span(labels), as_span(out_arcs), as_span(in_arcs)});
  }
  return query;
}

void make_space(candidates::Space* self, const PyArcRows& out, const PyArcRows& in,
                const PyLabelGroups& groups, std::uint32_t edge_labels,
                const std::vector<PyQueryVertex>& vertices, const std::vector<PyQueryEdge>& edges,
                const std::vector<PyKind>& kinds, bool injective, int rounds, int cycles,
                std::uint64_t max_bytes, int threads, std::optional<double> timeout) {
  const auto& [label_offsets, by_label] = groups;
  const candidates::DataGraph graph{as_rows(out), as_rows(in), as_span(label_offsets), as_span(by_label),
                                    edge_labels};
  require(graph.in.offsets.size() == graph.out.offsets.size(), "rows out and in differ in number");
  require(label_offsets.size() >= 1 && label_offsets.data()[label_offsets.size() - 1] == by_label.size(),
          "label groups do not end at the last vertex");
  const candidates::Query query = as_query(graph, vertices, edges, kinds, injective);
  const candidates::Options options{rounds, cycles, max_bytes};
  std::optional<candidates::Space> made;
  if (graph.out.neighbors.size() < candidates::kArcsForThreads) {
    made.emplace(graph, query, options, Workers{1, nullptr});
  } else {
    std::atomic<bool> stop{false};
    const auto start = std::chrono::steady_clock::now();
    const auto in_time = [&] {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      if (!timeout || taken.count() < *timeout) return true;
      PyErr_SetString(PyExc_TimeoutError, "time was up while candidates were filtered");
      return false;
    };
    run_watched([&] { made.emplace(graph, query, options, Workers{threads, &stop}); }, in_time,
                [&] { stop.store(true, std::memory_order_relaxed); });
  }
  new (self) candidates::Space(std::move(*made));
}

std::vector<std::uint64_t> sizes(const candidates::Space& space) {
  std::vector<std::uint64_t> result;
  for (std::size_t u = 0; u < space.size(); ++u) result.push_back(space.set(u).size());
  return result;
}

std::vector<std::uint64_t> arcs(const candidates::Space& space) {
  std::vector<std::uint64_t> result;
  for (std::size_t e = 0; e < space.edges(); ++e) result.push_back(space.arcs(e));
  return result;
}

// A number per query vertex; equal numbers mean equal sets.
std::vector<std::uint32_t> classes(const candidates::Space& space) {
  std::vector<std::uint32_t> result;
  if (space.state() == candidates::Space::State::kTooLarge) return result;
  for (std::size_t u = 0; u < space.size(); ++u)
    result.push_back(static_cast<std::uint32_t>(space.class_of(u)));
  return result;
}

using PyRows = std::optional<std::tuple<InputArray<std::uint64_t>, InputArray<std::uint32_t>>>;
using PySpaceEdge = std::tuple<std::uint32_t, std::uint32_t, PyRows, PyRows>;

// A space in arrays of NumPy, which stay there as long as it does. Sizes are checked; what rows hold is not,
// as it is what `lend` gave.
void make_lent_space(candidates::Space* self, const std::vector<InputArray<std::uint32_t>>& sets,
                     const std::vector<PySpaceEdge>& edges, int rounds) {
  candidates::SpaceView view;
  view.rounds = rounds;
  for (const auto& set : sets) view.sets.push_back(as_span(set));
  const auto as_rows = [&](const PyRows& rows, std::uint32_t from) -> candidates::RowsView {
    if (!rows) return {};
    const auto& [offsets, neighbors] = *rows;
    require(offsets.size() == view.sets[from].size() + 1, "one row per candidate expected");
    require(offsets.data()[offsets.size() - 1] == neighbors.size(),
            "offsets do not end at the last neighbour");
    return {as_span(offsets), as_span(neighbors)};
  };
  for (const auto& [source, target, forward, backward] : edges) {
    require(source < sets.size() && target < sets.size(), "no such query vertex");
    require(forward || backward, "a query edge without rows");
    view.edges.push_back({source, target, as_rows(forward, source), as_rows(backward, target)});
  }
  auto keeper =
      std::make_shared<std::tuple<std::vector<InputArray<std::uint32_t>>, std::vector<PySpaceEdge>>>(sets,
                                                                                                     edges);
  new (self) candidates::Space(std::move(view), std::move(keeper));
}

template <class T>
nb::object lent_array(std::span<const T> values, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy, const T>(values.data(), {values.size()}, owner));
}

// The arrays of a space, as its other constructor takes them. Equal sets are one array.
nb::object lend(nb::handle self) {
  const auto& space = nb::cast<const candidates::Space&>(self);
  require(space.state() == candidates::Space::State::kReady, "the candidate space has no rows");
  const candidates::SpaceView view = space.view();
  nb::list sets, edges;
  for (std::size_t u = 0; u < view.sets.size(); ++u)
    sets.append(space.class_of(u) == u ? lent_array(view.sets[u], self)
                                       : nb::object(sets[space.class_of(u)]));
  const auto rows_of = [&](const candidates::RowsView& rows) -> nb::object {
    if (rows.offsets.empty()) return nb::none();
    return nb::make_tuple(lent_array(rows.offsets, self), lent_array(rows.neighbors, self));
  };
  for (const auto& edge : view.edges)
    edges.append(nb::make_tuple(edge.source, edge.target, rows_of(edge.forward), rows_of(edge.backward)));
  return nb::make_tuple(sets, edges, view.rounds);
}

}  // namespace

void bind_candidates(nb::module_& module) {
  nb::class_<candidates::Space>(module, "Space")
      .def("__init__", &make_space, nb::kw_only(), "out"_a, "in_"_a, "label_groups"_a, "edge_labels"_a,
           "vertices"_a, "edges"_a, "kinds"_a, "injective"_a, "rounds"_a, "cycles"_a, "max_bytes"_a,
           "threads"_a, "timeout"_a.none())
      .def("__init__", &make_lent_space, "sets"_a, "edges"_a, "rounds"_a)
      .def("lend", &lend)
      .def_prop_ro("state", [](const candidates::Space& space) { return static_cast<int>(space.state()); })
      .def_prop_ro("rounds", &candidates::Space::rounds)
      .def_prop_ro("nbytes", &candidates::Space::bytes)
      .def_prop_ro("sizes", &sizes)
      .def_prop_ro("arcs", &arcs)
      .def_prop_ro("classes", &classes)
      .def("members", [](const candidates::Space& space, std::size_t query_vertex) {
        require(query_vertex < space.size(), "no such query vertex");
        const auto set = space.set(query_vertex);
        return to_numpy(std::vector<std::uint32_t>(set.begin(), set.end()));
      });
}

}  // namespace motiflux
