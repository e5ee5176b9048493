// The graph of a streaming kernel, and updates of it.
//
//   places of a class    | first row, end | first row, end | ...      the rows that an update is written to
//                          its source's     its target's
#pragma once

#include "motiflux/sets/span.hpp"
#include "motiflux/streaming/memory.hpp"
#include "motiflux/streaming/stages.hpp"
#include "motiflux/view/versions.hpp"

namespace motiflux::streaming {

static_assert(view::kVersionUnit == kUnitBytes && view::Life::kForever == ~std::uint32_t{0});

// An insertion or deletion of one edge.
struct Update {
  std::uint32_t source, target;
  std::uint32_t of;  // its class: the label of the edge and the labels of its ends
  std::uint32_t inserts;
};

// Where an update is written: to the row `first_row` + one end, with the other end as neighbour.
struct Place {
  std::uint32_t first_row;
  std::uint32_t of_target;  // whether the row is that of the target
};

struct StreamGraph {
  view::Versions versions;
  Pool pool;
  Stages stages;
  const std::uint32_t* classes;  // the first place of each class, and the end of the last ones
  const Place* places;
  std::uint32_t farthest_end;  // ends of lifetimes in place, relative to their version; at most kFarthestEnd
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

}  // namespace motiflux::streaming
