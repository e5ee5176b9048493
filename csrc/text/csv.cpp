#include "text/csv.hpp"

#include <charconv>

namespace motiflux::text {

std::string format_csv(const std::int64_t* values, std::size_t rows, std::size_t columns) {
  constexpr std::size_t kLongest = 21;  // sign, 19 digits, separator
  std::string text;
  std::string line(columns * kLongest + 1, '\0');
  for (std::size_t row = 0; row < rows; ++row) {
    char* at = line.data();
    for (std::size_t column = 0; column < columns; ++column) {
      if (column != 0) *at++ = ',';
      at = std::to_chars(at, at + kLongest, *values++).ptr;
    }
    *at++ = '\n';
    text.append(line.data(), static_cast<std::size_t>(at - line.data()));
  }
  return text;
}

}  // namespace motiflux::text
