// Shorter ways of an update to its answer. Each can be left out, to measure what it saves: units define
// MOTIFLUX_WITHOUT_... then (codegen/streaming.py).
#pragma once

namespace motiflux::streaming {

// Few changes of rows are written by a group each (few_rows.hpp).
#if defined(MOTIFLUX_WITHOUT_FEW)
inline constexpr bool kWritesFew = false;
#else
inline constexpr bool kWritesFew = true;
#endif

// Updates are searched before they are published (hand_over.hpp).
#if defined(MOTIFLUX_WITHOUT_EARLY)
inline constexpr bool kSearchesEarly = false;
#else
inline constexpr bool kSearchesEarly = true;
#endif

}  // namespace motiflux::streaming
