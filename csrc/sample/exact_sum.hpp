// Sums of doubles without rounding: their fractions are added up as integers for each exponent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace motiflux::sample {

constexpr std::size_t kExponents = 2048;  // exponents of a double
constexpr int kLowerBits = 27;
constexpr std::size_t kMostSummed = std::size_t{1} << 36;  // sums of lower parts fit into 63 bits

// For each exponent e, the sums of the upper 26 bits and of the lower 27 bits of fractions, the implied bit
// included. Their value is (upper * 2^27 + lower) * 2^(e - 1075); for e = 0 as for e = 1. The entry of e =
// 2047 is the number of infinities and NaNs.
std::vector<std::int64_t> sums_by_exponent(std::span<const double> numbers);

}  // namespace motiflux::sample
