// Bindings of copies of edges that have attributes (csrc/dynamic/copies.hpp).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "bind_checks.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "dynamic/copies.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using dynamic::AttributeColumn;
using dynamic::Copies;
using dynamic::Edge;
using dynamic::Label;
using dynamic::Vertex;

using Vertices = InputArray<Vertex>;
using Labels = InputArray<Label>;
using Moments = InputArray<std::int64_t>;
using Flags = InputArray<std::uint8_t>;
using PyColumn = std::tuple<InputArray<std::int64_t>, Flags>;  // words, missing

// Columns of updates: inserts, sources, targets, facets, origins, the deletions that took a copy, the rows of
// these copies, expired, noops, and the first update without effect.
nb::object columns_of(Copies::Changes&& changes) {
  std::vector<std::uint8_t> inserts(changes.updates.size());
  std::vector<Vertex> sources(changes.updates.size()), targets(changes.updates.size());
  std::vector<Label> facets(changes.updates.size());
  for (std::size_t at = 0; at < changes.updates.size(); ++at) {
    const auto& [edge, comes] = changes.updates[at];
    inserts[at] = comes;
    sources[at] = edge.source;
    targets[at] = edge.target;
    facets[at] = edge.label;
  }
  nb::object first = nb::none();
  if (changes.noops > 0) first = nb::int_(changes.first_noop);
  return nb::make_tuple(to_numpy(std::move(inserts)), to_numpy(std::move(sources)),
                        to_numpy(std::move(targets)), to_numpy(std::move(facets)),
                        to_numpy(std::move(changes.origins)), to_numpy(std::move(changes.deletions)),
                        to_numpy(std::move(changes.taken)), changes.expired, changes.noops, first,
                        to_numpy(std::move(changes.rows)));
}

class PyCopies {
 public:
  PyCopies(bool directed, std::optional<std::int64_t> span, bool timed)
      : copies_(directed, span ? std::optional(Copies::Window{*span, timed}) : std::nullopt), timed_(timed) {
    require(!span || *span > 0, "a window has a span");
    timed_ = span.has_value() && timed;
  }
  explicit PyCopies(Copies&& copies, bool timed) : copies_(std::move(copies)), timed_(timed) {}

  void fill(const Vertices& sources, const Vertices& targets, const Labels& labels, const Labels& facets,
            const Moments& since, std::int64_t came) {
    const std::size_t size = sources.size();
    require(copies_.rows() == 0, "there are copies already");
    require(targets.size() == size && labels.size() == size && facets.size() == size && since.size() == size,
            "columns of copies differ in length");
    std::vector<Edge> edges(size);
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (std::size_t at = 0; at < size; ++at) {
      edges[at] = {sources(at), targets(at), labels(at)};
      if (since(at) == Copies::kStays) continue;
      require(since(at) >= last, "copies are out of order");
      last = since(at);
    }
    copies_.fill(edges, as_span(facets), as_span(since), came);
  }

  nb::object apply(const Flags& inserts, const Vertices& sources, const Vertices& targets,
                   const Labels& labels, const Labels& facets, const std::optional<Moments>& moments,
                   const std::vector<PyColumn>& columns) {
    const std::size_t size = inserts.size();
    require(
        sources.size() == size && targets.size() == size && labels.size() == size && facets.size() == size,
        "columns of updates differ in length");
    require(!timed_ || (moments && moments->size() == size), "one moment per update expected");
    std::vector<AttributeColumn> attributes;
    for (const auto& [words, missing] : columns) {
      require(words.size() >= copies_.rows() + size && missing.size() >= copies_.rows() + size,
              "attributes of all rows expected");
      attributes.push_back({as_span(words), as_span(missing)});
    }
    Copies::Changes changes;
    {
      const FreeGil free_gil;
      std::vector<Copies::Given> updates(size);
      for (std::size_t at = 0; at < size; ++at)
        updates[at] = {{sources(at), targets(at), labels(at)}, facets(at), inserts(at) != 0};
      changes = copies_.apply(updates, as_span(moments), attributes);
    }
    return columns_of(std::move(changes));
  }
  nb::object advance(std::int64_t moment) { return columns_of(copies_.advance(moment)); }

