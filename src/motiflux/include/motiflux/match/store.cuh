// Listing into device memory.
#pragma once

#include "motiflux/match/list.cuh"

namespace motiflux::match {

// The body of a kernel that lists into memory.
template <class Plan, std::uint32_t Lanes, class Within = NoStealing>
MOTIFLUX_DEVICE void store(const SearchArgs<Plan>& args) {
  list_into<Plan, Lanes, IntoMemory, Within>(args);
}

}  // namespace motiflux::match
