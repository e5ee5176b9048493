// Bindings that turn blocks of matches into columns, and tables into text. The GIL is free meanwhile.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "common/watched.hpp"
#include "rows/extends.hpp"
#include "rows/gather.hpp"
#include "rows/images.hpp"
#include "rows/witness.hpp"
#include "text/format.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;

// Below this much work a watching thread costs more than the work.
constexpr std::size_t kInlineCells = 1 << 20;
constexpr std::size_t kCellsPerLook = 16;  // the cost of finding an edge

using PyBlock = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Mask = std::optional<InputArray<std::uint8_t>>;
using PyQueryEdge = std::tuple<std::size_t, std::size_t, bool, Mask, Mask>;

rows::Block as_block(const PyBlock& block) {
  return {{block.data(), block.size()}, block.shape(1)};
}

template <class Work>
void run_row_work(std::size_t cells, int threads, Work&& work) {
  if (cells < kInlineCells) {
    const FreeGil free_gil;
    work(Workers{1, nullptr});
    return;
  }
  run_interruptible([&](const std::atomic<bool>& stop) { work(Workers{threads, &stop}); });
}

nb::object gather_rows(const PyBlock& block, const InputArray<std::int64_t>& ids, int threads) {
  Unwritten<std::int64_t> out(block.size());
  run_row_work(block.size(), threads, [&](const Workers& workers) {
    rows::gather_rows(as_block(block), as_span(ids), out.data(), workers);
  });
  return to_numpy(std::move(out), block.shape(0), block.shape(1));
}

nb::object gather_columns(const PyBlock& block, const InputArray<std::int64_t>& ids, int threads) {
  Unwritten<std::int64_t> out(block.size());
  run_row_work(block.size(), threads, [&](const Workers& workers) {
    rows::gather_columns(as_block(block), as_span(ids), out.data(), workers);
  });
  return to_numpy(std::move(out), block.shape(1), block.shape(0));
}

void check_sources(const PyBlock& block, const PyBlock& sources) {
  if (sources.shape(1) != block.shape(1)) throw nb::value_error("images have as many columns as rows do");
  for (std::size_t cell = 0; cell < sources.size(); ++cell)
    if (sources.data()[cell] >= block.shape(1)) throw nb::value_error("no such column");
}

nb::object write_images(const PyBlock& block, const PyBlock& sources, int threads) {
  check_sources(block, sources);
  Unwritten<std::uint32_t> out(block.size() * sources.shape(0));
  run_row_work(out.size(), threads, [&](const Workers& workers) {
    rows::write_images(as_block(block), {sources.data(), sources.size()}, out.data(), workers);
  });
  return to_numpy(std::move(out), block.shape(0) * sources.shape(0), block.shape(1));
}

nb::object gather_images(const PyBlock& block, const PyBlock& sources, const InputArray<std::int64_t>& ids,
                         std::size_t first, std::size_t last, int threads) {
  const std::size_t columns = block.shape(1);
  check_sources(block, sources);
  if (columns == 0 || columns > rows::kMostColumns) throw nb::value_error("1 to 64 columns expected");
  if (first > last || last > block.shape(0) * sources.shape(0)) throw nb::value_error("no such images");
  Unwritten<std::int64_t> out((last - first) * columns);
  run_row_work(out.size(), threads, [&](const Workers& workers) {
    rows::gather_images(as_block(block), {{sources.data(), sources.size()}, first, last}, as_span(ids),
                        out.data(), workers);
  });
  return to_numpy(std::move(out), last - first, columns);
}

nb::object transpose(const PyBlock& block, int threads) {
  Unwritten<std::uint32_t> out(block.size());
  run_row_work(block.size(), threads,
               [&](const Workers& workers) { rows::transpose(as_block(block), out.data(), workers); });
  return to_numpy(std::move(out), block.shape(1), block.shape(0));
}

rows::EdgeRows checked_rows(const InputArray<std::uint64_t>& offsets,
                            const InputArray<std::uint32_t>& neighbors,
                            const std::optional<InputArray<std::uint32_t>>& labels) {
  if (offsets.size() == 0 || offsets.data()[offsets.size() - 1] != neighbors.size())
    throw nb::value_error("offsets do not end at the last neighbour");
  if (labels && labels->size() != neighbors.size()) throw nb::value_error("one label per arc expected");
  return {as_span(offsets), as_span(neighbors), as_span(labels), {}};
}

nb::object edge_shifts(const InputArray<std::uint64_t>& offsets, const InputArray<std::uint32_t>& neighbors,
                       int threads) {
  const rows::EdgeRows edges = checked_rows(offsets, neighbors, {});
  std::vector<std::uint64_t> shifts;
  run_row_work(offsets.size(), threads,
               [&](const Workers& workers) { shifts = rows::edge_shifts(edges, workers); });
  return to_numpy(std::move(shifts));
}

