// Chances that the emulator takes. Where a kernel may see one of several things on a GPU, all of them right
// (an old word or a new one, a number that was kept or not), the emulator draws one, so that a result which
// depends on the usual one is found without a GPU.
//
//   if (device::unkind(vertex, 4)) ...    // in the emulator once in four times, by seed and key; never on a
//   GPU
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::device {

#if defined(MOTIFLUX_SIMT_UNKIND)

inline constexpr bool kUnkind = true;

MOTIFLUX_DEVICE bool unkind(std::uint64_t key, std::uint32_t one_in) {
  return MOTIFLUX_SIMT_UNKIND(key, one_in);
}

#else

inline constexpr bool kUnkind = false;

MOTIFLUX_DEVICE bool unkind(std::uint64_t, std::uint32_t) {
  return false;
}

#endif

}  // namespace motiflux::device
