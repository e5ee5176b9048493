// The global work list of executors (DCSM 1.5.2): updates that are published or soon will be, and parts of
// searches that take long.
//
//   ticket       0        1         2        3        4        5
//                update   update    walk     roots    waits    waits
//                                                     issued            taken
//
//   works[ticket % size].state:   2 * lap       free, for this ticket
//                                 2 * lap + 1   the work is there; lap = ticket / size
//                                 2 * lap + 2   it was read: free for the ticket a lap later
//
// A group without work takes the next ticket and waits for the work of this ticket, whatever it is: groups
// that wait poll words of their own. Whoever has work takes the next number and writes it there. So `taken`
// greater than `issued` says that a group waits. There is room for all updates under way, and for two parts
// of each group: a group gives a part away only while another one waits, and parts that come too late wait
// for the next group. There is room, too, for the groups that are asked to help copying (kCopy): so many as
// wait then, so none of those that were asked before is left.
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/device/backoff.hpp"
#include "motiflux/match/changing_plan.hpp"
#include "motiflux/match/state.hpp"
#include "motiflux/streaming/stages.hpp"

namespace motiflux::streaming {

enum class WorkKind : std::uint32_t { kUpdate, kRoot, kRoots, kWalk, kCopy };

struct Work {
  std::uint32_t state;
  std::uint32_t kind;  // a WorkKind
  std::uint64_t moment;
  std::uint64_t awaited;       // kUpdate, kRoot: the update that is to be published before the search begins
  std::uint32_t plans, count;  // the plans of the update's kind: the first one, and how many
  std::uint32_t first, end;    // kRoots: those of them that are searched by
  std::uint32_t level;         // kWalk: the level that is walked
  std::uint32_t early;         // kUpdate, kRoot: whether it is searched before it is published
  match::Cursor cursor;        // kWalk; `base` is not valid
  // kWalk, kRoot: the root. Else its vertices and its sign are those of the update's roots.
  match::UpdateRoot root;
  std::uint32_t vertices[view::kMaxLevels];  // kWalk: of the levels before
};

struct WorkCounts {
  std::uint64_t taken;   // tickets of groups that have work or wait for some
  std::uint64_t issued;  // tickets whose work is there, or on its way
};

struct WorkList {
  WorkCounts* counts;
  Work* works;
  std::uint32_t size;  // a power of two
  std::uint32_t unused;

  MOTIFLUX_HOST_DEVICE Work& of(std::uint64_t ticket) const { return works[ticket & (size - 1)]; }
  MOTIFLUX_HOST_DEVICE std::uint32_t free_state(std::uint64_t ticket) const {
    return 2 * static_cast<std::uint32_t>(ticket / size);
  }
};

inline constexpr std::uint64_t kNoTicket = ~std::uint64_t{0};

// Whether a group waited for work a moment ago. Called by one lane.
MOTIFLUX_DEVICE bool a_group_waits(const WorkList& list) {
  const auto issued = device::device_wide(list.counts->issued).load(device::Order::kRelaxed);
  return device::device_wide(list.counts->taken).load(device::Order::kRelaxed) > issued;
}

// How many groups wait for work, or fewer.
MOTIFLUX_DEVICE std::uint64_t waiting_groups(const WorkList& list) {
  const auto taken = device::device_wide(list.counts->taken).load(device::Order::kAcquire);
  const auto issued = device::device_wide(list.counts->issued).load(device::Order::kRelaxed);
  return taken > issued ? taken - issued : 0;
}

// Whether the place of a ticket is free; then it is the ticket's. Called by the lane that is to write there.
MOTIFLUX_DEVICE bool is_free(const WorkList& list, std::uint64_t ticket) {
  return device::device_wide(list.of(ticket).state).load(device::Order::kAcquire) == list.free_state(ticket);
}

// The first of some tickets of work that the caller is to write, once there is place, and then to issue.
MOTIFLUX_DEVICE std::uint64_t open_work(const WorkList& list, std::uint32_t works) {
  return device::device_wide(list.counts->issued).fetch_add(std::uint64_t{works}, device::Order::kRelaxed);
}

// False if the kernel ends before there is place for the work of a ticket.
MOTIFLUX_DEVICE bool wait_for_place(const WorkList& list, const Stages& stages, std::uint64_t ticket) {
  device::Backoff backoff(16, 512);
  while (!is_free(list, ticket)) {
    if (must_stop(stages)) return false;
    backoff.wait();
  }
  return true;
}

MOTIFLUX_DEVICE void issue_work(const WorkList& list, std::uint64_t ticket) {
  device::device_wide(list.of(ticket).state).store(list.free_state(ticket) + 1, device::Order::kRelease);
}

// Waits for work; kNoTicket if the kernel ends. Called by one lane, which calls `release_work` once its group
// has read it. Groups whose tickets come soon look often. The flag to stop and the number of works are words
// that all groups read, so they do so seldom.
MOTIFLUX_DEVICE std::uint64_t take_work(const WorkList& list, const Stages& stages) {
  constexpr std::uint32_t kPollsOfOthers = 8, kSoon = 128, kShort = 64, kLong = 2048;
  const std::uint64_t ticket =
      device::device_wide(list.counts->taken).fetch_add(std::uint64_t{1}, device::Order::kRelaxed);
  const auto state = device::device_wide(list.of(ticket).state);
  const auto issued = device::device_wide(list.counts->issued);
  const std::uint32_t awaited = list.free_state(ticket) + 1;
  std::uint32_t sleep = kShort;
  for (std::uint32_t polls = 1; state.load(device::Order::kRelaxed) != awaited; ++polls) {
    if (polls % kPollsOfOthers == 0) {
      if (must_stop(stages)) return kNoTicket;
      sleep = issued.load(device::Order::kRelaxed) + kSoon > ticket ? kShort : kLong;
    }
    __nanosleep(sleep);
  }
  static_cast<void>(state.load(device::Order::kAcquire));
  return ticket;
}

MOTIFLUX_DEVICE void release_work(const WorkList& list, std::uint64_t ticket) {
  device::device_wide(list.of(ticket).state).store(list.free_state(ticket) + 2, device::Order::kRelease);
}

// Waits until an update is published; false if the kernel ends before. Called by one lane.
MOTIFLUX_DEVICE bool wait_until_published(const Stages& stages, std::uint64_t moment) {
  constexpr std::uint32_t kPolls = 16;  // between looks at the flag to stop
  const auto word = device::device_wide(stages.progress->published);
  for (std::uint32_t polls = 1; word.load(device::Order::kRelaxed) < moment; ++polls) {
    if (polls % kPolls == 0 && must_stop(stages)) return false;
    __nanosleep(32);
  }
  static_cast<void>(word.load(device::Order::kAcquire));
  return true;
}

// The same until it is committed.
MOTIFLUX_DEVICE bool wait_until_committed(const Stages& stages, std::uint64_t moment) {
  constexpr std::uint32_t kPolls = 16;
  const auto word = device::device_wide(stages.progress->committed);
  for (std::uint32_t polls = 1; word.load(device::Order::kRelaxed) < moment; ++polls) {
    if (polls % kPolls == 0 && must_stop(stages)) return false;
    __nanosleep(32);
  }
  return true;
}

}  // namespace motiflux::streaming
