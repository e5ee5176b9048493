// Kernels compare values as the CPU does: motiflux/compared/values.hpp against copies/comparison.hpp.
#include "motiflux/compared/values.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "copies/comparison.hpp"

namespace {

namespace compared = motiflux::compared;
namespace copies = motiflux::copies;

constexpr int kTrials = 300'000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::mt19937_64 draws(7);

bool half() {
  return draws() % 2 != 0;
}

template <class T>
T pick(const std::vector<T>& values) {
  return values[draws() % values.size()];
}

std::vector<std::int64_t> integers() {
  std::vector<std::int64_t> found{0, 1, -1, 2, 3, -3, INT64_MAX, INT64_MIN, std::int64_t{1} << 62};
  for (int number = 0; number < 40; ++number)
    found.push_back(static_cast<std::int64_t>(draws()) >> draws() % 63);
  return found;
}

std::vector<double> doubles() {
  std::vector<double> found{0.0, -0.0, 1,    -1,       .1,     .2,        .3,
                            .7,  .9,   1e16, 1e16 + 2, 3e-310, kInfinity, -kInfinity};
  for (int number = 0; number < 20; ++number) found.push_back(static_cast<double>(draws() % 100) / 10);
  return found;
}

compared::Operator op_of(const copies::Comparison& one) {
  return static_cast<compared::Operator>(one.op);
}

void integers_are_compared_alike() {
  const std::vector<std::int64_t> values = integers();
  int accepted = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    copies::Comparison one;
    one.op = static_cast<copies::Operator>(draws() % 6);
    one.plain = draws() % 3 == 0;
    if (!one.plain) {
      one.m = half() ? 1 : 10;
      one.n = pick<std::int64_t>({1, -1, 2, 9, -9});
      one.c = static_cast<copies::Int128>(pick(values)) * (half() ? 1 : 1'000'003);
    }
    const std::int64_t left = pick(values), right = half() ? pick(values) : left;
    const auto form = one.plain ? compared::Form::kPlain : compared::Form::kIntegers;
    const compared::Numbers numbers{
        {one.m, one.n, static_cast<std::int64_t>(one.c), static_cast<std::int64_t>(one.c >> 64)}};
    const bool expected = copies::holds(one, left, right);
    CHECK(compared::compare(op_of(one), form, numbers, left, right) == expected);
    accepted += expected;
  }
  CHECK(kTrials / 4 < accepted && accepted < kTrials * 3 / 4);
}

void doubles_are_compared_alike() {
  const std::vector<double> values = doubles();
  int accepted = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    copies::Comparison one;
    one.op = static_cast<copies::Operator>(draws() % 6);
    one.floats = true;
    one.factor = pick<double>({1, -1, .9, -2});
    one.offset = half() ? 0.0 : pick(values);
    if (!std::isfinite(one.offset)) one.offset = .1;
    const double value = pick(values);
    const auto left = std::bit_cast<std::int64_t>(value),
               right = half() ? std::bit_cast<std::int64_t>(pick(values)) : left;
    const compared::Numbers numbers{
        {std::bit_cast<std::int64_t>(one.factor), std::bit_cast<std::int64_t>(one.offset), 0, 0}};
    const bool expected = copies::holds(one, left, right);
    CHECK(compared::compare(op_of(one), compared::Form::kFloats, numbers, left, right) == expected);
    accepted += expected;
  }
  CHECK(kTrials / 4 < accepted && accepted < kTrials * 3 / 4);
}

void spans_reach_alike() {
  const std::vector<std::int64_t> whole = integers();
  const std::vector<double> real = doubles();
  for (int trial = 0; trial < kTrials; ++trial) {
    copies::Span span;
    span.there = true;
    span.floats = half();
    span.span = static_cast<copies::Int128>(draws() >> draws() % 64);
    span.float_span = static_cast<double>(draws() % 30) / 10;
    const auto draw = [&] { return span.floats ? std::bit_cast<std::int64_t>(pick(real)) : pick(whole); };
    const compared::Span other{static_cast<std::uint64_t>(span.span), span.float_span, 1, span.floats};
    const std::int64_t lowest = draw(), value = draw();
    CHECK(other.reaches(lowest, value) == span.reaches(lowest, value));
    CHECK(other.less(lowest, value) == span.less(lowest, value));
  }
}

}  // namespace

int main() {
  integers_are_compared_alike();
  doubles_are_compared_alike();
  spans_reach_alike();
}
