// Lines, fields and integers of text formats, read from byte buffers: no locale, no streams, no copies except
// of lines that span two chunks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace motiflux::text {

// The contents of a file violate its format. The message has the text found and the text expected.
struct ParseError : std::runtime_error {
  ParseError(std::int64_t at_line, const std::string& message) : std::runtime_error(message), line(at_line) {}

  std::int64_t line;  // 1-based
};

// Longer lines are refused, so that a binary file without line ends is not collected in memory.
inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

// Fields of one line. `count` is the number found; only the first kStored of them are kept.
struct Fields {
  static constexpr std::size_t kStored = 4;

  std::array<std::string_view, kStored> token;
  std::size_t count = 0;
};

inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

inline Fields split_fields(std::string_view line) {
  Fields fields;
  const char* at = line.data();
  const char* const end = at + line.size();
  for (;;) {
    while (at != end && is_blank(*at)) ++at;
    if (at == end) return fields;
    const char* const begin = at;
    while (at != end && !is_blank(*at)) ++at;
    if (fields.count < Fields::kStored) {
      fields.token[fields.count] = std::string_view(begin, static_cast<std::size_t>(at - begin));
    }
    ++fields.count;
  }
}

// True for lines whose first field starts with '#' or '%'.
inline bool is_comment(const Fields& fields) {
  return fields.count > 0 && (fields.token[0].front() == '#' || fields.token[0].front() == '%');
}

// A decimal integer 0..2^63-1 of digits alone; anything else, an overflow included, is nullopt.
inline std::optional<std::int64_t> parse_integer(std::string_view token) {
  constexpr std::size_t kDigitsThatFit = 18;
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (token.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const unsigned digit = static_cast<unsigned char>(token[i]) - unsigned{'0'};
    if (digit > 9) return std::nullopt;
    if (i >= kDigitsThatFit && value > (kMax - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return static_cast<std::int64_t>(value);
}

// A token for error messages: quoted, truncated, bytes outside printable ASCII as \xNN.
inline std::string quoted(std::string_view token) {
  constexpr std::size_t kShown = 40;
  constexpr char kHex[] = "0123456789abcdef";
  std::string text = "'";
  for (const char c : token.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return text + (token.size() > kShown ? "...'" : "'");
}

[[noreturn]] inline void fail(std::int64_t line, const std::string& what, std::string_view found,
                              const std::string& expected) {
  throw ParseError(line, what + ": found " + quoted(found) + ", expected " + expected);
}

inline std::int64_t parse_id(std::int64_t line, const char* what, std::string_view token) {
  const auto value = parse_integer(token);
  if (!value) fail(line, what, token, "an integer from 0 to 9223372036854775807");
  return *value;
}

// Cuts chunks of any size into lines: "\n" and "\r\n" end a line, the last line may lack its end, a UTF-8
// byte order mark at the start is skipped.
class LineSplitter {
 public:
  // 1-based number of the line being delivered, or of the last one delivered.
  std::int64_t line() const { return line_; }

  // Calls on_line(std::string_view) for each line that ends in this chunk.
  template <typename OnLine>
  void feed(std::string_view chunk, OnLine&& on_line) {
    while (!chunk.empty()) {
      const void* const hit = std::memchr(chunk.data(), '\n', chunk.size());
      if (hit == nullptr) return hold(chunk);
      const auto length = static_cast<std::size_t>(static_cast<const char*>(hit) - chunk.data());
      if (carry_.empty()) {
        deliver(chunk.substr(0, length), on_line);
      } else {
        hold(chunk.substr(0, length));
        deliver_carry(on_line);
      }
      chunk.remove_prefix(length + 1);
    }
  }

  // Delivers a last line that has no end.
  template <typename OnLine>
  void finish(OnLine&& on_line) {
    if (!carry_.empty()) deliver_carry(on_line);
  }

 private:
  void hold(std::string_view part) {
    check_length(carry_.size() + part.size());
    carry_.append(part);
  }

  void check_length(std::size_t bytes) const {
    if (bytes <= kMaxLineBytes) return;
    throw ParseError(line_ + 1, "found a line of more than " + std::to_string(kMaxLineBytes) +
                                    " bytes, expected text with short lines");
  }

  template <typename OnLine>
  void deliver_carry(OnLine&& on_line) {
    const std::string whole = std::exchange(carry_, {});
    deliver(whole, on_line);
  }

  template <typename OnLine>
  void deliver(std::string_view line, OnLine&& on_line) {
    check_length(line.size());
    ++line_;
    if (line_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    if (line.ends_with('\r')) line.remove_suffix(1);
    on_line(line);
  }

  std::string carry_;
  std::int64_t line_ = 0;
};

}  // namespace motiflux::text
