// Bindings of the part of a sharded graph that a search needs. The GIL is free while entries are looked at.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "graph/part.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;

using PyIds = InputArray<std::int64_t>;
using PyBits = InputArray<std::uint8_t>;
using PyAllowed = std::vector<std::uint8_t>;
using PyValues = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using PyKinds = std::optional<PyValues>;
// Vertices, begins and ends of their rows, neighbours, kinds.
using PyPiece = std::tuple<PyIds, PyIds, PyIds, InputArray<std::uint32_t>, PyKinds>;
// Target, least id, id behind the greatest, side, kinds that may be used; none: all.
using PyLead = std::tuple<std::uint32_t, std::int64_t, std::int64_t, int, PyAllowed>;
using PyPair = std::tuple<std::uint32_t, std::uint32_t, int>;  // source, target, side
using PyKey = std::tuple<std::vector<PyPair>, PyAllowed>;

template <class T, class Array>
std::span<const T> kinds_as(const Array& kinds) {
  return {static_cast<const T*>(kinds.data()), kinds.size()};
}

graph::RowPiece as_piece(const PyPiece& piece) {
  const auto& [ids, begins, ends, neighbors, kinds] = piece;
  graph::RowPiece made{as_span(ids), as_span(begins), as_span(ends), as_span(neighbors), {}};
  if (!kinds) return made;
  if (kinds->dtype() == nb::dtype<std::uint8_t>()) {
    made.kinds = kinds_as<std::uint8_t>(*kinds);
  } else if (kinds->dtype() == nb::dtype<std::uint16_t>()) {
    made.kinds = kinds_as<std::uint16_t>(*kinds);
  } else if (kinds->dtype() == nb::dtype<std::uint32_t>()) {
    made.kinds = kinds_as<std::uint32_t>(*kinds);
  } else {
    throw nb::value_error("kinds of 1, 2 or 4 bytes expected");
  }
  return made;
}

// The slices of rows: of the row of ids[i] the neighbours from least[i] up to most[i]. The first row is that
// of vertex `first`.
class RowsIn {
 public:
  RowsIn(const InputArray<std::uint64_t>& offsets, const InputArray<std::uint32_t>& neighbors,
         std::int64_t first, const PyIds& ids, const PyIds& least, const PyIds& most)
      : offsets_(offsets), neighbors_(neighbors), first_(first), ids_(ids), least_(least), most_(most) {
    if (least.size() != ids.size() || most.size() != ids.size())
      throw nb::value_error("two ids for each row expected");
  }

  // Where a slice begins and ends among the neighbours.
  std::pair<std::int64_t, std::int64_t> slice(std::size_t row) const {
    const auto at = static_cast<std::uint64_t>(ids_.data()[row] - first_);
    if (at + 1 >= offsets_.size() || offsets_.data()[at] > offsets_.data()[at + 1] ||
        offsets_.data()[at + 1] > neighbors_.size())
      throw nb::value_error("rows within the neighbours expected");
    const std::uint32_t* const all = neighbors_.data();
    const std::uint32_t* const last = all + offsets_.data()[at + 1];
    const std::uint32_t* const begin = std::lower_bound(all + offsets_.data()[at], last, least_.data()[row]);
    return {begin - all, std::lower_bound(begin, last, most_.data()[row]) - all};
  }

 private:
  const InputArray<std::uint64_t>& offsets_;
  const InputArray<std::uint32_t>& neighbors_;
  std::int64_t first_;
  const PyIds &ids_, &least_, &most_;
};

// Where the slices of rows lie among the neighbours, and the number of their entries.
nb::tuple slice_rows(const InputArray<std::uint64_t>& offsets, const InputArray<std::uint32_t>& neighbors,
                     std::int64_t first, const PyIds& ids, const PyIds& least, const PyIds& most) {
  const std::size_t rows = ids.size();
  const RowsIn given(offsets, neighbors, first, ids, least, most);
  std::vector<std::int64_t> begins(rows), ends(rows);
  std::int64_t entries = 0;
  {
    const FreeGil free_gil;
    for (std::size_t row = 0; row < rows; ++row) {
      std::tie(begins[row], ends[row]) = given.slice(row);
      entries += ends[row] - begins[row];
    }
  }
  return nb::make_tuple(to_numpy(std::move(begins)), to_numpy(std::move(ends)), entries);
}

// The slices of the first rows that have at most so many entries together, and whether the only one is cut
// short: of the first row, if its slice has more of them, those behind `skip` entries. The entries of a
// neighbour stay together.
nb::tuple first_slices(const InputArray<std::uint64_t>& offsets, const InputArray<std::uint32_t>& neighbors,
                       std::int64_t first, const PyIds& ids, const PyIds& least, const PyIds& most,
                       std::int64_t entries, std::int64_t skip) {
  const RowsIn given(offsets, neighbors, first, ids, least, most);
  std::vector<std::int64_t> begins, ends;
  bool cut_short = false;
  {
    const FreeGil free_gil;
    for (std::size_t row = 0; row < ids.size(); ++row) {
      auto [begin, end] = given.slice(row);
      if (row == 0) begin = std::min(begin + skip, end);
      if (row > 0 && end - begin > entries) break;
      if (end - begin > entries) {
        std::int64_t until = begin + std::max<std::int64_t>(entries, 1);
        while (until < end && neighbors.data()[until] == neighbors.data()[until - 1]) ++until;
        cut_short = until < end;
        end = until;
      }
      begins.push_back(begin);
      ends.push_back(end);
      entries -= end - begin;
      if (cut_short) break;
    }
  }
  return nb::make_tuple(to_numpy(std::move(begins)), to_numpy(std::move(ends)), cut_short);
}

