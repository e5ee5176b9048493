#include "search/tail.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

namespace motiflux::search {
namespace {

__extension__ using Signed = __int128;

[[noreturn]] void overflow() {
  throw std::overflow_error("the count exceeds 2^127");
}

Signed multiply(Signed a, Signed b) {
  Signed result;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}

}  // namespace

int TailComponent::sets() const {
  return set_of.empty() ? 0 : *std::max_element(set_of.begin(), set_of.end()) + 1;
}

std::optional<Total> falling_factorial(std::uint64_t size, std::size_t levels, std::uint64_t divisor) {
  if (size < levels) return 0;
  std::uint64_t factorial = 1;
  for (std::size_t level = 2; level <= levels && factorial <= divisor; ++level) factorial *= level;
  const bool binomial = factorial == divisor;
  Total result = 1;
  for (std::size_t taken = 0; taken < levels; ++taken) {
    if (__builtin_mul_overflow(result, Total{size - taken}, &result)) return std::nullopt;
    if (binomial) result /= taken + 1;  // exact: a binomial coefficient at every step
  }
  return binomial ? result : result / divisor;
}

Total distinct_choices(const TailComponent& component, std::span<const std::uint64_t> common) {
  const std::size_t levels = component.levels.size();
  // ways[chosen]: for the levels in `chosen`. The block of its lowest level takes one vertex common to its
  // sets, with the Moebius function of the partition lattice, (-1)^(b-1) (b-1)!, as weight.
  std::array<Signed, std::size_t{1} << kMostMixedLevels> ways;
  ways[0] = 1;
  for (std::uint32_t chosen = 1; chosen < std::uint32_t{1} << levels; ++chosen) {
    const std::uint32_t lowest = chosen & -chosen, rest = chosen ^ lowest;
    Signed sum = 0;
    for (std::uint32_t others = rest;; others = (others - 1) & rest) {
      const std::uint32_t block = lowest | others;
      std::uint32_t sets = 0;
      Signed weight = 1;
      for (std::uint32_t left = block; left != 0; left &= left - 1)
        sets |= std::uint32_t{1} << component.set_of[static_cast<std::size_t>(std::countr_zero(left))];
      for (int b = 1; b < std::popcount(block); ++b) weight *= -b;
      const Signed term = multiply(multiply(weight, static_cast<Signed>(common[sets])), ways[chosen ^ block]);
      if (__builtin_add_overflow(sum, term, &sum)) overflow();
      if (others == 0) break;
    }
    ways[chosen] = sum;
  }
  return static_cast<Total>(ways[(std::size_t{1} << levels) - 1]);
}

}  // namespace motiflux::search
