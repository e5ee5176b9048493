// The value of a field's text: an integer, a fraction, a truth value, or text.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include "text/parse.hpp"

namespace motiflux::text {

// Integers up to this size are exact as floats.
inline constexpr std::int64_t kExactInFloat = std::int64_t{1} << 53;

inline std::string_view trimmed(std::string_view field) {
  while (!field.empty() && is_blank(field.front())) field.remove_prefix(1);
  while (!field.empty() && is_blank(field.back())) field.remove_suffix(1);
  return field;
}

// An integer in the form that this library writes: no sign but '-', no superfluous zeros, 64 bits. The text
// follows from the value.
inline bool canonical_integer(std::string_view token, std::int64_t& value) {
  constexpr std::size_t kDigitsThatFit = 18;
  const bool negative = !token.empty() && token.front() == '-';
  const std::string_view digits = negative ? token.substr(1) : token;
  if (digits.empty() || (digits.front() == '0' && token.size() > 1)) return false;
  std::uint64_t sum = 0;
  if (digits.size() > kDigitsThatFit + 1) return false;
  for (const char c : digits) {
    const unsigned digit = static_cast<unsigned char>(c) - unsigned{'0'};
    if (digit > 9) return false;
    sum = sum * 10 + digit;
  }
  const std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  if (sum > most + (negative ? 1 : 0)) return false;
  value = static_cast<std::int64_t>(negative ? -sum : sum);
  return true;
}

// True for -?D.D, -?D[.D]eN and the like; text with leading zeros is a code, not a number.
inline bool is_decimal(std::string_view token) {
  std::size_t at = token.starts_with('-') ? 1 : 0;
  auto skip_digits = [&] {
    const std::size_t begin = at;
    while (at < token.size() && token[at] >= '0' && token[at] <= '9') ++at;
    return at - begin;
  };
  const bool leading_zero = at < token.size() && token[at] == '0';
  const std::size_t whole = skip_digits();
  if (leading_zero && whole > 1) return false;
  std::size_t fraction = 0;
  if (at < token.size() && token[at] == '.') {
    ++at;
    fraction = skip_digits();
  }
  if (whole + fraction == 0) return false;
  if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
    ++at;
    if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
    if (skip_digits() == 0) return false;
  }
  return at == token.size();
}

inline std::optional<double> parse_not_finite(std::string_view token) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (token == "nan" || token == "NaN" || token == "NAN") return std::numeric_limits<double>::quiet_NaN();
  if (token == "inf" || token == "Inf" || token == "INF") return kInfinity;
  if (token == "-inf" || token == "-Inf" || token == "-INF") return -kInfinity;
  return std::nullopt;
}

// Nothing if the text is no number, or a number out of the range of floats.
inline std::optional<double> parse_decimal(std::string_view token) {
  double value = 0;
  const auto result = std::from_chars(token.data(), token.data() + token.size(), value);
  if (result.ec != std::errc() || result.ptr != token.data() + token.size()) return std::nullopt;
  return value;
}

// `yes` of spelling i is kTruths[2 * i], `no` the next one.
inline constexpr std::array<std::string_view, 6> kTruths = {"true",  "false", "True",
                                                            "False", "TRUE",  "FALSE"};

inline std::optional<std::uint8_t> parse_truth(std::string_view token) {
  if (token.size() != 4 && token.size() != 5) return std::nullopt;
  for (std::size_t i = 0; i < kTruths.size(); ++i)
    if (token == kTruths[i]) return static_cast<std::uint8_t>(i);
  return std::nullopt;
}

}  // namespace motiflux::text
