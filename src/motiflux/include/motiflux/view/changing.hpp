// Rows of a changing graph (docs/design/gpu-changing.md).
//
// While a run of updates is matched, a row holds every neighbour that it has at any moment of the run. Each
// entry of a touched row has a lifetime, both ends inclusive: an update at a moment sees what lives then.
// Moments of updates start at 1; entries that were there before the run live from moment 0.
//
//   neighbors   2   5   5   9        ascending; equal ids are entries of several edges, or lifetimes of one
//   lives      0-  0-3 7-  4-        null in an untouched row: all entries live throughout
//
// In a packed memory array, an untouched row has gaps, which repeat the entry before them.
#pragma once

#include "motiflux/platform.hpp"
#if defined(MOTIFLUX_ROW_COPIES)
#include "motiflux/view/row_copies.hpp"
#endif

namespace motiflux::view {

struct Life {
  static constexpr std::uint32_t kForever = ~std::uint32_t{0};

  std::uint32_t first, last;

  MOTIFLUX_HOST_DEVICE bool has(std::uint32_t moment) const { return first <= moment && moment <= last; }
  // The same without the entry of the edge that changes at this moment.
  MOTIFLUX_HOST_DEVICE bool has_inside(std::uint32_t moment) const { return first < moment && moment < last; }
};

struct ChangingRow {
  const std::uint32_t* neighbors;
  const Life* lives;
  // The first moments of all changed entries, ascending, then their last moments, ascending: so many entries
  // live at a moment as have begun by then less those that ended before. Not null if rows may have gaps.
  const std::uint32_t* moments;
  std::uint32_t size;     // with gaps
  std::uint32_t changes;  // changed entries; in an untouched row, gaps
};

// Equal ids in untouched rows: none, in gaps only, or of several edges too.
enum class Repeats : std::uint32_t { kNone, kInGaps, kOfEdges };

// The rows of all vertices, in one direction, narrowed to the labels of one kind of query edge.
struct ChangingRows {
  ChangingRow* rows;
  Repeats repeats;
  std::uint32_t unused;
#if defined(MOTIFLUX_ROW_COPIES)
  const RowCopies* copies;
#endif

  MOTIFLUX_HOST_DEVICE ChangingRow open(std::uint32_t vertex) const {
#if defined(MOTIFLUX_BISECTED_COPIES) || defined(MOTIFLUX_HASHED_COPIES)
#if defined(MOTIFLUX_BISECTED_COPIES)
    const sets::Span copy = copies->find_bisecting(vertex);
#else
    const sets::Span copy = copies->find_hashed(vertex);
#endif
    if (copy.first != nullptr)
      return {copy.first, nullptr, nullptr, static_cast<std::uint32_t>(copy.size()), 0};
#endif
    return rows[vertex];
  }
};

// Bitmaps of long rows, during one run: an entry is looked up by one load instead of a bisection. A bitmap is
// cut into blocks of 32 bytes:
//
//   word 0                 the first entry of the row in this block, if there is one
//   word 1 + place / 16    2 bits for each id, place = id % 112: whether an entry has it, and whether
//                          such an entry has a lifetime
struct RowBitmaps {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint32_t kIdsOfWord = 16, kWordsOfBlock = 8;
  static constexpr std::uint32_t kIdsOfBlock = kIdsOfWord * (kWordsOfBlock - 1);
  static constexpr std::uint32_t kHasEntry = 1, kHasLifetime = 2;

  const std::uint32_t* numbers;  // of the bitmaps of vertices, kNone: it has none; null: no row has one
  std::uint32_t* words;
  std::uint32_t least;   // shorter rows have no bitmaps; `numbers` is not defined for them
  std::uint32_t blocks;  // of a bitmap

  MOTIFLUX_HOST_DEVICE std::uint32_t* of(std::uint32_t number) const {
    return words + std::uint64_t{number} * blocks * kWordsOfBlock;
  }
  MOTIFLUX_HOST_DEVICE static std::uint32_t block_of(std::uint32_t id) { return id / kIdsOfBlock; }
  // The word of a bitmap with the bits of an id.
  MOTIFLUX_HOST_DEVICE static std::uint64_t word_of(std::uint32_t id) {
    const std::uint32_t block = block_of(id);
    return std::uint64_t{block} * kWordsOfBlock + 1 + (id - block * kIdsOfBlock) / kIdsOfWord;
  }
  MOTIFLUX_HOST_DEVICE static std::uint32_t shift_of(std::uint32_t id) {
    return 2 * (id % kIdsOfWord);  // which divides kIdsOfBlock
  }
};

}  // namespace motiflux::view
