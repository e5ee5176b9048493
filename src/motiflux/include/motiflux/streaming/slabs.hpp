// Lists of the old versions of rows. The updater takes rows of slabs, the collector clears them; both do so
// under a lock of the list. Readers walk without it (view/versions.hpp).
//
// An old version is in the head of its row if there is none yet, which needs no lock: the updater alone
// writes it there, and the collector alone clears it. Most rows have one old version at most.
//
//   heads[row].slabs -> slab -> slab -> 0          a slab whose last row is cleared is unlinked: it goes to
//                                                  a stack, and is freed when no reader can be in it
#pragma once

#include "motiflux/bits.hpp"
#include "motiflux/device/backoff.hpp"
#include "motiflux/streaming/graph.hpp"

namespace motiflux::streaming {

struct SlabRow {
  std::uint32_t slab, number;
};

namespace detail {

inline constexpr std::uint64_t kLocked = std::uint64_t{1} << 32;

// Locks a list if nobody has done so; `first` becomes its first slab.
MOTIFLUX_DEVICE bool try_lock_list(view::RowHead& head, std::uint32_t& first) {
  const auto word = device::device_wide(head.slabs);
  std::uint64_t found = word.load(device::Order::kRelaxed);
  if ((found & kLocked) != 0) return false;
  if (!word.compare_exchange(found, found | kLocked, device::Order::kAcquire)) return false;
  first = static_cast<std::uint32_t>(found);
  return true;
}

// Returns the first slab.
MOTIFLUX_DEVICE std::uint32_t lock_list(view::RowHead& head) {
  device::Backoff backoff(4, 512);
  std::uint32_t first;
  while (!try_lock_list(head, first)) backoff.wait();
  return first;
}

MOTIFLUX_DEVICE void unlock_list(view::RowHead& head, std::uint32_t first) {
  device::device_wide(head.slabs).store(first, device::Order::kRelease);
}

// Unlinks a slab of a locked list; returns the list's first slab.
MOTIFLUX_DEVICE std::uint32_t unlink(const StreamGraph& graph, std::uint32_t first, std::uint32_t slab) {
  const std::uint32_t next = graph.pool.at<view::Slab>(slab)->next;
  if (first == slab) return next;
  std::uint32_t before = first;
  while (graph.pool.at<view::Slab>(before)->next != slab) before = graph.pool.at<view::Slab>(before)->next;
  device::device_wide(graph.pool.at<view::Slab>(before)->next).store(next, device::Order::kRelease);
  return first;
}

MOTIFLUX_DEVICE void push_unlinked(const StreamGraph& graph, std::uint32_t slab) {
  Progress& progress = *graph.stages.progress;
  device::device_wide(progress.unlinked).fetch_add(1, device::Order::kRelaxed);
  const auto top = device::device_wide(progress.unlinked_top);
  std::uint32_t next = top.load(device::Order::kRelaxed);
  do {
    link_of(graph.pool, slab).store(next, device::Order::kRelaxed);
  } while (!top.compare_exchange(next, slab, device::Order::kAcqRel));
}

MOTIFLUX_DEVICE bool take_row(const StreamGraph& graph, view::RowHead& head, SlabRow& taken) {
  const std::uint32_t first = lock_list(head);
  std::uint32_t slab = first;
  while (slab != 0 && graph.pool.at<view::Slab>(slab)->used == ~std::uint32_t{0})
    slab = graph.pool.at<view::Slab>(slab)->next;
  if (slab != 0) {
    std::uint32_t& used = graph.pool.at<view::Slab>(slab)->used;
    taken = {slab, lowest_bit(~used)};
    used |= std::uint32_t{1} << taken.number;
  }
  unlock_list(head, first);
  return slab != 0;
}

}  // namespace detail

// Has a slab that no list has hold no versions; its first row is taken. Called by one lane.
MOTIFLUX_DEVICE_CALL void clear_slab(const Pool& pool, std::uint32_t block) {
  view::Slab& slab = *pool.at<view::Slab>(block);
  slab.used = 1;
  device::device_wide(slab.next).store(std::uint32_t{0}, device::Order::kRelaxed);
  for (std::uint32_t number = 0; number < view::kRowsOfSlab; ++number)
    device::device_wide(slab.first[number]).store(view::kFreeRow, device::Order::kRelaxed);
}

// Whether a row has no slabs. Then it has none until its updater gives it one.
MOTIFLUX_DEVICE bool has_no_slabs(const StreamGraph& graph, std::uint32_t row) {
  return device::device_wide(graph.versions.heads[row].slabs).load(device::Order::kRelaxed) == 0;
}

// Gives a row without slabs its first one; called by one lane.
MOTIFLUX_DEVICE void give_first_slab(const StreamGraph& graph, std::uint32_t row, std::uint32_t slab) {
  detail::unlock_list(graph.versions.heads[row], slab);
}

// Whether a row's head has no old version. Then it has none until its updater writes one. It need not be
// acquired: a reader that sees what is written there afterwards, by a release, sees no earlier value.
MOTIFLUX_DEVICE bool has_room_in_head(const StreamGraph& graph, std::uint32_t row) {
  return device::device_wide(graph.versions.heads[row].old_first).load(device::Order::kRelaxed) == 0;
}

// Writes a version that ends into the head of its row, where there is room; to be called before the next
// version is released. `last` is released: who reads it sees that what was there before is cleared.
MOTIFLUX_DEVICE void write_in_head(const StreamGraph& graph, std::uint32_t row, std::uint32_t version,
                                   std::uint64_t last) {
  view::RowHead& head = graph.versions.heads[row];
  const std::uint64_t first = graph.version(version)->first;  // on its way before the release waits
  device::device_wide(head.old_last).store(last, device::Order::kRelease);
  device::device_wide(head.old).store(version, device::Order::kRelaxed);
  device::device_wide(head.old_first).store(first + 1, device::Order::kRelaxed);
}

MOTIFLUX_DEVICE void clear_in_head(const StreamGraph& graph, std::uint32_t row) {
  device::device_wide(graph.versions.heads[row].old_first).store(std::uint64_t{0}, device::Order::kRelease);
}

// Takes a row of a slab for the version that a row has now; false if memory is short. Called by one lane.
MOTIFLUX_DEVICE_CALL bool take_slab_row(const StreamGraph& graph, std::uint32_t row, SlabRow& taken) {
  view::RowHead& head = graph.versions.heads[row];
  if (detail::take_row(graph, head, taken)) return true;
  const std::uint32_t block = take(graph.pool, sizeof(view::Slab));
  if (block == kNoBlock) return false;
  clear_slab(graph.pool, block);
  view::Slab& slab = *graph.pool.at<view::Slab>(block);
  const std::uint32_t next = detail::lock_list(head);
  device::device_wide(slab.next).store(next, device::Order::kRelaxed);
  detail::unlock_list(head, block);
  taken = {block, 0};
  return true;
}

// Writes a version that ended into a row that was taken for it; the first moment comes last. Called by one
// lane.
MOTIFLUX_DEVICE void write_slab_row(const StreamGraph& graph, const SlabRow& row, std::uint32_t version,
                                    std::uint64_t last) {
  view::Slab& slab = *graph.pool.at<view::Slab>(row.slab);
  device::device_wide(slab.last[row.number]).store(last, device::Order::kRelease);
  device::device_wide(slab.versions[row.number]).store(version, device::Order::kRelease);
  device::device_wide(slab.first[row.number]).store(graph.version(version)->first, device::Order::kRelease);
}

namespace detail {

// Clears a row of a slab of a locked list, and unlocks the list.
MOTIFLUX_DEVICE void clear_and_unlock(const StreamGraph& graph, view::RowHead& head, std::uint32_t first,
                                      const SlabRow& cleared) {
  view::Slab& slab = *graph.pool.at<view::Slab>(cleared.slab);
  device::device_wide(slab.first[cleared.number]).store(view::kFreeRow, device::Order::kRelaxed);
  slab.used &= ~(std::uint32_t{1} << cleared.number);
  const bool empty = slab.used == 0;
  if (empty) first = unlink(graph, first, cleared.slab);
  unlock_list(head, first);
  if (empty) push_unlinked(graph, cleared.slab);
}

}  // namespace detail

// Clears a row of a slab, or gives back one that was taken. Called by one lane.
MOTIFLUX_DEVICE_CALL void clear_slab_row(const StreamGraph& graph, std::uint32_t row,
                                         const SlabRow& cleared) {
  view::RowHead& head = graph.versions.heads[row];
  detail::clear_and_unlock(graph, head, detail::lock_list(head), cleared);
}

// The same, if nobody else has locked the list: lanes of a warp, which may clear rows of one list, do not
// wait for each other.
MOTIFLUX_DEVICE bool try_clear_slab_row(const StreamGraph& graph, std::uint32_t row, const SlabRow& cleared) {
  view::RowHead& head = graph.versions.heads[row];
  std::uint32_t first;
  if (!detail::try_lock_list(head, first)) return false;
  detail::clear_and_unlock(graph, head, first, cleared);
  return true;
}

}  // namespace motiflux::streaming
