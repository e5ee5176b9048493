// Shorter ways of an update to its answer. Each can be left out, to measure what it saves: units define
// MOTIFLUX_WITHOUT_... then (codegen/streaming.py).
#pragma once

namespace motiflux::streaming {

// A warp of its own looks for updates that are done and tells the host; the collector reads what the host
// asks for.
#if defined(MOTIFLUX_WITHOUT_TELLER)
inline constexpr bool kHasTeller = false;
#else
inline constexpr bool kHasTeller = true;
#endif

// A group that gave no part of an update away does not count parts.
#if defined(MOTIFLUX_WITHOUT_WHOLE)
inline constexpr bool kKnowsWhole = false;
#else
inline constexpr bool kKnowsWhole = true;
#endif

// A group gives its place in the work list back once the update is answered, not before it searches.
#if defined(MOTIFLUX_WITHOUT_HELD)
inline constexpr bool kHoldsWork = false;
#else
inline constexpr bool kHoldsWork = true;
#endif

// Few changes of rows are written by a group each (few_rows.hpp).
#if defined(MOTIFLUX_WITHOUT_FEW)
inline constexpr bool kWritesFew = false;
#else
inline constexpr bool kWritesFew = true;
#endif

}  // namespace motiflux::streaming
