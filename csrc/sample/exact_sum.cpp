#include "sample/exact_sum.hpp"

#include <bit>

namespace motiflux::sample {

std::vector<std::int64_t> sums_by_exponent(std::span<const double> numbers) {
  constexpr int kFractionBits = 52;
  constexpr std::uint64_t kFraction = (std::uint64_t{1} << kFractionBits) - 1;
  constexpr std::int64_t kLower = (std::int64_t{1} << kLowerBits) - 1;
  std::vector<std::int64_t> sums(2 * kExponents);
  for (const double number : numbers) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    const std::uint64_t exponent = bits >> kFractionBits & (kExponents - 1);
    if (exponent == kExponents - 1) {
      ++sums[2 * exponent];
      continue;
    }
    const std::uint64_t implied = std::uint64_t{exponent != 0} << kFractionBits;
    const auto size = static_cast<std::int64_t>((bits & kFraction) | implied);
    const std::int64_t value = bits >> 63 ? -size : size;
    sums[2 * exponent] += value >> kLowerBits;
    sums[2 * exponent + 1] += value & kLower;
  }
  return sums;
}

}  // namespace motiflux::sample
