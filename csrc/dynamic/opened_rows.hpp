// Rows that were opened, as kernels of walks count them (motiflux/changing/access_walks.hpp).
#pragma once

#include <cstdint>
#include <span>

namespace motiflux::dynamic {

struct OpenedRowSum {
  std::uint64_t key;  // name << 32 | vertex, plus 1
  std::uint64_t times;
};

// Sorts rows, the most often opened first, then by key. All keys differ.
void sort_opened_rows(std::span<OpenedRowSum> rows, int threads);

}  // namespace motiflux::dynamic
