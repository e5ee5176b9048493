// Sorting by small numbers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynamic/rows.hpp"

namespace motiflux::dynamic {

// Sorts by key(item), which is at most `most`; items with equal keys keep their order. A radix sort: a few
// nanoseconds per item and digit. `scratch` is overwritten.
template <class Item, class Memory, class Key>
void sort_by(std::vector<Item, Memory>& items, std::vector<Item, Memory>& scratch, std::uint32_t most,
             Key&& key) {
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

// Sorts by class_of(item), one of `classes` classes, in the order that rows have (Rows::order).
template <class Item, class Memory, class ClassOf>
void sort_by_class(std::vector<Item, Memory>& items, std::vector<Item, Memory>& scratch,
                   std::uint32_t classes, ClassOf&& class_of) {
  const auto by = [&](std::uint32_t most, auto&& part) {
    sort_by(items, scratch, most, [&](const Item& item) { return part(class_of(item)); });
  };
  if (classes > Rows::kRuns) by((classes - 1) / Rows::kRuns, [](Class of) { return of / Rows::kRuns; });
  if (classes > 1) by(std::min(classes, Rows::kRuns) - 1, [](Class of) { return of % Rows::kRuns; });
}

}  // namespace motiflux::dynamic
