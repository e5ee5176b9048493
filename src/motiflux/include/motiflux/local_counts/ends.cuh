// Which wedges x - y - z of a root x count, for pairs x, z of which the order does not matter.
//
//   kLesser, kGreater      each pair once
//   kUnderRoot, kGreatest  as well, but of the two pairs of a 4-cycle only that of its greatest vertex
//
// Counters of greater ends are few: ids ascend by degree, and most wedges end in a few hubs.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::local_counts {

enum class Ends : std::uint32_t {
  kAll = 0,
  kLesser = 1,     // z < x
  kUnderRoot = 2,  // z < x, y < x
  kGreater = 3,    // z > x
  kGreatest = 4    // z > x, z > y
};

MOTIFLUX_DEVICE constexpr bool below_root(Ends ends) {
  return ends == Ends::kLesser || ends == Ends::kUnderRoot;
}

}  // namespace motiflux::local_counts
