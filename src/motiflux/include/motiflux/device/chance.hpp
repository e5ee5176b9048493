// Where a kernel on a GPU may see one of several correct states (an old or a new word, a number kept or not),
// the emulator draws one by its seed. So code that relies on the usual state fails without a GPU.
//
//   if (device::chance(device::Place::kOldWord, vertex, 4)) ...    // emulator: once in four; GPU: never
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::device {

// The place of a draw: the same key at two places gives two draws.
enum class Place : std::uint32_t { kNoRound, kStop, kLeaveOut, kOldWord, kNotFound, kNotKept, kNotPooled };

#if defined(MOTIFLUX_SIMT_CHANCE)

inline constexpr bool kDrawsChances = true;

MOTIFLUX_DEVICE bool chance(Place place, std::uint64_t key, std::uint32_t one_in) {
  return MOTIFLUX_SIMT_CHANCE(static_cast<std::uint32_t>(place), key, one_in);
}

#else

inline constexpr bool kDrawsChances = false;

MOTIFLUX_DEVICE bool chance(Place, std::uint64_t, std::uint32_t) {
  return false;
}

#endif

}  // namespace motiflux::device
