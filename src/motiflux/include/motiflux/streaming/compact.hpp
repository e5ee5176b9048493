// Moves all versions to the begin of a pool, so that what is free is in one piece.
//
//   before    | a a | free | b | free | c c c | free |  carved
//   after     | a a | b | c c c |                       carved
//
// Only while all that is published is done and collected: then nobody reads a version, and all blocks in use
// are the newest versions of rows, which tell their sizes and rows.
#pragma once

#include "motiflux/streaming/graph.hpp"
#include "motiflux/streaming/merge_free.hpp"

namespace motiflux::streaming {

namespace detail {

// Copies words to an earlier place, which may overlap.
template <class Lanes>
MOTIFLUX_DEVICE void move_down(const Lanes& lanes, const std::uint32_t* from, std::uint32_t* to,
                               std::uint64_t words) {
  for (std::uint64_t first = 0; first < words; first += Lanes::kLanes) {
    const std::uint64_t mine = first + lanes.lane();
    const std::uint32_t word = mine < words ? from[mine] : 0;
    lanes.sync();
    if (mine < words) to[mine] = word;
    lanes.sync();
  }
}

}  // namespace detail

// Called by all lanes of a group.
template <class Lanes>
MOTIFLUX_DEVICE_CALL void compact(const Lanes& lanes, const StreamGraph& graph) {
  const Pool& pool = graph.pool;
  detail::mark_all_free(lanes, pool);
  const std::uint64_t end = pool.counts->carved + 1;
  std::uint64_t to = 1;
  for (std::uint64_t at = 1;;) {
    at = detail::find_unit(lanes, pool, at, end, false);
    if (at == end) break;
    const view::Version version = *graph.version(static_cast<std::uint32_t>(at));
    const std::uint64_t bytes = view::bytes_of_version(version.size), units = units_for(bytes);
    MOTIFLUX_ASSERT(newest_of(graph, version.row) == at);
    lanes.sync();  // all have read the header
    if (to != at) {
      detail::move_down(lanes, pool.at<std::uint32_t>(static_cast<std::uint32_t>(at)),
                        pool.at<std::uint32_t>(static_cast<std::uint32_t>(to)), bytes / 4);
      if (lanes.leads())
        device::device_wide(graph.versions.heads[version.row].newest)
            .store(version.first << 32 | to, device::Order::kRelease);
    }
    to += units;
    at += units;
    detail::note_step(lanes, pool);
  }
  detail::clear_marks(lanes, pool, end, to - 1);
}

}  // namespace motiflux::streaming
