#include "search/tail.hpp"

#include <algorithm>
#include <numeric>

#include "search/partitions.hpp"

namespace motiflux::search {

int TailComponent::sets() const {
  return set_of.empty() ? 0 : *std::max_element(set_of.begin(), set_of.end()) + 1;
}

std::optional<Total> falling_factorial(std::uint64_t size, std::size_t levels, std::span<const int> chains) {
  if (size < levels) return 0;
  Total result = 1;
  const auto choose = [&](int chain) {
    for (int taken = 0; taken < chain; ++taken, --size) {
      if (__builtin_mul_overflow(result, Total{size}, &result)) return false;
      if (taken > 0)
        result /= static_cast<unsigned>(taken + 1);  // exact: a multiple of a binomial coefficient
    }
    return true;
  };
  for (int chain : chains)
    if (!choose(chain)) return std::nullopt;
  const auto chained = static_cast<std::size_t>(std::accumulate(chains.begin(), chains.end(), 0));
  for (std::size_t level = chained; level < levels; ++level)
    if (!choose(1)) return std::nullopt;
  return result;
}

std::optional<Total> distinct_choices(const TailComponent& component, std::span<const std::uint64_t> common) {
  double largest = 1;
  for (int set : component.set_of) largest *= static_cast<double>(common[std::size_t{1} << set]);
  return counted_choices(component.levels.size(), largest, [&](std::uint32_t block) {
    std::uint32_t sets = 0;
    for_each_bit(block, [&](std::uint32_t level) { sets |= std::uint32_t{1} << component.set_of[level]; });
    return Total{common[sets]};
  });
}

}  // namespace motiflux::search
