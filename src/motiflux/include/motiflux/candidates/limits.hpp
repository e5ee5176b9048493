// Limits that the candidate filters of the CPU and of a device share.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::candidates {

// A round that removes less than this share of the candidates is the last one.
inline constexpr std::uint64_t kLeastShare = 64;

}  // namespace motiflux::candidates
