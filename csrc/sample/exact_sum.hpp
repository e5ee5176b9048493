// Sums of doubles without rounding: their fractions, added up as whole numbers for each exponent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace motiflux::sample {

constexpr std::size_t kExponents = 2048;  // that the bits of a double may say
constexpr int kLowerBits = 27;
constexpr std::size_t kMostSummed = std::size_t{1} << 36;  // so many lower parts fit into 63 bits

// For each exponent e the sums of the upper 26 bits of fractions and of the lower 27, the implied one
// included. They are worth (upper * 2^27 + lower) * 2^(e - 1075), those of 0 as much as if it were 1. At
// 2047 stands how many numbers are infinite or none at all.
std::vector<std::int64_t> sums_by_exponent(std::span<const double> numbers);

}  // namespace motiflux::sample
