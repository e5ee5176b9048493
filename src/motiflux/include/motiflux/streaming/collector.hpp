// Frees versions that no search can read any more, and slabs that no search can be in (DCSM 1.6).
//
//   moments      1    2    3    4    5    6    7      done: 1 2 3 5
//                          |finished 3                all up to here are done
//   cut by            v    v    w                     versions that end before 2, 3, 4: freed
//
// A version that update t cut ends at t - 1, and is freed when all updates up to t - 1 are done. Those that
// update 1 cut belong to the first graph.
#pragma once

#include "motiflux/streaming/slabs.hpp"

namespace motiflux::streaming {

namespace detail {

// The last update up to which all are done.
template <class Lanes>
MOTIFLUX_DEVICE std::uint64_t find_finished(const Lanes& lanes, const Stages& stages, std::uint64_t finished,
                                            std::uint64_t published) {
  for (;;) {
    const std::uint64_t moment = finished + 1 + lanes.lane();
    const bool done = moment <= published &&
                      device::device_wide(stages.slot(moment).done).load(device::Order::kAcquire) == moment;
    const std::uint32_t open = ~lanes.ballot(done) & bits_below(Lanes::kLanes);
    if (open != 0) return finished + lowest_bit(open);
    finished += Lanes::kLanes;
  }
}

// In debug builds, what is freed holds nothing that a reader could take for a row.
MOTIFLUX_DEVICE void wipe(const StreamGraph& graph, std::uint32_t block, std::uint64_t bytes) {
#if defined(MOTIFLUX_CHECKS_VERSIONS)
  for (std::uint64_t word = 1; word < bytes / 4; ++word) graph.pool.at<std::uint32_t>(block)[word] = 0;
#else
  static_cast<void>(graph), static_cast<void>(block), static_cast<void>(bytes);
#endif
}

// Frees a version that is in a slab. Called by all lanes.
template <class Lanes>
MOTIFLUX_DEVICE void free_version(const Lanes& lanes, const StreamGraph& graph, std::uint32_t block) {
  const view::Version& version = *graph.version(block);
  const std::uint32_t row = version.row;
  // Only this group clears rows that hold versions, so the slab of this one stays in the list.
  std::uint32_t slab = static_cast<std::uint32_t>(
      device::device_wide(graph.versions.heads[row].slabs).load(device::Order::kAcquire));
  slab = lanes.broadcast(slab);
  for (;;) {
    lanes.sync();
    MOTIFLUX_ASSERT(slab != 0);
    std::uint32_t number = lanes.lane(), found = 0;
    for (; number < view::kRowsOfSlab; number += Lanes::kLanes) {
      view::Slab& rows = *graph.pool.at<view::Slab>(slab);
      const bool is_it =
          device::device_wide(rows.first[number]).load(device::Order::kAcquire) == version.first &&
          device::device_wide(rows.versions[number]).load(device::Order::kRelaxed) == block;
      found = lanes.ballot(is_it);
      if (found != 0) break;
    }
    if (found != 0) {
      number = number - lanes.lane() + lowest_bit(found);
      if (lanes.leads()) clear_slab_row(graph, row, {slab, number});
      break;
    }
    slab = lanes.broadcast(
        device::device_wide(graph.pool.at<view::Slab>(slab)->next).load(device::Order::kAcquire));
  }
  if (!lanes.leads()) return;
  ++graph.stages.progress->freed_versions;
  const std::uint64_t bytes = view::bytes_of_version(version.size);
  wipe(graph, block, bytes);
  give(graph.pool, block, bytes);
}

// Takes over the slabs that were unlinked since the last time. Called by one lane.
MOTIFLUX_DEVICE void take_over_slabs(const StreamGraph& graph) {
  Progress& progress = *graph.stages.progress;
  const auto top = device::device_wide(progress.unlinked_top);
  if (top.load(device::Order::kRelaxed) == 0) return;
  std::uint32_t slab = top.exchange(std::uint32_t{0}, device::Order::kAcquire);
  const std::uint64_t now = published_by_now(graph.stages);
  while (slab != 0) {
    const std::uint32_t next = link_of(graph.pool, slab).load(device::Order::kRelaxed);
    graph.pool.at<view::Slab>(slab)->unlinked = now;
    link_of(graph.pool, slab).store(std::uint32_t{0}, device::Order::kRelaxed);
    if (progress.first_waiting == 0)
      progress.first_waiting = slab;
    else
      link_of(graph.pool, progress.last_waiting).store(slab, device::Order::kRelaxed);
    progress.last_waiting = slab;
    slab = next;
  }
}

// Frees slabs that no reader can be in. Called by one lane.
MOTIFLUX_DEVICE void free_slabs(const StreamGraph& graph, std::uint64_t finished) {
  Progress& progress = *graph.stages.progress;
  while (progress.first_waiting != 0) {
    const std::uint32_t slab = progress.first_waiting;
    if (graph.pool.at<view::Slab>(slab)->unlinked > finished) return;
    progress.first_waiting = link_of(graph.pool, slab).load(device::Order::kRelaxed);
    wipe(graph, slab, sizeof(view::Slab));
    give(graph.pool, slab, sizeof(view::Slab));
    ++progress.freed_slabs;
    device::device_wide(progress.unlinked).fetch_add(~std::uint64_t{0}, device::Order::kRelease);
  }
}

}  // namespace detail

// Frees what may be freed now, but of the lists of at most `most` updates; whether it did anything. Called by
// all lanes of the one group that collects.
template <class Lanes>
MOTIFLUX_DEVICE bool collect(const Lanes& lanes, const StreamGraph& graph, std::uint64_t most) {
  Progress& progress = *graph.stages.progress;
  lanes.sync();
  const std::uint64_t before = progress.finished, collected = progress.collected;
  const std::uint64_t last = lanes.broadcast(published(graph.stages));
  lanes.sync();
  const std::uint64_t finished = detail::find_finished(lanes, graph.stages, before, last);
  lanes.sync();
  std::uint64_t cleared = progress.cleared;
  for (; most > 0 && cleared < last && cleared <= finished; ++cleared, --most) {
    std::uint32_t block = graph.stages.slot(cleared + 1).cut;
    while (block != kNoBlock) {
      const std::uint32_t next = lanes.broadcast(link_of(graph.pool, block).load(device::Order::kRelaxed));
      detail::free_version(lanes, graph, block);
      block = next;
    }
  }
  lanes.sync();
  const std::uint64_t reusable = cleared < finished ? cleared : finished;
  if (lanes.leads()) {
    detail::take_over_slabs(graph);
    detail::free_slabs(graph, finished);
    progress.cleared = cleared;
    device::device_wide(progress.finished).store(finished, device::Order::kRelease);
    device::device_wide(progress.collected).store(reusable, device::Order::kRelease);
  }
  lanes.sync();
  return finished != before || reusable != collected;
}

// Whether all that is published is done and collected, and no slab waits to be freed: the collector does
// nothing until more is published.
MOTIFLUX_DEVICE bool is_all_collected(const Stages& stages, std::uint64_t published) {
  return device::device_wide(stages.progress->collected).load(device::Order::kAcquire) == published &&
         device::device_wide(stages.progress->unlinked).load(device::Order::kAcquire) == 0;
}

}  // namespace motiflux::streaming