template <class T>
nb::object entries_as(const PyValues& values, const PyIds& begins, const PyIds& ends, std::size_t size) {
  Unwritten<T> out(size);
  {
    const FreeGil free_gil;
    T* at = out.data();
    for (std::size_t row = 0; row < begins.size(); ++row)
      at = std::copy(static_cast<const T*>(values.data()) + begins.data()[row],
                     static_cast<const T*>(values.data()) + ends.data()[row], at);
  }
  return to_numpy(std::move(out), size);
}

// The values from begins[i] up to ends[i] for each i, one after another.
nb::object take_entries(const PyValues& values, const PyIds& begins, const PyIds& ends) {
  if (begins.size() != ends.size()) throw nb::value_error("an end for each row expected");
  std::size_t size = 0;
  for (std::size_t row = 0; row < begins.size(); ++row) {
    const std::int64_t begin = begins.data()[row], end = ends.data()[row];
    if (begin < 0 || end < begin || static_cast<std::uint64_t>(end) > values.size())
      throw nb::value_error("rows within the values expected");
    size += static_cast<std::size_t>(end - begin);
  }
  if (values.dtype() == nb::dtype<std::uint8_t>())
    return entries_as<std::uint8_t>(values, begins, ends, size);
  if (values.dtype() == nb::dtype<std::uint16_t>())
    return entries_as<std::uint16_t>(values, begins, ends, size);
  if (values.dtype() == nb::dtype<std::uint32_t>())
    return entries_as<std::uint32_t>(values, begins, ends, size);
  throw nb::value_error("values of 1, 2 or 4 bytes expected");
}

std::vector<graph::PartKey> as_keys(const std::vector<PyKey>& keys) {
  std::vector<graph::PartKey> made;
  for (const auto& [pairs, kinds] : keys) {
    made.push_back({{}, kinds});
    for (const auto& [source, target, side] : pairs) made.back().pairs.push_back({source, target, side});
  }
  return made;
}

template <class Work>
auto unlocked(Work&& work) {
  const FreeGil free_gil;
  return work();
}

class PyPart {
 public:
  PyPart(std::size_t vertices, std::size_t query_vertices)
      : part_(graph::make_part(vertices, query_vertices)) {}

  void clear() {
    unlocked([&] { part_->clear(); });
  }
  void add_range(std::uint32_t query_vertex, std::int64_t first, std::int64_t last) {
    part_->add_range(query_vertex, first, last);
  }
  void add(std::uint32_t query_vertex, const PyIds& ids) { part_->add(query_vertex, as_span(ids)); }

  void lead(std::uint32_t source, const PyPiece& given, const std::vector<PyLead>& leads) {
    std::vector<graph::PartLead> made;
    for (const auto& [target, least, most, side, kinds] : leads)
      made.push_back({target, least, most, side, kinds});
    const graph::RowPiece piece = as_piece(given);
    unlocked([&] { part_->lead(source, piece, made); });
  }
  std::uint32_t take_marked(std::uint32_t fresh, std::uint32_t known) {
    return unlocked([&] { return part_->take_marked(fresh, known); });
  }
  bool keep_only(std::uint32_t query_vertex, const PyBits& given) {
    const auto bits = as_span(given);
    return unlocked([&] { return part_->keep_only(query_vertex, bits); });
  }
  nb::object candidates(std::uint32_t mask, std::int64_t first, std::size_t most) const {
    return to_numpy(unlocked([&] { return part_->candidates(mask, first, most); }));
  }
  std::pair<std::int64_t, std::int64_t> span(std::uint32_t query_vertex) const {
    return part_->span(query_vertex);
  }