nb::object find_edges(const PyBlock& block, const InputArray<std::uint64_t>& offsets,
                      const InputArray<std::uint32_t>& neighbors,
                      const std::optional<InputArray<std::uint32_t>>& labels,
                      const std::optional<InputArray<std::uint64_t>>& shifts,
                      const std::vector<PyQueryEdge>& queries, int threads) {
  rows::EdgeRows edges = checked_rows(offsets, neighbors, labels);
  if (shifts && shifts->size() + 1 != offsets.size()) throw nb::value_error("one shift per row expected");
  edges.shifts = as_span(shifts);
  std::vector<rows::QueryEdge> plain;
  for (const auto& [source, target, either, of_labels, of_arcs] : queries) {
    if (source >= block.shape(1) || target >= block.shape(1)) throw nb::value_error("no such column");
    if (of_arcs && of_arcs->size() != neighbors.size()) throw nb::value_error("one byte per arc expected");
    plain.push_back({source, target, either, as_span(of_labels), as_span(of_arcs)});
  }
  std::vector<std::int64_t> out(queries.size() * block.shape(0));
  run_row_work(kCellsPerLook * out.size(), threads, [&](const Workers& workers) {
    rows::find_edges(as_block(block), edges, plain, out.data(), workers);
  });
  return to_numpy(std::move(out), queries.size(), block.shape(0));
}

using PyNeighbors = std::tuple<InputArray<std::uint64_t>, InputArray<std::uint32_t>>;
using PyApart = std::tuple<bool, std::size_t, PyNeighbors>;
using PyStep = std::tuple<PyNeighbors, Mask, std::vector<PyApart>>;

rows::Neighbors checked_neighbors(const PyNeighbors& given) {
  const auto& [offsets, targets] = given;
  checked_rows(offsets, targets, {});
  return {as_span(offsets), as_span(targets)};
}

rows::PathEnds checked_ends(const PyBlock& block, std::size_t start, std::optional<std::size_t> end,
                            std::vector<std::size_t> before, bool distinct) {
  const auto is_column = [&](std::size_t at) { return at < block.shape(1); };
  if (!is_column(start) || (end && !is_column(*end)) || !std::ranges::all_of(before, is_column))
    throw nb::value_error("no such column");
  return {start, end, std::move(before), distinct};
}

// The deadline after so many seconds, a year at most; none without.
rows::Deadline after(std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  const std::chrono::duration<double> left(std::min(*seconds, 3.2e7));
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(left);
}

nb::object mark_extended(const PyBlock& block, std::size_t start, std::optional<std::size_t> end,
                         std::vector<std::size_t> before, bool distinct, const std::vector<PyStep>& steps,
                         int threads, std::optional<double> timeout) {
  const rows::Deadline deadline = after(timeout);
  const rows::PathEnds ends = checked_ends(block, start, end, std::move(before), distinct);
  if (steps.empty()) throw nb::value_error("a path has an edge");
  std::vector<rows::PathStep> plain;
  for (const auto& [neighbors, reach, apart] : steps) {
    rows::PathStep step{checked_neighbors(neighbors), as_span(reach), {}};
    if (step.rows.offsets.size() != std::get<0>(std::get<0>(steps[0])).size() ||
        (reach && reach->size() + 1 != step.rows.offsets.size()))
      throw nb::value_error("rows of one graph expected");
    for (const auto& [of_path, at, of_apart] : apart) {
      if (at >= (of_path ? plain.size() + 1 : block.shape(1))) throw nb::value_error("no such vertex");
      step.apart.push_back({of_path, at, checked_neighbors(of_apart)});
      if (step.apart.back().rows.offsets.size() != step.rows.offsets.size())
        throw nb::value_error("rows of one graph expected");
    }
    plain.push_back(std::move(step));
  }
  std::vector<std::uint8_t> out(block.shape(0));
  bool is_whole = false;
  run_row_work(kCellsPerLook * kCellsPerLook * out.size(), threads, [&](const Workers& workers) {
    is_whole = rows::mark_extended(as_block(block), ends, plain, out.data(), workers, deadline);
  });
  return is_whole ? to_numpy(std::move(out)) : nb::none();
}

