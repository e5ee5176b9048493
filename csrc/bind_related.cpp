// Bindings of counts of pairs of rows that a comparison joins (csrc/copies/related.hpp).
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "bind_checks.hpp"
#include "bind_copies.hpp"
#include "bindings.hpp"
#include "common/free_gil.hpp"
#include "copies/related.hpp"
#include "python_int.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using PyRows = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using PyValues = InputArray<std::int64_t>;

copies::ValuedRows as_rows(const PyRows& rows, const PyValues& values) {
  require(rows.shape(0) == values.size(), "one value for each row expected");
  return {{rows.data(), rows.size()}, rows.shape(1), as_span(values)};
}

copies::Comparison checked_relation(const PyComparison& comparison) {
  const std::vector<const std::int64_t*> column{nullptr};
  return checked_comparison(comparison, {{false, column}, {false, column}});
}

class PyRelatedRows {
 public:
  PyRelatedRows(const PyComparison& comparison, bool left, PyRows rows, PyValues values)
      : rows_(std::move(rows)),
        values_(std::move(values)),
        related_(checked_relation(comparison), left, as_rows(rows_, values_)) {}

  nb::object count(const PyRows& others, const PyValues& values,
                   const std::vector<std::tuple<std::size_t, std::size_t>>& same) {
    const copies::ValuedRows given = as_rows(others, values);
    std::vector<copies::SameCell> cells;
    for (const auto& [other, held] : same) {
      require(other < others.shape(1) && held < rows_.shape(1), "no such column");
      cells.push_back({other, held});
    }
    Total total = 0;
    {
      const FreeGil free_gil;
      total = related_.count(given, cells);
    }
    return to_python(Wide(total));
  }

 private:
  PyRows rows_;
  PyValues values_;
  copies::RelatedRows related_;
};

}  // namespace

void bind_related(nb::module_& module) {
  nb::class_<PyRelatedRows>(module, "RelatedRows")
      .def(nb::init<const PyComparison&, bool, PyRows, PyValues>(), "comparison"_a, "left"_a, "rows"_a,
           "values"_a)
      .def("count", &PyRelatedRows::count, "others"_a, "values"_a, "same"_a);
}

}  // namespace motiflux
