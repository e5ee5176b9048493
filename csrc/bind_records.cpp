// Bindings of the records of a service. All calls are short and keep the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind_checks.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "records/columns.hpp"
#include "records/json_lines.hpp"
#include "text/utf8.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace motiflux {
namespace {

using records::Column;
using records::Kind;
using records::LineReader;
using records::Records;

constexpr std::size_t kTimePlace = 4;  // of the time in the list that stands for a record

std::vector<Kind> kinds_of(const std::vector<int>& numbers) {
  std::vector<Kind> kinds;
  for (const int number : numbers) {
    require(number >= 0 && number <= static_cast<int>(Kind::kTruth), "no such kind");
    kinds.push_back(static_cast<Kind>(number));
  }
  require(kinds.empty() || kinds.size() >= Records::kAttributes, "a kind for each part expected");
  return kinds;
}

nb::object value_of(const Column& column, std::size_t row) {
  if (!column.has(row)) return nb::none();
  switch (column.kind()) {
    case Kind::kText: {
      const std::string_view text = column.text(row);
      return nb::str(text.data(), text.size());
    }
    case Kind::kFloat:
      return nb::float_(column.floats()[row]);
    case Kind::kTruth:
      return nb::bool_(column.integers()[row] != 0);
    default:
      return nb::int_(column.integers()[row]);
  }
}

nb::list record_of(const Records& records, std::size_t row) {
  if (row >= records.size()) throw nb::index_error();
  nb::list made;
  made.append(int{records.inserts()[row]});
  for (const Column& column : records.columns()) {
    if (made.size() == kTimePlace) made.append(value_of(records.times(), row));
    made.append(value_of(column, row));
  }
  return made;
}

nb::iterator iterated(const Records& records) {
  nb::list all;
  for (std::size_t row = 0; row < records.size(); ++row) all.append(record_of(records, row));
  return nb::iter(all);
}

void add_value(Column& column, nb::handle value) {
  if (value.is_none() || column.kind() == Kind::kNone)
    column.add_missing();
  else if (column.kind() == Kind::kText)
    column.add(std::string_view(nb::cast<std::string>(value)));
  else if (column.kind() == Kind::kFloat)
    column.add(nb::cast<double>(value));
  else if (column.kind() == Kind::kTruth)
    column.add(std::int64_t{nb::cast<bool>(value)});
  else
    column.add(nb::cast<std::int64_t>(value));
}

void append(Records& records, const nb::list& record) {
  const std::size_t before = records.size();
  require(record.size() == records.columns().size() + 2, "a value for each part expected");
  try {
    records.begin_row(nb::cast<int>(record[0]) != 0);
    add_value(records.times(), record[kTimePlace]);
    for (std::size_t place = 0; place < records.columns().size(); ++place)
      add_value(records.columns()[place], record[place + (place < kTimePlace - 1 ? 1 : 2)]);
  } catch (...) {
    records.keep(before);
    throw;
  }
}

void extend(Records& records, const Records& other, std::size_t first, std::size_t end) {
  require(first <= end && end <= other.size() && &records != &other, "rows of other records expected");
  require(records.columns().empty() || other.columns().empty() ||
              std::equal(records.columns().begin(), records.columns().end(), other.columns().begin(),
                         other.columns().end(),
                         [](const Column& a, const Column& b) { return a.kind() == b.kind(); }),
          "records with the same columns expected");
  records.extend(other, first, end);
}

Records part(const Records& records, std::size_t first, std::size_t end) {
  Records made;
  extend(made, records, first, end);
  return made;
}

Records take(const Records& records, const InputArray<std::int64_t>& rows) {
  Records made;
  for (const std::int64_t row : as_span(rows)) {
    require(row >= 0, "rows expected");
    extend(made, records, static_cast<std::size_t>(row), static_cast<std::size_t>(row) + 1);
  }
  return made;
}

template <class T>
nb::object copied(std::span<const T> values) {
  return to_numpy(std::vector<T>(values.begin(), values.end()));
}

void set_times(Records& records, const InputArray<std::int64_t>& times) {
  require(times.size() == records.size(), "a time for each record expected");
  records.times().fill(0);
  std::copy(times.data(), times.data() + times.size(), records.times().integers().begin());
}

const Column& column_of(const Records& records, std::size_t place) {
  require(place < records.columns().size() && records.columns()[place].kind() != Kind::kNone,
          "a column with values expected");
  return records.columns()[place];
}

// Characters [rows, longest], 0 behind the end of a text, as arrays of NumPy have them.
nb::object characters_of(const Column& column) {
  const std::size_t rows = column.present().size();
  std::size_t longest = 1;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string_view text = column.text(row);
    if (text.size() <= longest) continue;
    const auto count = std::count_if(text.begin(), text.end(),
                                     [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    longest = std::max(longest, static_cast<std::size_t>(count));
  }
  std::vector<std::uint32_t> found(rows * longest);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string_view text = column.text(row);
    std::uint32_t* character = found.data() + row * longest;
    for (std::size_t at = 0; at < text.size();) *character++ = text::next_character(text, at);
  }
  return to_numpy(std::move(found), rows, longest);
}

nb::object values(const Records& records, std::size_t place) {
  const Column& column = column_of(records, place);
  if (column.kind() == Kind::kText) return characters_of(column);
  if (column.kind() == Kind::kFloat) return copied(column.floats());
  return copied(column.integers());
}

// The values of a column, None where they are missing.
nb::list listed(const Records& records, std::size_t place) {
  const Column& column = column_of(records, place);
  nb::list made;
  for (std::size_t row = 0; row < records.size(); ++row) made.append(value_of(column, row));
  return made;
}

// Ends of parts of which no ids or labels have more than `most` characters in an array of NumPy, where each
// text has the length of the longest. A part has one record at least; bytes count as characters.
std::vector<std::size_t> ends(const Records& records, std::size_t most) {
  std::vector<const Column*> texts;
  for (std::size_t place = 0; place < std::min<std::size_t>(Records::kAttributes, records.columns().size());
       ++place)
    if (records.columns()[place].kind() == Kind::kText) texts.push_back(&records.columns()[place]);
  std::vector<std::size_t> found;
  std::size_t begin = 0;
  std::size_t longest = 1;
  for (std::size_t row = 0; row < records.size(); ++row) {
    std::size_t here = 1;
    for (const Column* column : texts) here = std::max(here, column->text(row).size());
    longest = std::max(longest, here);
    if (row > begin && (row + 1 - begin) * longest > most) {
      found.push_back(row);
      begin = row;
      longest = here;
    }
  }
  if (records.size() != 0) found.push_back(records.size());
  return found;
}

nb::bytes encode(const Records& records) {
  std::string text = "[";
  for (std::size_t row = 0; row < records.size(); ++row) {
    if (row != 0) text += ',';
    records.append_json(text, row);
  }
  text += ']';
  return nb::bytes(text.data(), text.size());
}

nb::tuple read(LineReader& reader, Records& records, nb::bytes data, std::size_t begin, std::size_t lines) {
  require(records.columns().size() == reader.kinds().size(), "records with the reader's columns expected");
  const std::size_t end = reader.read(records, std::string_view(data.c_str(), data.size()), begin, lines);
  return nb::make_tuple(end, lines);
}

}  // namespace

