#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "common/watched.hpp"
#include "graph/build.hpp"
#include "graph/check.hpp"
#include "graph/count_labels.hpp"
#include "graph/filter.hpp"
#include "graph/number.hpp"
#include "graph/partial.hpp"
#include "graph/row_ends.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;

// Below this much work a watching thread costs more than the work.
constexpr std::size_t kInlineArcs = 1 << 16;

template <class Work>
void run_graph_work(std::size_t arcs, int threads, Work&& work) {
  if (arcs < kInlineArcs) {
    work(Workers{1, nullptr});
    return;
  }
  run_interruptible([&](const std::atomic<bool>& stop) { work(Workers{threads, &stop}); });
}

nb::tuple rows_to_python(graph::Rows&& rows) {
  return nb::make_tuple(to_numpy(std::move(rows.offsets)), to_numpy(std::move(rows.neighbors)),
                        to_numpy_or_none(std::move(rows.labels)), to_numpy_or_none(std::move(rows.copies)));
}

nb::tuple build_rows(const InputArray<std::uint32_t>& sources, const InputArray<std::uint32_t>& targets,
                     const std::optional<InputArray<std::uint32_t>>& labels, std::uint32_t vertices,
                     bool directed, int threads) {
  if (sources.size() != targets.size() || (labels && labels->size() != sources.size()))
    throw nb::value_error("sources, targets and labels differ in length");
  const graph::EdgeList edges{as_span(sources), as_span(targets), as_span(labels)};
  graph::Built built;
  run_graph_work(sources.size() + vertices, threads,
                 [&](const Workers& workers) { built = graph::build(edges, vertices, directed, workers); });
  nb::object reverse = directed ? nb::object(rows_to_python(std::move(built.reverse))) : nb::none();
  return nb::make_tuple(to_numpy(std::move(built.order)), rows_to_python(std::move(built.forward)), reverse,
                        built.duplicates);
}

nb::object sort_edges(const InputArray<std::uint32_t>& sources, const InputArray<std::uint32_t>& targets,
                      const std::optional<InputArray<std::uint32_t>>& labels,
                      const InputArray<std::uint32_t>& order, bool directed, int threads) {
  if (sources.size() != targets.size() || (labels && labels->size() != sources.size()))
    throw nb::value_error("sources, targets and labels differ in length");
  const graph::EdgeList edges{as_span(sources), as_span(targets), as_span(labels)};
  std::vector<std::uint32_t> sorted;
  run_graph_work(sources.size() + order.size(), threads, [&](const Workers& workers) {
    sorted = graph::sort_edges(edges, as_span(order), directed, workers);
  });
  return to_numpy(std::move(sorted));
}

using Mask = std::optional<InputArray<std::uint8_t>>;
using PyArcRows = std::tuple<InputArray<std::uint64_t>, InputArray<std::uint32_t>,
                             std::optional<InputArray<std::uint32_t>>, Mask>;

nb::tuple filter_rows(const std::vector<PyArcRows>& directions, const Mask& edge_labels,
                      const Mask& source_labels, const Mask& target_labels,
                      const std::optional<InputArray<std::uint32_t>>& vertex_labels, const Mask& sources,
                      const Mask& targets, int threads) {
  std::vector<graph::ArcRows> rows;
  std::size_t arcs = 0;
  for (const auto& [offsets, neighbors, labels, mask] : directions) {
    if (mask && mask->size() != neighbors.size()) throw nb::value_error("one byte per arc expected");
    for (const Mask& vertices : {sources, targets})
      if (vertices && vertices->size() + 1 != offsets.size())
        throw nb::value_error("one byte per vertex expected");
    rows.push_back({as_span(offsets), as_span(neighbors), as_span(labels), as_span(mask)});
    arcs += neighbors.size() + offsets.size();
  }
  const graph::ArcFilter allowed{as_span(edge_labels),   as_span(source_labels), as_span(target_labels),
                                 as_span(vertex_labels), as_span(sources),       as_span(targets)};
  graph::NeighborRows result;
  run_graph_work(arcs, threads,
                 [&](const Workers& workers) { result = graph::filter(rows, allowed, workers); });
  return nb::make_tuple(to_numpy(std::move(result.offsets)), to_numpy(std::move(result.neighbors)));
}