  void begin_rows(const std::vector<PyKey>& keys,
                  const std::vector<std::pair<std::int64_t, std::int64_t>>& spans, std::uint64_t nbytes,
                  std::uint64_t most) {
    std::vector<graph::IdSpan> made;
    for (const auto& [first, last] : spans) made.push_back({first, last});
    unlocked([&] { part_->begin_rows(as_keys(keys), made, nbytes, most); });
  }
  std::size_t size() const { return part_->size(); }
  nb::object vertices() const {
    return to_numpy(unlocked([&] { return part_->vertices(); }));
  }
  nb::tuple slices(std::int64_t first, std::size_t most) const {
    graph::RowSlices made = unlocked([&] { return part_->slices(first, most); });
    return nb::make_tuple(to_numpy(std::move(made.ids)), to_numpy(std::move(made.least)),
                          to_numpy(std::move(made.most)));
  }
  bool append(const PyPiece& given) {
    const graph::RowPiece piece = as_piece(given);
    return unlocked([&] { return part_->append(piece); });
  }
  std::optional<nb::list> take_rows(std::uint64_t beside) {
    std::optional<std::vector<graph::PartRows>> made = unlocked([&] { return part_->take_rows(beside); });
    if (!made) return std::nullopt;
    nb::list rows;
    for (graph::PartRows& one : *made) {
      const std::size_t offsets = one.offsets.size(), entries = one.neighbors.size();
      rows.append(nb::make_tuple(to_numpy(std::move(one.offsets), offsets),
                                 to_numpy(std::move(one.neighbors), entries)));
    }
    return rows;
  }
  void begin_weights(const std::vector<PyKey>& arcs, std::vector<std::vector<std::int64_t>> bounds) {
    unlocked([&] { part_->begin_weights(as_keys(arcs), std::move(bounds)); });
  }
  void weigh(const PyPiece& given) {
    const graph::RowPiece piece = as_piece(given);
    unlocked([&] { part_->weigh(piece); });
  }
  graph::PartWeights take_weights() { return part_->take_weights(); }
  std::size_t position(std::int64_t id) const { return part_->position(id); }
  std::size_t bytes_of_64() const { return part_->bytes_of_64(); }

 private:
  std::unique_ptr<graph::Part> part_;
};

// The first bucket of each query vertex and that behind the last, for each box; and about how many parts
// each takes.
nb::tuple divide(const graph::PartWeights& weights, std::vector<std::uint32_t> arcs,
                 std::vector<std::uint32_t> needed, std::vector<std::pair<std::uint32_t, std::uint32_t>> less,
                 std::vector<std::vector<std::uint32_t>> sources, std::uint32_t divisible, double beside,
                 double room, std::size_t most) {
  const graph::PartCosts costs{
      std::move(arcs), std::move(needed), std::move(less), std::move(sources), divisible, beside, room, most};
  graph::PartBoxes made = unlocked([&] { return divide_part(weights, costs); });
  const std::size_t boxes = made.parts.size();
  return nb::make_tuple(to_numpy(std::move(made.buckets), boxes, weights.bounds.size(), 2),
                        to_numpy(std::move(made.parts)));
}

}  // namespace

void bind_part(nb::module_& module) {
  module.def("slice_rows", &slice_rows, nb::arg("offsets"), nb::arg("neighbors"), nb::arg("first"),
             nb::arg("ids"), nb::arg("least"), nb::arg("most"));
  module.def("first_slices", &first_slices, nb::arg("offsets"), nb::arg("neighbors"), nb::arg("first"),
             nb::arg("ids"), nb::arg("least"), nb::arg("most"), nb::arg("entries"), nb::arg("skip"));
  module.def("take_entries", &take_entries, nb::arg("values"), nb::arg("begins"), nb::arg("ends"));
  nb::class_<graph::PartWeights>(module, "PartWeights")
      .def("divide", &divide, nb::kw_only(), nb::arg("arcs"), nb::arg("needed"), nb::arg("less"),
           nb::arg("sources"), nb::arg("divisible"), nb::arg("beside"), nb::arg("room"), nb::arg("most"));
  nb::class_<PyPart>(module, "Part")
      .def(nb::init<std::size_t, std::size_t>(), nb::arg("vertices"), nb::arg("query_vertices"))
      .def("clear", &PyPart::clear)
      .def("add_range", &PyPart::add_range, nb::arg("query_vertex"), nb::arg("first"), nb::arg("last"))
      .def("add", &PyPart::add, nb::arg("query_vertex"), nb::arg("ids"))
      .def("lead", &PyPart::lead, nb::arg("source"), nb::arg("piece"), nb::arg("leads"))
      .def("take_marked", &PyPart::take_marked, nb::arg("fresh"), nb::arg("known"))
      .def("keep_only", &PyPart::keep_only, nb::arg("query_vertex"), nb::arg("bits"))
      .def("candidates", &PyPart::candidates, nb::arg("mask"), nb::arg("first"), nb::arg("most"))
      .def("span", &PyPart::span, nb::arg("query_vertex"))
      .def("begin_rows", &PyPart::begin_rows, nb::arg("keys"), nb::arg("spans"), nb::arg("nbytes"),
           nb::arg("most"))
      .def("size", &PyPart::size)
      .def("vertices", &PyPart::vertices)
      .def("slices", &PyPart::slices, nb::arg("first"), nb::arg("most"))
      .def("append", &PyPart::append, nb::arg("piece"))
      .def("take_rows", &PyPart::take_rows, nb::arg("beside"))
      .def("begin_weights", &PyPart::begin_weights, nb::arg("arcs"), nb::arg("bounds"))
      .def("weigh", &PyPart::weigh, nb::arg("piece"))
      .def("take_weights", &PyPart::take_weights)
      .def("position", &PyPart::position, nb::arg("vertex"))
      .def("bytes_of_64", &PyPart::bytes_of_64);
}

}  // namespace motiflux
