// Tables as delimited text, some rows at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace motiflux::text {

// One column: numbers, booleans (a byte each), or codes of strings; if `missing` is set, an empty cell.
struct Cells {
  std::variant<std::span<const std::int64_t>, std::span<const std::uint64_t>, std::span<const float>,
               std::span<const double>, std::span<const std::uint8_t>, std::span<const std::uint32_t>>
      values;
  std::span<const std::uint8_t> missing;  // empty: none
  std::span<const std::uint8_t> text;     // of strings, as written to the output
  std::span<const std::int64_t> offsets;  // string i is text[offsets[i], offsets[i + 1])
};

struct QuotedStrings {
  std::vector<std::uint8_t> text;
  std::vector<std::int64_t> offsets;
};

// A line `prefix value separator value ...` for each row. Floats are always recognisable as floats; NaN is an
// empty cell. Throws std::out_of_range for a code without a string.
std::string format_table(std::span<const Cells> columns, std::size_t rows, std::string_view prefix,
                         char separator);

// The strings, in quotes where delimited text needs them: with separators, quotes or line ends, or empty.
QuotedStrings quoted(std::span<const std::uint8_t> text, std::span<const std::int64_t> offsets,
                     char separator);

}  // namespace motiflux::text