std::string describe_fault(const InputArray<std::uint64_t>& offsets,
                           const InputArray<std::uint32_t>& neighbors,
                           const std::optional<InputArray<std::uint32_t>>& labels,
                           const std::optional<InputArray<std::uint32_t>>& copies, std::uint32_t edge_labels,
                           std::uint64_t edge_rows, int threads) {
  if (offsets.size() == 0) throw nb::value_error("offsets must not be empty");
  for (const auto& of_arcs : {labels, copies})
    if (of_arcs && of_arcs->size() != neighbors.size()) throw nb::value_error("one entry per arc expected");
  const graph::ArcRows rows{as_span(offsets), as_span(neighbors), as_span(labels), {}};
  std::string fault;
  run_graph_work(neighbors.size() + offsets.size(), threads, [&](const Workers& workers) {
    fault = graph::describe_fault(rows, as_span(copies), edge_labels, edge_rows, workers);
  });
  return fault;
}

using AnyColumn = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using RowsOfBytes = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::list codes_to_python(std::vector<std::vector<std::uint32_t>>&& codes) {
  nb::list result;
  for (auto& one : codes) result.append(to_numpy(std::move(one)));
  return result;
}

template <class Integer>
graph::Numbered number_columns(const std::vector<AnyColumn>& columns, int threads) {
  std::vector<graph::IntegerColumn<Integer>> given;
  std::size_t entries = 0;
  for (const AnyColumn& column : columns) {
    if (column.dtype() != nb::dtype<Integer>()) throw nb::type_error("columns of one type expected");
    const auto stride = static_cast<std::ptrdiff_t>(column.stride(0) * sizeof(Integer));
    given.push_back({static_cast<const std::byte*>(column.data()), column.size(), stride});
    entries += column.size();
  }
  graph::Numbered result;
  run_graph_work(entries, threads,
                 [&](const Workers& workers) { result = graph::number_integers<Integer>(given, workers); });
  return result;
}

nb::tuple number_integers(const std::vector<AnyColumn>& columns, int threads) {
  if (columns.empty()) throw nb::value_error("a column expected");
  graph::Numbered result;
  if (columns[0].dtype() == nb::dtype<std::int64_t>())
    result = number_columns<std::int64_t>(columns, threads);
  else if (columns[0].dtype() == nb::dtype<std::int32_t>())
    result = number_columns<std::int32_t>(columns, threads);
  else if (columns[0].dtype() == nb::dtype<std::uint32_t>())
    result = number_columns<std::uint32_t>(columns, threads);
  else
    throw nb::type_error("columns of int64, int32 or uint32 expected");
  return nb::make_tuple(to_numpy(std::move(result.values)), codes_to_python(std::move(result.codes)));
}

nb::tuple number_rows(const std::vector<RowsOfBytes>& columns, int threads) {
  if (columns.empty()) throw nb::value_error("a column expected");
  graph::ByteRows given{{}, {}, columns[0].shape(1)};
  std::size_t entries = 0;
  for (const RowsOfBytes& column : columns) {
    if (column.shape(1) != given.width) throw nb::value_error("rows of one width expected");
    given.data.push_back(column.data());
    given.sizes.push_back(column.shape(0));
    entries += column.shape(0);
  }
  graph::NumberedRows result;
  run_graph_work(entries, threads,
                 [&](const Workers& workers) { result = graph::number_rows(given, workers); });
  return nb::make_tuple(to_numpy(std::move(result.values)), codes_to_python(std::move(result.codes)));
}

nb::object count_label_triples(const InputArray<std::uint64_t>& offsets,
                               const InputArray<std::uint32_t>& neighbors,
                               const std::optional<InputArray<std::uint32_t>>& edge_labels,
                               const std::optional<InputArray<std::uint32_t>>& vertex_labels,
                               std::uint64_t first, std::uint64_t last, std::size_t num_edge_labels,
                               std::size_t num_vertex_labels) {
  if (first > last || last > neighbors.size() || offsets.size() == 0 ||
      offsets.data()[offsets.size() - 1] != neighbors.size() ||
      (edge_labels && edge_labels->size() != neighbors.size()) ||
      (vertex_labels && vertex_labels->size() + 1 != offsets.size()))
    throw nb::value_error("columns of arcs differ in length");
  const graph::LabelledArcs arcs{as_span(offsets), as_span(neighbors), as_span(edge_labels),
                                 as_span(vertex_labels)};
  std::vector<std::int64_t> counts;
  {
    const FreeGil free_gil;
    counts = graph::count_triples(arcs, first, last, num_vertex_labels, num_edge_labels);
  }
  return to_numpy(std::move(counts));
}

