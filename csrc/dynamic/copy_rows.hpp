// Rows that lie anywhere in memory, one behind another: what a device is sent of them in one copy.
#pragma once

#include <cstdint>
#include <span>

#include "common/parallel.hpp"
#include "dynamic/rows.hpp"

namespace motiflux::dynamic {

// Copies row `at`, at addresses[at], to entries [starts[at], starts[at + 1]) of `to`.
void copy_rows(std::span<const std::uint64_t> addresses, std::span<const std::uint64_t> starts, Vertex* to,
               const Workers& workers);

}  // namespace motiflux::dynamic
