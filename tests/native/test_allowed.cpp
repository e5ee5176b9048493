// Intervals that one side of a comparison allows the other, against the comparison itself.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "copies/allowed.hpp"
#include "draw_comparison.hpp"

namespace {

using namespace motiflux::copies;

bool is_in(bool floats, const Interval& interval, std::int64_t value) {
  if (!floats) return interval.low <= value && value <= interval.high;
  const auto number = std::bit_cast<double>(value);
  return std::bit_cast<double>(interval.low) <= number && number <= std::bit_cast<double>(interval.high);
}

struct Found {
  int exact = 0;
  int allowed = 0;
};

// The same intervals, less what was left out before.
void check_sought(const Comparison& one, bool as_left, std::int64_t known, Interval before,
                  const std::vector<std::int64_t>& values) {
  Interval left = before;
  bool exact = true;
  const bool any = SoughtSide(one, as_left).narrow(known, left, exact);
  for (const std::int64_t value : values) {
    const bool fits =
        is_in(one.floats, before, value) && (as_left ? holds(one, value, known) : holds(one, known, value));
    const bool found = any && is_in(one.floats, left, value);
    CHECK(!fits || found);
    if (exact) CHECK(fits == found);
  }
  CHECK(exact || !(as_left ? allowed_left(one, known) : allowed_right(one, known)).exact);
}

// What lies in the interval is what the comparison allows, and nothing that it allows is left out.
void check_sides(std::mt19937_64& random, Found& found) {
  const Comparison one = draw_comparison(random);
  const auto draw = [&] { return one.floats ? bits(draw_double(random)) : draw_integer(random); };
  const std::int64_t known = draw();
  const Allowed left = allowed_left(one, known), right = allowed_right(one, known);
  std::vector<std::int64_t> values;
  for (int at = 0; at < 40; ++at) values.push_back(draw());
  for (const Interval& interval : {left.interval, right.interval})
    for (std::int64_t end : {interval.low, interval.high})
      for (int step : {-1, 0, 1}) {
        if (one.floats) {
          const auto value = std::bit_cast<double>(end);
          values.push_back(step == 0 ? end : bits(std::nextafter(value, step * kInfinity)));
        } else if (std::int64_t moved; !__builtin_add_overflow(end, step, &moved)) {
          values.push_back(moved);
        }
      }
  for (const std::int64_t value : values) {
    const bool as_left = holds(one, value, known), as_right = holds(one, known, value);
    CHECK(!as_left || is_in(one.floats, left.interval, value));
    CHECK(!as_right || is_in(one.floats, right.interval, value));
    if (left.exact) CHECK(as_left == is_in(one.floats, left.interval, value));
    if (right.exact) CHECK(as_right == is_in(one.floats, right.interval, value));
    found.allowed += as_left + as_right;
  }
  const Interval all = one.floats ? kAllFloats : kAllIntegers;
  std::int64_t low = draw(), high = draw();
  if (!is_in(one.floats, {low, all.high}, high)) std::swap(low, high);
  for (const bool as_left : {true, false}) {
    check_sought(one, as_left, known, all, values);
    check_sought(one, as_left, known, {low, high}, values);
  }
  found.exact += left.exact + right.exact;
}

void check_span(std::mt19937_64& random, Found& found) {
  Span span;
  span.there = true;
  span.floats = random() % 2 == 0;
  const auto draw = [&] { return span.floats ? bits(draw_double(random)) : draw_integer(random); };
  if (span.floats)
    span.float_span = std::abs(static_cast<double>(random() % 50)) / 7;
  else
    span.span = random() % 8 == 0 ? static_cast<Int128>(1) << 100 : static_cast<Int128>(random() % 30);
  std::int64_t lowest = draw(), highest = draw();
  if (span.less(highest, lowest)) std::swap(lowest, highest);
  if (!span.reaches(lowest, highest)) return;
  const Allowed allowed = allowed_by(span, lowest, highest);
  std::vector<std::int64_t> values{allowed.interval.low, allowed.interval.high};
  for (int at = 0; at < 40; ++at) values.push_back(draw());
  for (const std::int64_t value : values) {
    const bool reached =
        span.reaches(span.less(value, lowest) ? value : lowest, span.less(highest, value) ? value : highest);
    CHECK(!reached || is_in(span.floats, allowed.interval, value));
    if (allowed.exact) CHECK(reached == is_in(span.floats, allowed.interval, value));
    found.allowed += reached;
  }
  found.exact += allowed.exact;
}

}  // namespace

int main() {
  std::mt19937_64 random(11);
  Found sides, spans;
  for (int round = 0; round < 200000; ++round) check_sides(random, sides);
  for (int round = 0; round < 50000; ++round) check_span(random, spans);
  CHECK(sides.exact > 250000 && sides.allowed > 1000000);
  CHECK(spans.exact > 10000 && spans.allowed > 100000);
}
