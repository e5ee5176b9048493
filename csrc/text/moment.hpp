// Moments in ISO 8601: a date, or a date and a time of day, with a zone or without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace motiflux::text {

// The most nanoseconds of a moment from 1970, 146 years: plus the length of a window they fit 64 bits.
inline constexpr std::int64_t kMostNanoseconds = std::int64_t{1} << 62;

namespace iso {

// Takes the parts of a text one by one, from its start.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool take(char wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // A number of exactly `count` digits, at most `most`.
  bool digits(std::size_t count, int most, int& value) {
    if (rest_.size() < count) return false;
    value = 0;
    for (const char c : rest_.substr(0, count)) {
      if (c < '0' || c > '9') return false;
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(count);
    return value <= most;
  }
  // The digits of a fraction, as nanoseconds.
  bool fraction(std::int64_t& nanoseconds) {
    std::int64_t unit = 1'000'000'000;
    nanoseconds = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      if (unit == 1) return false;
      unit /= 10;
      nanoseconds += (rest_.front() - '0') * unit;
      rest_.remove_prefix(1);
    }
    return unit < 1'000'000'000;
  }

 private:
  std::string_view rest_;
};

// Days from 1970-01-01, in the Gregorian calendar; computed with years from March on, so that leap days are
// last.
inline std::int64_t days_of(int year, int month, int day) {
  const int shifted = year - (month <= 2);
  const int era_year = shifted % 400;
  const int day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const int day_of_era = era_year * 365 + era_year / 4 - era_year / 100 + day_of_year;
  return std::int64_t{shifted / 400} * 146'097 + day_of_era - 719'468;
}

inline bool is_day(int year, int month, int day) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 1 || month < 1 || day < 1) return false;
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return day <= kDays[month - 1] + (month == 2 && leap);
}

// Takes the zone after the time of day: seconds east of Greenwich; 0 without a zone.
inline bool take_zone(Cursor& at, int& east) {
  east = 0;
  if (at.at_end() || at.take('Z') || at.take('z')) return true;
  const bool is_west = at.take('-');
  if (!is_west && !at.take('+')) return false;
  int hours = 0, minutes = 0;
  if (!at.digits(2, 23, hours)) return false;
  if (!at.at_end() && (at.take(':'), !at.digits(2, 59, minutes))) return false;
  east = (is_west ? -1 : 1) * (hours * 3600 + minutes * 60);
  return true;
}

}  // namespace iso

// Nanoseconds from the start of 1970, in UTC, which is also the default zone. Nothing if the text is no such
// moment or out of range.
inline std::optional<std::int64_t> parse_moment(std::string_view token) {
  iso::Cursor at(token);
  int year = 0, month = 0, day = 0;
  if (!at.digits(4, 9999, year) || !at.take('-') || !at.digits(2, 12, month) || !at.take('-') ||
      !at.digits(2, 31, day) || !iso::is_day(year, month, day))
    return std::nullopt;
  int hour = 0, minute = 0, second = 0, east = 0;
  std::int64_t nanoseconds = 0;
  if (!at.at_end()) {
    if (!at.take('T') && !at.take('t') && !at.take(' ')) return std::nullopt;
    if (!at.digits(2, 23, hour) || !at.take(':') || !at.digits(2, 59, minute)) return std::nullopt;
    if (at.take(':')) {
      if (!at.digits(2, 59, second)) return std::nullopt;
      if ((at.take('.') || at.take(',')) && !at.fraction(nanoseconds)) return std::nullopt;
    }
    if (!iso::take_zone(at, east) || !at.at_end()) return std::nullopt;
  }
  constexpr std::int64_t kSecond = 1'000'000'000, kMostSeconds = kMostNanoseconds / kSecond;
  const std::int64_t seconds =
      iso::days_of(year, month, day) * 86'400 + hour * 3600 + minute * 60 + second - east;
  if (seconds < -kMostSeconds || seconds >= kMostSeconds) return std::nullopt;
  return seconds * kSecond + nanoseconds;
}

}  // namespace motiflux::text
