// Bindings of the parser of tables and of its dictionaries of strings. The GIL is free while bytes are
// parsed; a parser belongs to one thread at a time.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bind_strings.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "common/parallel.hpp"
#include "common/watched.hpp"
#include "text/table.hpp"
#include "text/utf8.hpp"

namespace nb = nanobind;

namespace motiflux {
namespace {

std::string_view as_text(const InputArray<std::uint8_t>& text) {
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

// A column in Python's form: position, what, want, dictionary, strings, low, high.
using PySpec = std::tuple<std::size_t, std::string, int, std::size_t, bool, std::int64_t, std::int64_t>;

std::vector<text::ColumnSpec> as_specs(const std::vector<PySpec>& given, std::size_t width) {
  std::vector<text::ColumnSpec> specs;
  for (const auto& [position, what, want, dictionary, strings, low, high] : given) {
    if (position >= width) throw nb::value_error("a column beyond the last");
    if (dictionary >= given.size()) throw nb::value_error("more dictionaries than columns");
    specs.push_back({position, what, static_cast<text::Want>(want), dictionary, strings, low, high});
  }
  return specs;
}

constexpr std::size_t kFewRows = 1 << 18;  // up to this number, all work is short
constexpr std::size_t kFewStrings = 1 << 16;
constexpr std::size_t kAtOnce = 1 << 12;  // strings between two checks for a stop

// Runs work(stop), which throws Cancelled soon after `stop` becomes true; watched if it may take long.
template <class Work>
void run_stoppable(bool may_take_long, Work&& work) {
  if (!may_take_long) {
    const FreeGil free_gil;
    return work(nullptr);
  }
  run_interruptible([&](const std::atomic<bool>& stop) { work(&stop); });
}

void feed(text::TableParser& parser, nb::bytes chunk, std::size_t start, std::size_t end) {
  end = std::min(end, chunk.size());
  if (start > end) throw nb::value_error("the start lies beyond the end");
  const std::string_view bytes(chunk.c_str() + start, end - start);
  run_stoppable(parser.rows() > kFewRows, [&](const std::atomic<bool>* stop) { parser.feed(bytes, stop); });
}

nb::object column_to_python(text::ColumnBuilder& column, std::size_t dictionary) {
  nb::object values = nb::none();
  switch (column.kind()) {
    case text::Kind::kEmpty:
      return nb::make_tuple(column.rows(), nb::none(), nb::none());
    case text::Kind::kBoolean:
      for (std::uint8_t& truth : column.truths()) truth = truth % 2 == 0;
      values = hand_over(std::move(column.truths())).attr("view")("bool");
      break;
    case text::Kind::kInteger:
      values = column.is_wide() ? hand_over(std::move(column.wide())) : hand_over(std::move(column.narrow()));
      break;
    case text::Kind::kFloat:
      values = hand_over(std::move(column.floats()));
      break;
    case text::Kind::kString:
      values = hand_over(std::move(column.codes()));
      break;
  }
  nb::object missing = hand_over_or_none(std::move(column.absent()));
  if (!missing.is_none()) missing = missing.attr("view")("bool");
  const nb::object strings =
      column.kind() == text::Kind::kString ? nb::object(nb::int_(dictionary)) : nb::none();
  return nb::make_tuple(values, missing, strings);
}

nb::tuple finish(text::TableParser& parser) {
  text::Table table;
  run_stoppable(true, [&](const std::atomic<bool>* stop) { table = parser.finish(stop); });
  nb::list columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    columns.append(column_to_python(table.columns[i], parser.specs()[i].dictionary));
  nb::list dictionaries;
  for (text::Strings& strings : table.dictionaries) dictionaries.append(hand_over(std::move(strings)));
  return nb::make_tuple(table.rows, table.lines, columns, dictionaries, table.reread);
}

nb::object first_record(nb::bytes data, const text::Layout& layout, bool at_end) {
  const auto record = text::first_record(std::string_view(data.c_str(), data.size()), layout, at_end);
  if (!record) return nb::none();
  nb::list fields;
  for (const std::string& field : record->fields) fields.append(nb::bytes(field.data(), field.size()));
  return nb::make_tuple(record->begin, record->end, record->lines_before, record->lines_through, fields);
}

void check_offsets(const InputArray<std::uint8_t>& text, const InputArray<std::int64_t>& offsets) {
  if (offsets.size() == 0 || offsets(0) != 0) throw nb::value_error("offsets must begin with 0");
  for (std::size_t i = 1; i < offsets.size(); ++i)
    if (offsets(i) < offsets(i - 1)) throw nb::value_error("offsets must ascend");
  if (static_cast<std::size_t>(offsets(offsets.size() - 1)) > text.size())
    throw nb::value_error("offsets must end within the text");
}

// The characters of each string, padded with zeros: uint32 [strings, characters of the longest], or None if
// that takes more than `most` bytes.
nb::object characters(const InputArray<std::uint8_t>& text, const InputArray<std::int64_t>& offsets,
                      std::size_t most) {
  check_offsets(text, offsets);
  const std::size_t count = offsets.size() - 1;
  std::size_t width = 1;
  std::vector<std::uint32_t> table;
  run_stoppable(count > kFewStrings, [&](const std::atomic<bool>* stop) {
    const Workers workers{1, stop};
    const auto look = [&](std::size_t done) {
      if (done % kAtOnce == 0) workers.check();
    };
    const auto string = [&](std::size_t i) {
      return as_text(text).substr(offsets(i), offsets(i + 1) - offsets(i));
    };
    const auto each_character = [](std::string_view bytes, auto&& on_character) {
      std::size_t found = 0;
      for (std::size_t at = 0; at < bytes.size(); ++found) {
        const std::uint32_t character = text::next_character(bytes, at);
        if (character == text::kInvalid) throw nb::value_error("text that is not UTF-8");
        on_character(found, character);
      }
      return found;
    };
    for (std::size_t i = 0; i < count; ++i) {
      look(i);
      width = std::max(width, each_character(string(i), [](std::size_t, std::uint32_t) {}));
    }
    if (count * width * sizeof(std::uint32_t) > most) return;
    table.reserve(count * width);
    for (std::size_t i = 0; i < count; ++i) {
      look(i);
      table.resize((i + 1) * width);
      each_character(string(i), [&](std::size_t at, std::uint32_t c) { table[i * width + at] = c; });
    }
  });
  if (table.empty() && count != 0) return nb::none();
  return to_numpy(std::move(table), count, width);
}

}  // namespace

void bind_table(nb::module_& m) {
  nb::class_<text::Layout>(m, "Layout")
      .def(
          "__init__",
          [](text::Layout* layout, const std::string& separator, bool quotes, bool comments, bool trims) {
            if (separator.size() != 1) throw nb::value_error("a separator of one byte expected");
            new (layout) text::Layout{separator[0], quotes, comments, trims};
          },
          nb::arg("separator"), nb::arg("quotes"), nb::arg("comments"), nb::arg("trims"));

  nb::class_<text::TableParser>(m, "TableParser")
      .def(
          "__init__",
          [](text::TableParser* parser, const text::Layout& layout, std::size_t width,
             const std::string& width_reason, std::int64_t lines_before, const std::vector<PySpec>& columns,
             int threads) {
            new (parser) text::TableParser(layout, {width, width_reason, lines_before},
                                           as_specs(columns, width), threads);
          },
          nb::arg("layout"), nb::arg("width"), nb::arg("width_reason"), nb::arg("lines_before"),
          nb::arg("columns"), nb::arg("threads"))
      .def("feed", &feed, nb::arg("chunk"), nb::arg("start"), nb::arg("end"))
      .def("finish", &finish);

  m.def("first_record", &first_record, nb::arg("data"), nb::arg("layout"), nb::arg("at_end"));
  m.def("characters", &characters, nb::arg("text"), nb::arg("offsets"), nb::arg("most"));
}

}  // namespace motiflux
