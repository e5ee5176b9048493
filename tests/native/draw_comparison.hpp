// Random comparisons and values for native tests.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "copies/comparison.hpp"

namespace motiflux::copies {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline std::int64_t bits(double value) {
  return std::bit_cast<std::int64_t>(value);
}

// Values that are close to each other, and some at the ends of what there is.
inline std::int64_t draw_integer(std::mt19937_64& random) {
  const std::int64_t ends[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX};
  return random() % 8 == 0 ? ends[random() % 4] : static_cast<std::int64_t>(random() % 41) - 20;
}

inline double draw_double(std::mt19937_64& random) {
  const double ends[] = {-kInfinity, kInfinity, 1e308, -1e308, 1e-310, 0.0, -0.0, 5e-324};
  if (random() % 8 == 0) return ends[random() % 8];
  double value = static_cast<double>(static_cast<std::int64_t>(random() % 61) - 30) / 10;
  if (random() % 4 == 0) value *= std::ldexp(1, static_cast<int>(random() % 120) - 60);
  return random() % 3 == 0 ? std::nextafter(value, kInfinity) : value;
}

inline Comparison draw_comparison(std::mt19937_64& random) {
  Comparison one;
  one.right = 1;
  one.op = static_cast<Operator>(random() % 6);
  one.floats = random() % 2 == 0;
  one.plain = !one.floats && random() % 3 == 0;
  if (one.plain) return one;
  if (one.floats) {
    const double factors[] = {1, -1, 0.9, -0.5, 2, 1.0 / 3, 1e-300, -1e300};
    one.factor = factors[random() % 8];
    one.offset = random() % 2 == 0 ? 0 : draw_double(random);
    if (!std::isfinite(one.offset)) one.offset = 1;
    return one;
  }
  if (random() % 3 == 0) {  // a sum
    one.c = random() % 8 == 0 ? Int128{1} << (random() % 66) : static_cast<Int128>(random() % 41) - 20;
    return one;
  }
  one.m = static_cast<std::int64_t>(1 + random() % 4);
  one.n = random() % 2 == 0 ? static_cast<std::int64_t>(1 + random() % 5) : -3;
  one.c = static_cast<int>(random() % 9) - 4;
  if (random() % 8 == 0) one.n = random() % 2 == 0 ? INT64_MAX : INT64_MIN;
  return one;
}

}  // namespace motiflux::copies
