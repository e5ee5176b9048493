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

// Rows of a batch of few changes are copied by all warps, in strips; else each by the warp that prepared it.
#if defined(MOTIFLUX_WITHOUT_STRIPS)
inline constexpr bool kDealsStrips = false;
#else
inline constexpr bool kDealsStrips = true;
#endif

// Which entries of a version ended is known from its header, as long as they are few; else lives are read.
#if defined(MOTIFLUX_WITHOUT_ENDED)
inline constexpr bool kKnowsEnded = false;
#else
inline constexpr bool kKnowsEnded = true;
#endif

// A batch of few changes may change a row twice.
#if defined(MOTIFLUX_WITHOUT_PAIRS)
inline constexpr bool kWritesPairs = false;
#else
inline constexpr bool kWritesPairs = true;
#endif

// Blocks at hand are filled up while rows of a batch are prepared; else while they are written.
#if defined(MOTIFLUX_WITHOUT_FETCHED)
inline constexpr bool kFetchesBlocks = false;
#else
inline constexpr bool kFetchesBlocks = true;
#endif

}  // namespace motiflux::streaming
