// Counting on several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/total.hpp"
#include "search/control.hpp"
#include "search/problem.hpp"

namespace motiflux::search {

using motiflux::Total;

// Embeddings found before the end or before control.reason(). With a limit, the search stops once more
// than `limit` are known. Throws std::overflow_error beyond 2^128 - 1.
// `sizes`, if given, gets the number of partial embeddings up to each level but the last.
Total count(const Problem& problem, Control& control, int threads, std::optional<std::uint64_t> limit,
            std::vector<std::uint64_t>* sizes = nullptr);

}  // namespace motiflux::search
