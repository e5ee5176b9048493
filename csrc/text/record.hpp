// Records of fields in text: lines, except that line ends in quotes do not end a record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/number.hpp"
#include "text/parse.hpp"

namespace motiflux::text {

// The format of records. Empty lines are no records.
struct Layout {
  static constexpr char kBlanks = ' ';

  char separator = ',';   // kBlanks: fields are separated by runs of blanks and tabs
  bool quotes = true;     // fields may be in quotes, as in RFC 4180; else a quote is a plain character
  bool comments = false;  // lines that start with '#' or '%', after blanks, are no records
  bool trims = false;     // blanks around an unquoted field are not part of it
};

// The part of a record in which a text begins or ends.
enum class Within : std::uint8_t { kStart, kFields, kQuotes, kComment };

// The end of the first complete record of `text`, or of the last; 0 if there is none. `begins`: the state in
// which the text begins, by default a record's start.
std::size_t first_record_end(std::string_view text, const Layout& layout, Within begins = Within::kStart);
std::size_t last_record_end(std::string_view text, const Layout& layout);

// The state in which the text ends.
Within end_of(std::string_view text, const Layout& layout, Within begins = Within::kStart);

// The first record of a file that begins with `text`. Nothing while it is incomplete; `at_end`: no more text
// will come.
struct Record {
  std::size_t begin;           // start in the text
  std::size_t end;             // start of the next record
  std::int64_t lines_before;   // lines before `begin`
  std::int64_t lines_through;  // lines before `end`
  std::vector<std::string> fields;
};
std::optional<Record> first_record(std::string_view text, const Layout& layout, bool at_end);

[[noreturn]] inline void fail_quote(std::int64_t line, const std::string& found) {
  throw ParseError(line, "found " + found);
}

inline void check_record(std::size_t bytes, std::int64_t line) {
  if (bytes <= kMaxLineBytes) return;
  throw ParseError(line, "found a line of more than " + std::to_string(kMaxLineBytes) +
                             " bytes, expected text with short lines");
}

// Reads a quoted field from `at`, after the opening quote, to behind the closing quote. `held` receives the
// text if it has doubled quotes.
inline std::string_view read_quoted(const char*& at, const char* end, std::int64_t first_line,
                                    std::int64_t& line, std::string& unquoted) {
  const char* begin = at;
  unquoted.clear();
  bool doubled = false;
  for (;;) {
    const void* const hit = std::memchr(at, '"', static_cast<std::size_t>(end - at));
    if (hit == nullptr) fail_quote(first_line, "a quote that is not closed, expected its end");
    const char* const quote = static_cast<const char*>(hit);
    for (const char* c = at; c != quote; ++c) line += *c == '\n';
    at = quote + 1;
    if (at == end || *at != '"') {
      const std::string_view rest(begin, static_cast<std::size_t>(quote - begin));
      if (!doubled) return rest;
      unquoted.append(rest);
      return unquoted;
    }
    doubled = true;
    unquoted.append(begin, static_cast<std::size_t>(at - begin));
    begin = ++at;
  }
}

// Calls on_field(position, field, quoted) for the fields of the record that begins at `at`, moves `at` past
// its end, and counts its lines. Returns the number of fields: 0 for an empty line or a comment.
template <class OnField>
std::size_t split_delimited(const char*& at, const char* end, const Layout& layout, std::int64_t& line,
                            std::string& unquoted, OnField&& on_field) {
  const std::int64_t first_line = line + 1;
  const char separator = layout.separator;
  const char quote = layout.quotes ? '"' : '\n';  // '\n': no character is a quote
  for (std::size_t position = 0;; ++position) {
    if (layout.trims)
      while (at != end && is_blank(*at) && *at != separator) ++at;
    if (position == 0 && layout.comments && at != end && (*at == '#' || *at == '%')) {
      const void* const hit = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
      at = hit == nullptr ? end : static_cast<const char*>(hit) + 1;
      ++line;
      return 0;
    }
    if (at != end && *at == '"' && layout.quotes) {
      ++at;
      on_field(position, read_quoted(at, end, first_line, line, unquoted), true);
      if (layout.trims)
        while (at != end && is_blank(*at) && *at != separator) ++at;
      if (at != end && *at == '\r' && (at + 1 == end || at[1] == '\n')) ++at;
      if (at != end && *at != separator && *at != '\n') {
        fail(line + 1, "field " + std::to_string(position + 1), std::string_view(at, 1),
             "the end of the field after a closing quote");
      }
    } else {
      const char* const begin = at;
      while (at != end && *at != separator && *at != '\n' && *at != quote) ++at;
      if (at != end && *at == '"' && layout.quotes) {
        fail(line + 1, "field " + std::to_string(position + 1),
             std::string_view(begin, static_cast<std::size_t>(at + 1 - begin)),
             "a field in quotes, with each quote in it doubled");
      }
      std::string_view field(begin, static_cast<std::size_t>(at - begin));
      const bool last = at == end || *at == '\n';
      if (last && field.ends_with('\r')) field.remove_suffix(1);
      if (layout.trims) field = trimmed(field);
      if (last && position == 0 && field.empty()) {
        at += at != end;
        ++line;
        return 0;
      }
      on_field(position, field, false);
    }
    if (at == end || *at == '\n') {
      at += at != end;
      ++line;
      return position + 1;
    }
    ++at;
  }
}

// The same for fields separated by blanks.
template <class OnField>
std::size_t split_at_blanks(const char*& at, const char* end, const Layout& layout, std::int64_t& line,
                            OnField&& on_field) {
  std::size_t count = 0;
  for (;;) {
    while (at != end && is_blank(*at)) ++at;
    const char* const begin = at;
    while (at != end && !is_blank(*at) && *at != '\n') ++at;
    std::string_view field(begin, static_cast<std::size_t>(at - begin));
    const bool last = at == end || *at == '\n';
    if (last && field.ends_with('\r')) field.remove_suffix(1);
    if (count == 0 && layout.comments && (field.starts_with('#') || field.starts_with('%'))) {
      const void* const hit = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
      at = hit == nullptr ? end : static_cast<const char*>(hit) + 1;
      ++line;
      return 0;
    }
    if (!field.empty()) on_field(count++, field, false);
    if (last) {
      at += at != end;
      ++line;
      return count;
    }
  }
}

template <class OnField>
std::size_t split_record(const char*& at, const char* end, const Layout& layout, std::int64_t& line,
                         std::string& unquoted, OnField&& on_field) {
  if (layout.separator == Layout::kBlanks) return split_at_blanks(at, end, layout, line, on_field);
  return split_delimited(at, end, layout, line, unquoted, on_field);
}

}  // namespace motiflux::text