using PackedArray = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Offsets = InputArray<std::uint64_t>;

graph::NeighborSpans checked_rows(const Offsets& offsets, const InputArray<std::uint32_t>& neighbors) {
  if (offsets.size() == 0 || offsets.data()[offsets.size() - 1] != neighbors.size())
    throw nb::value_error("offsets up to the number of neighbors expected");
  return {as_span(offsets), as_span(neighbors)};
}

void check_ends(const Offsets& offsets, const Offsets& ends) {
  if (offsets.size() == 0 || ends.size() != offsets.size())
    throw nb::value_error("as many offsets of ends as of rows expected");
}

std::uint64_t longest_row(const Offsets& offsets, int threads) {
  if (offsets.size() == 0) throw nb::value_error("offsets must not be empty");
  std::uint64_t longest = 0;
  run_graph_work(offsets.size(), threads,
                 [&](const Workers& workers) { longest = graph::longest_row(as_span(offsets), workers); });
  return longest;
}

double squares_of_rows(const Offsets& offsets) {
  if (offsets.size() == 0) throw nb::value_error("offsets must not be empty");
  double sum = 0;
  run_graph_work(offsets.size(), 1,
                 [&](const Workers& workers) { sum = graph::squares_of_rows(as_span(offsets), workers); });
  return sum;
}

nb::object offsets_above(const Offsets& offsets, const InputArray<std::uint32_t>& neighbors, int threads) {
  const graph::NeighborSpans rows = checked_rows(offsets, neighbors);
  std::optional<Unwritten<std::uint64_t>> above;
  run_graph_work(offsets.size(), threads,
                 [&](const Workers& workers) { above.emplace(graph::offsets_above(rows, workers)); });
  return to_numpy(std::move(*above), offsets.size());
}

std::tuple<double, double> row_work(const Offsets& offsets, const Offsets& above) {
  check_ends(offsets, above);
  graph::RowWork work;
  run_graph_work(offsets.size(), 1, [&](const Workers& workers) {
    work = graph::row_work(as_span(offsets), as_span(above), workers);
  });
  return {work.triangles, work.wedges};
}

double lesser_of_lesser(const Offsets& offsets, const InputArray<std::uint32_t>& neighbors,
                        const Offsets& above, int threads) {
  const graph::NeighborSpans rows = checked_rows(offsets, neighbors);
  check_ends(offsets, above);
  double sum = 0;
  run_graph_work(offsets.size() + neighbors.size(), threads, [&](const Workers& workers) {
    sum = graph::lesser_of_lesser(rows, as_span(above), workers);
  });
  return sum;
}

// Precondition: neighbors are rows of `offsets`.
double lengths_of_neighbors(const InputArray<std::uint32_t>& neighbors, const Offsets& offsets, int threads) {
  if (offsets.size() == 0) throw nb::value_error("offsets must not be empty");
  double sum = 0;
  run_graph_work(neighbors.size(), threads, [&](const Workers& workers) {
    sum = graph::lengths_of_neighbors(as_span(neighbors), as_span(offsets), workers);
  });
  return sum;
}

void pack_row_ends(const Offsets& offsets, const InputArray<std::uint32_t>& neighbors, const Offsets& kept,
                   std::uint64_t first, const PackedArray& packed, int threads) {
  const graph::NeighborSpans rows = checked_rows(offsets, neighbors);
  check_ends(offsets, kept);
  const std::uint64_t entries = kept.data()[kept.size() - 1];
  if (first > entries || packed.size() > entries - first)
    throw nb::value_error("entries within the ends of the rows expected");
  run_graph_work(packed.size(), threads, [&](const Workers& workers) {
    graph::pack_row_ends(rows, as_span(kept), first, {packed.data(), packed.size()}, workers);
  });
}

nb::tuple partial_rows(const InputArray<std::uint32_t>& rows, const Offsets& offsets,
                       const InputArray<std::uint32_t>& neighbors,
                       const std::optional<InputArray<std::uint32_t>>& labels, const Mask& sides,
                       std::uint32_t vertices) {
  if (offsets.size() != rows.size() + 1 || offsets.data()[rows.size()] != neighbors.size() ||
      (labels && labels->size() != neighbors.size()) || (sides && sides->size() != neighbors.size()))
    throw nb::value_error("one vertex per row and one label and side per entry expected");
  const graph::Entries entries{as_span(rows), as_span(offsets), as_span(neighbors), as_span(labels),
                               as_span(sides)};
  graph::PartialRows made;
  run_graph_work(neighbors.size() + vertices, 1,
                 [&](const Workers& workers) { made = graph::partial_rows(entries, vertices, workers); });
  return nb::make_tuple(to_numpy(std::move(made.offsets)), to_numpy(std::move(made.neighbors)),
                        labels ? to_numpy(std::move(made.labels)) : nb::none());
}