void bind_records(nb::module_& m) {
  nb::class_<Records>(m, "Records")
      .def(
          "__init__",
          [](Records* made, const std::vector<int>& kinds) { new (made) Records(kinds_of(kinds)); },
          "kinds"_a)
      .def("__len__", &Records::size)
      .def("__getitem__", &record_of, "row"_a)
      .def("__iter__", &iterated)
      .def("append", &append, "record"_a)
      .def("extend", &extend, "other"_a, "first"_a, "end"_a)
      .def("part", &part, "first"_a, "end"_a)
      .def("take", &take, "rows"_a)
      .def("inserts", [](const Records& records) { return copied(records.inserts()); })
      .def("times", [](const Records& records) { return copied(std::as_const(records.times()).integers()); })
      .def("set_times", &set_times, "times"_a)
      .def(
          "fill_times", [](Records& records, std::int64_t time) { records.times().fill(time); }, "time"_a)
      .def(
          "times_ascend",
          [](const Records& records, std::int64_t from, std::int64_t to) {
            return records.times().ascends(from, to);
          },
          "from_"_a, "to"_a)
      .def(
          "present",
          [](const Records& records, std::size_t place) {
            return copied(column_of(records, place).present());
          },
          "place"_a)
      .def("values", &values, "place"_a)
      .def("listed", &listed, "place"_a)
      .def("ends", &ends, "most"_a)
      .def("encode", &encode);
  nb::class_<LineReader>(m, "RecordLines")
      .def(
          "__init__",
          [](LineReader* made, const std::vector<int>& kinds, std::string op, std::string time,
             std::vector<std::string> names, std::vector<std::string> inserting,
             std::vector<std::string> deleting, std::int64_t unit, bool needs_time, std::size_t longest_line,
             std::size_t longest_text) {
            require(names.size() == kinds.size(), "a name for each column expected");
            new (made) LineReader({kinds_of(kinds), std::move(op), std::move(time), std::move(names),
                                   std::move(inserting), std::move(deleting), unit, needs_time, longest_line,
                                   longest_text});
          },
          "kinds"_a, "op"_a, "time"_a, "names"_a, "inserting"_a, "deleting"_a, "unit"_a, "needs_time"_a,
          "longest_line"_a, "longest_text"_a)
      .def("read", &read, "records"_a, "data"_a, "begin"_a, "lines"_a);
}

}  // namespace motiflux
