// Frees versions that no search can read any more, and slabs that no search can be in (DCSM 1.6).
//
//   moments      1    2    3    4    5    6    7      done: 1 2 3 5
//                          |finished 3                all up to here are done
//   cut by       v    v    w                          versions that end before 1, 2, 3: freed
//
// A version that update t cut ends at t - 1, and is freed when all updates up to t are done: the search of
// update t may begin before t is published, and reads the graph as it was before (executor.hpp). Those that
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

// The row of a slab that a version is in; no slab: it is in the head.
MOTIFLUX_DEVICE SlabRow slab_row_of(const StreamGraph& graph, std::uint32_t block) {
  // Rows that hold versions are cleared here only, so the slab stays in the list until then.
  SlabRow found{graph.version(block)->ended, 0};
  if (found.slab == kNoBlock) return found;
  view::Slab& slab = *graph.pool.at<view::Slab>(found.slab);
  while (device::device_wide(slab.versions[found.number]).load(device::Order::kRelaxed) != block ||
         device::device_wide(slab.first[found.number]).load(device::Order::kRelaxed) == view::kFreeRow)
    ++found.number;
  MOTIFLUX_ASSERT(found.number < view::kRowsOfSlab);
  return found;
}

// Clears the place of an old version, if nobody else has locked the row's list.
MOTIFLUX_DEVICE bool try_clear_place(const StreamGraph& graph, std::uint32_t row, const SlabRow& place) {
  if (place.slab != kNoBlock) return try_clear_slab_row(graph, row, place);
  clear_in_head(graph, row);
  return true;
}

// Frees the versions that some updates cut, those of one update by each lane; `moment` is 0 for lanes without
// one. Returns how many versions a lane has freed.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t free_cut(const Lanes& lanes, const StreamGraph& graph, std::uint64_t moment) {
  std::uint32_t freed = 0;
  std::uint32_t block = moment != 0 ? graph.stages.slot(moment).cut : kNoBlock;
  SlabRow at{};
  if (block != kNoBlock) at = slab_row_of(graph, block);
  while (lanes.ballot(block != kNoBlock) != 0) {
    if (block == kNoBlock || !try_clear_place(graph, graph.version(block)->row, at)) continue;
    const std::uint32_t next = link_of(graph.pool, block).load(device::Order::kRelaxed);
    const std::uint64_t bytes = view::bytes_of_version(graph.version(block)->size);
    wipe(graph, block, bytes);
    give(graph.pool, block, bytes);
    ++freed;
    block = next;
    if (block != kNoBlock) at = slab_row_of(graph, block);
  }
  return freed;
}

// Takes over the slabs that were unlinked since the last time. Called by one lane.
MOTIFLUX_DEVICE void take_over_slabs(const StreamGraph& graph) {
  Progress& progress = *graph.stages.progress;
  const auto top = device::device_wide(progress.unlinked_top);
  if (top.load(device::Order::kRelaxed) == 0) return;
  std::uint32_t slab = top.exchange(std::uint32_t{0}, device::Order::kAcquire);
  const std::uint64_t now = begun_by_now(graph.stages);
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

// Frees slabs that no reader can be in: all updates are done that were begun when it was unlinked, or all
// that are begun now, where a batch was begun in vain. Called by one lane.
MOTIFLUX_DEVICE void free_slabs(const StreamGraph& graph, std::uint64_t finished) {
  Progress& progress = *graph.stages.progress;
  while (progress.first_waiting != 0) {
    const std::uint32_t slab = progress.first_waiting;
    if (graph.pool.at<view::Slab>(slab)->unlinked > finished && begun_by_now(graph.stages) > finished) return;
    progress.first_waiting = link_of(graph.pool, slab).load(device::Order::kRelaxed);
    wipe(graph, slab, sizeof(view::Slab));
    give(graph.pool, slab, sizeof(view::Slab));
    ++progress.freed_slabs;
    device::device_wide(progress.unlinked).fetch_add(~std::uint64_t{0}, device::Order::kRelease);
  }
}

}  // namespace detail

// Moves `finished` on as far as updates are done; whether it moved. Called by all lanes of the one group that
// collects.
template <class Lanes>
MOTIFLUX_DEVICE bool find_finished(const Lanes& lanes, const StreamGraph& graph) {
  Progress& progress = *graph.stages.progress;
  lanes.sync();
  const std::uint64_t before = progress.finished;
  const std::uint64_t last = lanes.broadcast(published(graph.stages));
  lanes.sync();
  const std::uint64_t finished = detail::find_finished(lanes, graph.stages, before, last);
  lanes.sync();
  if (lanes.leads()) device::device_wide(progress.finished).store(finished, device::Order::kRelease);
  lanes.sync();
  return finished != before;
}

// Frees what may be freed now, but of the lists of at most `most` updates; whether it did anything. Called by
// all lanes of the one group that collects, which may be another one than that which finds what is finished.
template <class Lanes>
MOTIFLUX_DEVICE bool free_collected(const Lanes& lanes, const StreamGraph& graph, std::uint64_t most) {
  Progress& progress = *graph.stages.progress;
  lanes.sync();
  const std::uint64_t finished =
      lanes.broadcast(device::device_wide(progress.finished).load(device::Order::kAcquire));
  const std::uint64_t collected = progress.collected;
  std::uint64_t cleared = progress.cleared;
  lanes.sync();
  std::uint64_t freed = 0;
  while (most > 0 && cleared < finished) {
    std::uint64_t some = finished - cleared < most ? finished - cleared : most;
    if (some > Lanes::kLanes) some = Lanes::kLanes;
    freed += detail::free_cut(lanes, graph, lanes.lane() < some ? cleared + 1 + lanes.lane() : 0);
    lanes.sync();
    cleared += some;
    most -= some;
  }
  freed = lanes.sum(freed);
  if (lanes.leads()) {
    progress.freed_versions += freed;
    detail::take_over_slabs(graph);
    detail::free_slabs(graph, finished);
    progress.cleared = cleared;
    device::device_wide(progress.collected).store(cleared, device::Order::kRelease);
  }
  lanes.sync();
  return cleared != collected;
}

// Both.
template <class Lanes>
MOTIFLUX_DEVICE bool collect(const Lanes& lanes, const StreamGraph& graph, std::uint64_t most) {
  const bool moved = find_finished(lanes, graph);
  return free_collected(lanes, graph, most) || moved;
}

// Whether all that is published is done and collected, and no slab waits to be freed: the collector does
// nothing until more is published.
MOTIFLUX_DEVICE bool is_all_collected(const Stages& stages, std::uint64_t published) {
  return device::device_wide(stages.progress->collected).load(device::Order::kAcquire) == published &&
         device::device_wide(stages.progress->unlinked).load(device::Order::kAcquire) == 0;
}

}  // namespace motiflux::streaming
