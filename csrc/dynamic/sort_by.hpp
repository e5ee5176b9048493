// Sorting by small numbers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace motiflux::dynamic {

// Sorts by key(item), which is at most `most`; items with equal keys keep their order. A radix sort: a few
// nanoseconds per item and digit. `scratch` is overwritten.
template <class Item, class Key>
void sort_by(std::vector<Item>& items, std::vector<Item>& scratch, std::uint32_t most, Key&& key) {
  constexpr int kWidest = 11;
  const int bits = std::bit_width(most);
  if (bits == 0) return;
  const int digits = (bits + kWidest - 1) / kWidest, width = (bits + digits - 1) / digits;
  const std::uint32_t mask = (std::uint32_t{1} << width) - 1;
  std::array<std::uint32_t, std::size_t{1} << kWidest> first;
  scratch.resize(items.size());
  for (int shift = 0; shift < digits * width; shift += width) {
    const auto digit = [&](const Item& item) { return key(item) >> shift & mask; };
    std::fill_n(first.begin(), std::size_t{mask} + 1, 0);
    for (const Item& item : items) ++first[digit(item)];
    std::uint32_t before = 0;
    for (std::uint32_t value = 0; value <= mask; ++value) {
      const std::uint32_t count = first[value];
      first[value] = before;
      before += count;
    }
    for (const Item& item : items) scratch[first[digit(item)]++] = item;
    items.swap(scratch);
  }
}

}  // namespace motiflux::dynamic
