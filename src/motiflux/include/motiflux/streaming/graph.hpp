// The graph of a streaming kernel, and updates of it.
//
//   places of a class    | first row, end | first row, end | ...      the rows that an update is written to
//                          its source's     its target's
#pragma once

#include "motiflux/bits.hpp"
#include "motiflux/sets/span.hpp"
#include "motiflux/streaming/memory.hpp"
#include "motiflux/streaming/stages.hpp"
#include "motiflux/view/versions.hpp"

namespace motiflux::streaming {

static_assert(view::kVersionUnit == kUnitBytes && view::Life::kForever == ~std::uint32_t{0});

// An insertion or deletion of one edge.
struct Update {
  std::uint32_t source, target;
  std::uint32_t of;       // its class: the label of the edge and the labels of its ends
  std::uint32_t inserts;  // kInsertion, kJudged

  MOTIFLUX_HOST_DEVICE bool is_insertion() const { return (inserts & kInsertion) != 0; }

  static constexpr std::uint32_t kInsertion = 1;
  // The host knows that the update has an effect, although rows may not tell: other edges between the same
  // vertices may be in them, or none of this class.
  static constexpr std::uint32_t kJudged = 2;
};

// Where an update is written: to the row `first_row` + one end, with the other end as neighbour.
struct Place {
  std::uint32_t first_row;
  std::uint32_t of_target;  // whether the row is that of the target
};

struct CopiedRows;

struct StreamGraph {
  view::Versions versions;
  Pool pool;
  Stages stages;
  const std::uint32_t* classes;  // the first place of each class, and the end of the last ones
  const Place* places;
  std::uint32_t farthest_end;  // ends of lifetimes in place, relative to their version; at most kFarthestEnd
  std::uint32_t most_entries;  // of a version: searches have no room for more; 0: any number
  CopiedRows* copied;          // long rows that are copied (copy_long_rows.hpp)
  std::uint32_t strip;         // entries of one of their strips; 0: all rows are copied as short ones are
  std::uint32_t unused;

  MOTIFLUX_HOST_DEVICE view::Version* version(std::uint32_t block) const {
    return pool.at<view::Version>(block);
  }
};

// The block of a row's newest version, as its updater sees it; 0 if it has none.
MOTIFLUX_DEVICE std::uint32_t newest_of(const StreamGraph& graph, std::uint32_t row) {
  return static_cast<std::uint32_t>(
      device::device_wide(graph.versions.heads[row].newest).load(device::Order::kRelaxed));
}

inline constexpr std::uint32_t kNoEntry = ~std::uint32_t{0};

// The first entry of an id that has no end; kNoEntry if there is none.
MOTIFLUX_DEVICE std::uint32_t find_living(view::Version& version, std::uint32_t id) {
  const std::uint32_t* ids = version.ids();
  const std::uint32_t* end = ids + version.size;
  for (const std::uint32_t* at = sets::lower_bound(ids, end, id); at != end && *at == id; ++at)
    if (version.lives()[at - ids].last == view::Life::kForever) return static_cast<std::uint32_t>(at - ids);
  return kNoEntry;
}

// The same in a row of few entries: a group loads all of them, so that it waits for memory once.
template <std::uint32_t strips, class Lanes>
MOTIFLUX_DEVICE std::uint32_t find_at_once(const Lanes& lanes, view::Version& version, std::uint32_t id) {
  const std::uint32_t size = version.size;
  bool lives[strips];
  for (std::uint32_t strip = 0; strip < strips; ++strip) {
    const std::uint32_t entry = strip * Lanes::kLanes + lanes.lane();
    lives[strip] = false;
    if (entry >= size) continue;
    const std::uint32_t last = version.lives()[entry].last;
    lives[strip] = version.ids()[entry] == id && last == view::Life::kForever;
  }
  std::uint32_t found = kNoEntry;
  for (std::uint32_t strip = strips; strip-- > 0;) {
    const std::uint32_t living = lanes.ballot(lives[strip]);
    if (living != 0) found = strip * Lanes::kLanes + lowest_bit(living);
  }
  return found;
}

// The same, found by all lanes of a group: they look at as many entries at a time.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t find_living(const Lanes& lanes, view::Version& version, std::uint32_t id) {
  if constexpr (Lanes::kLanes == 1) return find_living(version, id);  // parts would not get shorter
  constexpr std::uint32_t kAtOnce = 4;
  const std::uint32_t* ids = version.ids();
  const std::uint32_t size = version.size;
  std::uint32_t first = 0, end = size;  // the first entry that is not less is in [first, end]
  if (size <= kAtOnce * Lanes::kLanes) return find_at_once<kAtOnce>(lanes, version, id);
  while (end - first > Lanes::kLanes) {
    const std::uint32_t step = (end - first + Lanes::kLanes - 1) / Lanes::kLanes;
    const std::uint32_t last = first + (lanes.lane() + 1) * step - 1;  // of the lane's part
    const bool is_less = last < end && ids[last] < id;
    const std::uint32_t parts = count_bits(lanes.ballot(is_less));
    first += parts * step;
    if (end - first > step) end = first + step;
  }
  for (; first < size; first += Lanes::kLanes) {
    const std::uint32_t entry = first + lanes.lane();
    const bool is_there = entry < size;
    const std::uint32_t found = is_there ? ids[entry] : 0;
    const bool lives = is_there && found == id && version.lives()[entry].last == view::Life::kForever;
    const std::uint32_t living = lanes.ballot(lives);
    if (living != 0) return first + lowest_bit(living);
    if (lanes.ballot(is_there && found > id) != 0) break;
  }
  return kNoEntry;
}

}  // namespace motiflux::streaming