void to_positions(const InputArray<std::uint32_t>& ids, const PackedArray& values) {
  run_graph_work(ids.size() + values.size(), 1, [&](const Workers& workers) {
    graph::to_positions(as_span(ids), {values.data(), values.size()}, workers);
  });
}

using PlacesArray = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void narrow_rows(const InputArray<std::uint32_t>& neighbors, const PlacesArray& begins,
                 const PlacesArray& ends, const InputArray<std::int64_t>& least,
                 const InputArray<std::int64_t>& most) {
  const std::size_t rows = begins.size();
  if (ends.size() != rows || least.size() != rows || most.size() != rows)
    throw nb::value_error("one end and two ids per row expected");
  run_graph_work(rows, 1, [&](const Workers& workers) {
    graph::narrow_rows(as_span(neighbors), {begins.data(), rows}, {ends.data(), rows}, as_span(least),
                       as_span(most), workers);
  });
}

}  // namespace

void bind_graph(nb::module_& module) {
  module.def("build_rows", &build_rows, nb::arg("sources"), nb::arg("targets"), nb::arg("labels").none(),
             nb::arg("vertices"), nb::arg("directed"), nb::arg("threads"));
  module.def("sort_edges", &sort_edges, nb::arg("sources"), nb::arg("targets"), nb::arg("labels").none(),
             nb::arg("order"), nb::arg("directed"), nb::arg("threads"));
  module.def("number_integers", &number_integers, nb::arg("columns"), nb::arg("threads"));
  module.def("number_rows", &number_rows, nb::arg("columns"), nb::arg("threads"));
  module.def("filter_rows", &filter_rows, nb::arg("directions"), nb::arg("edge_labels").none(),
             nb::arg("source_labels").none(), nb::arg("target_labels").none(),
             nb::arg("vertex_labels").none(), nb::arg("sources").none(), nb::arg("targets").none(),
             nb::arg("threads"));
  module.def("count_label_triples", &count_label_triples, nb::arg("offsets"), nb::arg("neighbors"),
             nb::arg("edge_labels").none(), nb::arg("vertex_labels").none(), nb::arg("first"),
             nb::arg("last"), nb::arg("num_edge_labels"), nb::arg("num_vertex_labels"));
  module.def("describe_fault", &describe_fault, nb::arg("offsets"), nb::arg("neighbors"),
             nb::arg("labels").none(), nb::arg("copies").none(), nb::arg("edge_labels"), nb::arg("edge_rows"),
             nb::arg("threads"));
  module.def("longest_row", &longest_row, nb::arg("offsets"), nb::arg("threads"));
  module.def("squares_of_rows", &squares_of_rows, nb::arg("offsets"));
  module.def("offsets_above", &offsets_above, nb::arg("offsets"), nb::arg("neighbors"), nb::arg("threads"));
  module.def("row_work", &row_work, nb::arg("offsets"), nb::arg("above"));
  module.def("lesser_of_lesser", &lesser_of_lesser, nb::arg("offsets"), nb::arg("neighbors"),
             nb::arg("above"), nb::arg("threads"));
  module.def("lengths_of_neighbors", &lengths_of_neighbors, nb::arg("neighbors"), nb::arg("offsets"),
             nb::arg("threads"));
  module.def("pack_row_ends", &pack_row_ends, nb::arg("offsets"), nb::arg("neighbors"), nb::arg("kept"),
             nb::arg("first"), nb::arg("packed"), nb::arg("threads"));
  module.def("partial_rows", &partial_rows, nb::arg("rows"), nb::arg("offsets"), nb::arg("neighbors"),
             nb::arg("labels").none(), nb::arg("sides").none(), nb::arg("vertices"));
  module.def("narrow_rows", &narrow_rows, nb::arg("neighbors"), nb::arg("begins"), nb::arg("ends"),
             nb::arg("least"), nb::arg("most"));
  module.def("to_positions", &to_positions, nb::arg("ids"), nb::arg("values"));
}

}  // namespace motiflux