  void begin() { copies_.begin(); }
  void undo() { copies_.undo(); }
  nb::object alive() const { return to_numpy(copies_.alive()); }
  // Sources, targets, labels, facets, and when each came into the window, of rows.
  nb::object columns(const InputArray<Copies::Row>& rows) const {
    std::vector<Vertex> sources, targets;
    std::vector<Label> labels, facets;
    std::vector<std::int64_t> since;
    for (const Copies::Row row : as_span(rows)) {
      require(row < copies_.rows(), "no such row");
      const Edge& edge = copies_.edge(row);
      sources.push_back(edge.source);
      targets.push_back(edge.target);
      labels.push_back(edge.label);
      facets.push_back(copies_.facet(row));
      since.push_back(copies_.since(row));
    }
    return nb::make_tuple(to_numpy(std::move(sources)), to_numpy(std::move(targets)),
                          to_numpy(std::move(labels)), to_numpy(std::move(facets)),
                          to_numpy(std::move(since)));
  }
  void set_facets(const InputArray<Copies::Row>& rows, const Labels& facets) {
    require(rows.size() == facets.size(), "one facet per row expected");
    for (std::size_t at = 0; at < rows.size(); ++at) {
      require(rows(at) < copies_.rows(), "no such row");
      copies_.set_facet(rows(at), facets(at));
    }
  }
  PyCopies compacted() const { return PyCopies(copies_.compacted(), timed_); }

  // The row of the copy that serves a query edge, between each pair of vertices; the number of rows: none.
  nb::object witnesses(const Vertices& sources, const Vertices& targets, const Flags& facets,
                       const Labels& labels, bool either, const Moments& positions, const Flags& positive,
                       bool whole) {
    const std::size_t size = sources.size();
    require(targets.size() == size && positions.size() == size && positive.size() == size,
            "columns of matches differ in length");
    std::vector<Copies::Row> found(size);
    const Copies::Query query{as_span(facets), as_span(labels), either};
    for (std::size_t at = 0; at < size; ++at)
      found[at] = copies_.witness(sources(at), targets(at), query, positions(at), positive(at) != 0, whole);
    return to_numpy(std::move(found));
  }

  Copies& copies() { return copies_; }
  std::size_t rows() const { return copies_.rows(); }
  std::size_t size() const { return copies_.size(); }
  std::size_t edges() const { return copies_.edges(); }
  std::int64_t came() const { return copies_.came(); }
  std::size_t nbytes() const { return copies_.bytes(); }

 private:
  Copies copies_;
  bool timed_;
};

}  // namespace

dynamic::Copies& native_copies_of(nb::handle copies) {
  return nb::cast<PyCopies&>(copies).copies();
}

void bind_edge_copies(nb::module_& module) {
  nb::class_<PyCopies>(module, "Copies")
      .def(nb::init<bool, std::optional<std::int64_t>, bool>(), "directed"_a, "span"_a.none(), "timed"_a)
      .def_ro_static("STAYS", &Copies::kStays)
      .def("fill", &PyCopies::fill, "sources"_a, "targets"_a, "labels"_a, "facets"_a, "since"_a, "came"_a)
      .def("apply", &PyCopies::apply, "inserts"_a, "sources"_a, "targets"_a, "labels"_a, "facets"_a,
           "moments"_a.none(), "columns"_a)
      .def("advance", &PyCopies::advance, "moment"_a)
      .def("begin", &PyCopies::begin)
      .def("undo", &PyCopies::undo)
      .def("alive", &PyCopies::alive)
      .def("columns", &PyCopies::columns, "rows"_a)
      .def("set_facets", &PyCopies::set_facets, "rows"_a, "facets"_a)
      .def("compacted", &PyCopies::compacted)
      .def("witnesses", &PyCopies::witnesses, "sources"_a, "targets"_a, "facets"_a, "labels"_a, "either"_a,
           "positions"_a, "positive"_a, "whole"_a)
      .def_prop_ro("rows", &PyCopies::rows)
      .def_prop_ro("size", &PyCopies::size)
      .def_prop_ro("edges", &PyCopies::edges)
      .def_prop_ro("came", &PyCopies::came)
      .def_prop_ro("nbytes", &PyCopies::nbytes);
}

}  // namespace motiflux
