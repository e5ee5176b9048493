// Where ids are in rows: a few lanes of a warp for each row, which all make the same steps, so that what rows
// wait for is on its way at the same time.
//
//   lanes 0 to 3    row 0      ids   | 4 4 4 4 | 4 4 4 4 | ...      each lane reads four ids at a time
//   lanes 4 to 7    row 1            | 4 4 4 4 | 4 4 4 4 | ...
//   ...
#pragma once

#include "motiflux/streaming/few_rows.hpp"

namespace motiflux::streaming {

namespace detail {

struct alignas(16) FourIds {
  std::uint32_t ids[4];
};

// Ids of a row that are looked at together, by so many lanes.
template <std::uint32_t lanes>
struct IdsOfRow {
  static constexpr std::uint32_t kPieces = lanes < 16 ? 16 / lanes : 1;  // of a lane
  static constexpr std::uint32_t kSize = 4 * lanes * kPieces;            // ids of all lanes

  FourIds pieces[kPieces];

  // Reads ids from `first` on, a multiple of 4; what is behind the row's end, too, if it is in the pool.
  MOTIFLUX_DEVICE void read(const StreamGraph& graph, std::uint32_t block, std::uint32_t first,
                            std::uint32_t lane) {
    for (std::uint32_t piece = 0; piece < kPieces; ++piece) {
      const std::uint64_t entry = first + 4 * (piece * lanes + lane);
      const std::uint64_t unit = block + (sizeof(view::Version) + sizeof(std::uint32_t) * entry) / kUnitBytes;
      pieces[piece] = {};
      if (block != kNoBlock && unit < graph.pool.units)
        pieces[piece] = *reinterpret_cast<const FourIds*>(graph.version(block)->ids() + entry);
    }
  }

  // Of the lane's ids, how many are less than one, and (in the upper half) not greater.
  MOTIFLUX_DEVICE std::uint32_t count(std::uint32_t first, std::uint32_t size, std::uint32_t id,
                                      std::uint32_t lane) const {
    std::uint32_t counts = 0;
    for (std::uint32_t piece = 0; piece < kPieces; ++piece)
      for (std::uint32_t number = 0; number < 4; ++number) {
        const std::uint32_t entry = first + 4 * (piece * lanes + lane) + number;
        const std::uint32_t other = pieces[piece].ids[number];
        if (entry < size) counts += (other < id ? 1u : 0u) + (other <= id ? 1u << 16 : 0u);
      }
    return counts;
  }
};

// Rows of more entries are narrowed first, until so many are left.
#if defined(MOTIFLUX_CHECKS_VERSIONS)
inline constexpr std::uint32_t kMostAtOnce = 1, kMostLeft = 1;  // so that tests have both
#else
inline constexpr std::uint32_t kMostAtOnce = 64, kMostLeft = 32;
#endif

// Where an id belongs in a long row: a multiple of 4, at most kMostLeft + 3 entries before the first that is
// not less. The lanes of a row look at 32 parts of it at a time.
template <std::uint32_t lanes, class Warp>
MOTIFLUX_DEVICE std::uint32_t narrow(const Warp& warp, const std::uint32_t* ids, std::uint32_t size,
                                     std::uint32_t id) {
  constexpr std::uint32_t kParts = 32, kOfLane = kParts / lanes;
  std::uint32_t first = 0, end = size > kMostAtOnce ? size : 0;
  while (warp.ballot(end > first + kMostLeft) != 0) {
    const bool goes_on = end > first + kMostLeft;
    const std::uint32_t step = (end - first + kParts - 1) / kParts;
    std::uint32_t found[kOfLane];
    for (std::uint32_t part = 0; part < kOfLane; ++part) {
      const std::uint32_t last = first + (part * lanes + warp.lane() % lanes + 1) * step - 1;
      found[part] = goes_on && last < end ? ids[last] : ~std::uint32_t{0};
    }
    std::uint32_t less = 0;
    for (const std::uint32_t other : found) less += other < id ? 1 : 0;
    less = warp.sum_of(less, lanes);
    if (!goes_on) continue;
    first += less * step;
    if (end - first > step) end = first + step;
  }
  return first & ~std::uint32_t{3};
}

// Where an id is in a row's newest version.
struct FoundId {
  std::uint32_t less;   // entries before it
  std::uint32_t entry;  // the last one that has it, or kNoEntry
  bool is_beyond;       // whether entries that were not looked at may have it, too
};

// Called by all lanes of a warp: those of a row with the same arguments.
template <std::uint32_t lanes, class Warp>
MOTIFLUX_DEVICE FoundId find_id(const Warp& warp, const StreamGraph& graph, std::uint32_t block,
                                std::uint32_t id) {
  const std::uint32_t lane = warp.lane() % lanes;
  IdsOfRow<lanes> ids;
  std::uint32_t first = 0;
  ids.read(graph, block, first, lane);  // the size is on its way with them
  const std::uint32_t size = block != kNoBlock ? graph.version(block)->size : 0;
  if (warp.ballot(size > kMostAtOnce) != 0) {
    first = narrow<lanes>(warp, graph.version(block)->ids(), size, id);
    if (size > kMostAtOnce) ids.read(graph, block, first, lane);
  }
  const std::uint32_t counts = warp.sum_of(ids.count(first, size, id, lane), lanes);
  const std::uint32_t less = counts & 0xffff, through = counts >> 16;
  const bool is_there = through > less;
  return {first + less, is_there ? first + through - 1 : kNoEntry,
          is_there && through == ids.kSize && first + through < size};
}

}  // namespace detail

}  // namespace motiflux::streaming
