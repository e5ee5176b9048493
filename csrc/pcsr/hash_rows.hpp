// Rows of one partition by a hash table of groups (hash-PCSR of GSI); view/hash_rows.hpp has the layout.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/large_pages.hpp"
#include "common/parallel.hpp"

namespace motiflux::pcsr {

struct HashRows {
  std::vector<std::uint32_t> groups;
  Unwritten<std::uint32_t> neighbors{0};  // rows in the order of the groups
};

// Row r, of vertex ids[r], is neighbors[offsets[r] .. offsets[r + 1]); fewer than 2^32 neighbours in all.
HashRows hash_rows(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> offsets,
                   std::span<const std::uint32_t> neighbors, const Workers& workers);

}  // namespace motiflux::pcsr
