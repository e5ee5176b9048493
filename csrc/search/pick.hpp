// Rows at some places among those that a search of one thread finds, without writing the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/control.hpp"
#include "search/native_plan.hpp"
#include "search/pool.hpp"
#include "search/row_writer.hpp"

namespace motiflux::search {

struct PickedRows {
  Block rows;              // of each place that was reached
  std::uint64_t seen = 0;  // rows of the places that were looked at: all, or up to the last place at least
};

// Returns the rows at ascending `places`, which may be equal; position[l] is the column of level l. Rows come
// in the order in which a search of one thread lists them.
PickedRows pick_rows(const NativePlan& native_plan, const std::vector<std::uint32_t>& position,
                     Control& control, std::span<const std::int64_t> places, Pool& portion);

}  // namespace motiflux::search