nb::object mark_listed(const PyBlock& block, std::size_t start, std::optional<std::size_t> end,
                       std::vector<std::size_t> before, bool distinct,
                       const InputArray<std::uint64_t>& offsets, const PyBlock& paths, int threads) {
  const rows::PathEnds ends = checked_ends(block, start, end, std::move(before), distinct);
  if (offsets.size() == 0 || offsets.data()[offsets.size() - 1] != paths.shape(0) || paths.shape(1) == 0 ||
      !std::is_sorted(offsets.data(), offsets.data() + offsets.size()))
    throw nb::value_error("offsets do not end at the last path");
  std::vector<std::uint8_t> out(block.shape(0));
  run_row_work(kCellsPerLook * out.size(), threads, [&](const Workers& workers) {
    rows::mark_extended(as_block(block), ends, as_span(offsets), {paths.data(), paths.size()}, paths.shape(1),
                        out.data(), workers);
  });
  return to_numpy(std::move(out));
}

using PyValues = std::variant<InputArray<std::int64_t>, InputArray<std::uint64_t>, InputArray<float>,
                              InputArray<double>, InputArray<std::uint8_t>, InputArray<std::uint32_t>>;
using PyCells = std::tuple<PyValues, Mask, std::optional<InputArray<std::uint8_t>>,
                           std::optional<InputArray<std::int64_t>>>;

nb::bytes format_table(const std::vector<PyCells>& columns, std::size_t rows, std::string_view prefix,
                       std::string_view separator) {
  if (separator.size() != 1) throw nb::value_error("one character expected to separate cells");
  std::vector<text::Cells> cells;
  for (const auto& [values, missing, strings, offsets] : columns) {
    text::Cells column{{}, as_span(missing), as_span(strings), as_span(offsets)};
    std::visit(
        [&](const auto& array) {
          if (array.size() != rows || (missing && missing->size() != rows))
            throw nb::value_error("columns of one length expected");
          column.values = as_span(array);
        },
        values);
    cells.push_back(column);
  }
  std::string formatted;
  {
    const FreeGil free_gil;
    formatted = text::format_table(cells, rows, prefix, separator[0]);
  }
  return nb::bytes(formatted.data(), formatted.size());
}

nb::tuple quote_strings(const InputArray<std::uint8_t>& text, const InputArray<std::int64_t>& offsets,
                        std::string_view separator) {
  if (separator.size() != 1) throw nb::value_error("one character expected to separate cells");
  const auto ends = as_span(offsets);
  if (ends.empty() || ends.front() != 0 || !std::is_sorted(ends.begin(), ends.end()) ||
      static_cast<std::uint64_t>(ends.back()) > text.size())
    throw nb::value_error("offsets within the text expected");
  text::QuotedStrings strings;
  {
    const FreeGil free_gil;
    strings = text::quoted(as_span(text), ends, separator[0]);
  }
  return nb::make_tuple(to_numpy(std::move(strings.text)), to_numpy(std::move(strings.offsets)));
}

}  // namespace

void bind_rows(nb::module_& module) {
  module.def("gather_rows", &gather_rows, nb::arg("block"), nb::arg("ids"), nb::arg("threads"));
  module.def("gather_columns", &gather_columns, nb::arg("block"), nb::arg("ids"), nb::arg("threads"));
  module.def("write_images", &write_images, nb::arg("block"), nb::arg("sources"), nb::arg("threads"));
  module.def("gather_images", &gather_images, nb::arg("block"), nb::arg("sources"), nb::arg("ids"),
             nb::arg("first"), nb::arg("last"), nb::arg("threads"));
  module.def("transpose", &transpose, nb::arg("block"), nb::arg("threads"));
  module.def("edge_shifts", &edge_shifts, nb::arg("offsets"), nb::arg("neighbors"), nb::arg("threads"));
  module.def("find_edges", &find_edges, nb::arg("block"), nb::arg("offsets"), nb::arg("neighbors"),
             nb::arg("labels").none(), nb::arg("shifts").none(), nb::arg("queries"), nb::arg("threads"));
  module.def("mark_extended", &mark_extended, nb::arg("block"), nb::arg("start"), nb::arg("end").none(),
             nb::arg("before"), nb::arg("distinct"), nb::arg("steps"), nb::arg("threads"),
             nb::arg("timeout") = nb::none());
  module.def("mark_listed", &mark_listed, nb::arg("block"), nb::arg("start"), nb::arg("end").none(),
             nb::arg("before"), nb::arg("distinct"), nb::arg("offsets"), nb::arg("paths"),
             nb::arg("threads"));
  module.def("format_table", &format_table, nb::arg("columns"), nb::arg("rows"), nb::arg("prefix"),
             nb::arg("separator"));
  module.def("quote_strings", &quote_strings, nb::arg("text"), nb::arg("offsets"), nb::arg("separator"));
}

}  // namespace motiflux
