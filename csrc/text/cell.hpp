// Strings as cells of delimited text and as JSON.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "text/parse.hpp"

namespace motiflux::text {

// Readers refuse or drop blanks around a name.
inline bool needs_quotes(std::string_view cell, char separator) {
  return cell.empty() || is_blank(cell.front()) || is_blank(cell.back()) ||
         std::any_of(cell.begin(), cell.end(),
                     [&](char c) { return c == separator || c == '"' || c == '\n' || c == '\r'; });
}

// Appends a cell, in quotes where delimited text needs them.
template <class Text>
void append_cell(Text& text, std::string_view cell, char separator) {
  const bool quotes = needs_quotes(cell, separator);
  if (quotes) text.push_back('"');
  for (const char c : cell) {
    if (c == '"') text.push_back('"');
    text.push_back(static_cast<typename Text::value_type>(c));
  }
  if (quotes) text.push_back('"');
}

// Appends a string, which must be UTF-8.
inline void append_json(std::string& text, std::string_view string) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  constexpr std::string_view kDigits = "0123456789abcdef";
  text += '"';
  for (const char c : string) {
    const auto byte = static_cast<unsigned char>(c);
    if (const std::size_t at = kEscaped.find(c); at != std::string_view::npos) {
      text += '\\';
      text += kLetters[at];
    } else if (byte < 0x20) {
      text += "\\u00";
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    } else {
      text += c;
    }
  }
  text += '"';
}

}  // namespace motiflux::text
