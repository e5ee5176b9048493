#include "text/format.hpp"

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "text/cell.hpp"

namespace motiflux::text {
namespace {

constexpr std::size_t kLongest = 32;  // characters of a number

// One cell, appended to the text.
class Writer {
 public:
  explicit Writer(std::string& text) : text_(text) {}

  template <class Integer>
  void number(Integer value) {
    char buffer[kLongest];
    text_.append(buffer,
                 static_cast<std::size_t>(std::to_chars(buffer, buffer + kLongest, value).ptr - buffer));
  }

  template <class Float>
  void real(Float value) {
    if (std::isnan(value)) return;
    char buffer[kLongest];
    const char* end = std::to_chars(buffer, buffer + kLongest, value).ptr;
    const std::string_view digits(buffer, static_cast<std::size_t>(end - buffer));
    text_ += digits;
    if (digits.find_first_not_of("-0123456789") == digits.npos) text_ += ".0";
  }

 private:
  std::string& text_;
};

struct CellWriter {
  const Cells& column;
  std::size_t row;
  std::string& text;

  void operator()(std::span<const std::int64_t> values) const { Writer(text).number(values[row]); }
  void operator()(std::span<const std::uint64_t> values) const { Writer(text).number(values[row]); }
  void operator()(std::span<const float> values) const { Writer(text).real(values[row]); }
  void operator()(std::span<const double> values) const { Writer(text).real(values[row]); }
  void operator()(std::span<const std::uint8_t> values) const { text += values[row] ? "true" : "false"; }
  void operator()(std::span<const std::uint32_t> codes) const {
    const std::size_t code = codes[row];
    if (code + 1 >= column.offsets.size()) throw std::out_of_range("a code without a string");
    const auto first = static_cast<std::size_t>(column.offsets[code]);
    const auto end = static_cast<std::size_t>(column.offsets[code + 1]);
    text.append(reinterpret_cast<const char*>(column.text.data()) + first, end - first);
  }
};

}  // namespace

std::string format_table(std::span<const Cells> columns, std::size_t rows, std::string_view prefix,
                         char separator) {
  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    text += prefix;
    for (std::size_t at = 0; at < columns.size(); ++at) {
      const Cells& column = columns[at];
      if (at != 0) text += separator;
      if (!column.missing.empty() && column.missing[row]) continue;
      std::visit(CellWriter{column, row, text}, column.values);
    }
    text += '\n';
  }
  return text;
}

QuotedStrings quoted(std::span<const std::uint8_t> text, std::span<const std::int64_t> offsets,
                     char separator) {
  QuotedStrings result;
  result.text.reserve(text.size());
  result.offsets.reserve(offsets.size());
  result.offsets.push_back(0);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto* const first = reinterpret_cast<const char*>(text.data()) + offsets[i];
    append_cell(result.text, {first, static_cast<std::size_t>(offsets[i + 1] - offsets[i])}, separator);
    result.offsets.push_back(static_cast<std::int64_t>(result.text.size()));
  }
  return result;
}

}  // namespace motiflux::text
