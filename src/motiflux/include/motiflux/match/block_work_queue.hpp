// The work queue of a block: its groups exchange work through shared memory.
//
// A group without work sets its bit in `waiting` and waits as long as another group of the block works. Both
// words of GroupActivity are hints, with one exception: the group that clears the bit of a waiting group
// decides how the wait ends.
//
// Passive: a working group sees the bit of a waiting group, clears it, writes half of a walk into the levels
// of the waiting group, and puts the level of the walk into that group's mailbox.
//
//   waiting  bit:    set by the group  --->  cleared by a giver  --->  mailbox: the level  --->  0: taken
//                           |
//                           +-------------->  cleared by the group itself: it leaves
//
// Active: a working group offers its shallowest walk, in its own word, and takes its own candidates from the
// offer too. A group without work takes the second half of an offer.
//
//   | busy: 1 | 2 | level: 5 | end: 28 | next: 28 |     left of the offer: [next .. end)
//
//   taken by its own group:  next + a few                  while next < end
//   taken by another group:  end - half of the rest, busy  while next < end and not busy
//                            not busy                      when it has copied its part
//   replaced, or taken back                                while not busy
//
// The offered walk, and the vertices of the levels before it, do not change while a part of the offer is left
// or the word is busy. So they are read after a take has succeeded, and belong to the offer that the range
// was taken from.
#pragma once

#include "motiflux/bits.hpp"
#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/device/backoff.hpp"
#include "motiflux/match/work_queue_task.hpp"

namespace motiflux::match {

enum class Stealing { kNone, kPassive, kActive };

inline constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};
inline constexpr std::uint32_t kLongestSleep = 512;  // nanoseconds between checks of a waiting group

struct GroupActivity {
  std::uint32_t working;  // groups that have work or are about to get some
  std::uint32_t waiting;  // a bit for each waiting group
};

// Shared memory of a block, for passive stealing.
struct Mailboxes {
  GroupActivity activity;
  std::uint32_t levels[kMostGroups];  // level of the walk written for the group; 0: none
};

struct Offers {
  GroupActivity activity;
  std::uint64_t words[kMostGroups];
  Cursor walks[kMostGroups];  // the offered walks, as they were at first
};

// How a kernel's groups get work of other groups of their block, the turns between checks for a waiting group
// of the block, and the turns between checks of the global queue (`outside`).
struct NoStealing {
  static constexpr Stealing kStealing = Stealing::kNone;
  static constexpr bool kMeasures = false;
  static constexpr bool kWholeUpdates = false;
};

template <std::int32_t turns, std::int32_t outside = kCheckTurns>
struct PassiveStealing : NoStealing {
  static constexpr Stealing kStealing = Stealing::kPassive;
  static constexpr std::int32_t kTurns = turns;
  static constexpr std::int32_t kChecksPerQueueCheck =
      outside < turns ? 1 : outside / turns;  // checks until a check of the global queue
  using Shared = Mailboxes;
};

template <std::int32_t turns, std::int32_t outside = kCheckTurns>
struct ActiveStealing : NoStealing {
  static constexpr Stealing kStealing = Stealing::kActive;
  static constexpr std::int32_t kTurns = turns;
  static constexpr std::int32_t kChecksPerQueueCheck = outside < turns ? 1 : outside / turns;
  using Shared = Offers;
};

// The same, and the kernel measures how long its groups have work (match/busy_clock.hpp).
template <class Within>
struct Clocked : Within {
  static constexpr bool kMeasures = true;
};

// The same, and a group searches from all roots of an update, one after the other.
template <class Within>
struct WholeUpdates : Within {
  static constexpr bool kWholeUpdates = true;
};

// Called by one lane of a block, before the other lanes begin.
MOTIFLUX_DEVICE void initialize(Mailboxes& mailboxes, std::uint32_t groups) {
  mailboxes.activity = {groups, 0};
  for (std::uint32_t group = 0; group < groups; ++group) mailboxes.levels[group] = 0;
}

MOTIFLUX_DEVICE void initialize(Offers& offers, std::uint32_t groups) {
  offers.activity = {groups, 0};
  for (std::uint32_t group = 0; group < groups; ++group) offers.words[group] = 0;
}

// Called by one lane of a group, like the functions below: the group has work, or is about to get some.
MOTIFLUX_DEVICE void begin_work(GroupActivity& activity) {
  device::block_wide(activity.working).fetch_add(1u, device::Order::kRelaxed);
}

MOTIFLUX_DEVICE void end_work(GroupActivity& activity) {
  device::block_wide(activity.working).fetch_add(~std::uint32_t{0}, device::Order::kRelaxed);
}

MOTIFLUX_DEVICE bool no_group_works(GroupActivity& activity) {
  return device::block_wide(activity.working).load(device::Order::kRelaxed) == 0;
}

MOTIFLUX_DEVICE bool a_group_waits(GroupActivity& activity) {
  return device::block_wide(activity.waiting).load(device::Order::kRelaxed) != 0;
}

// Clears the bit of a waiting group; returns whether it was still set.
MOTIFLUX_DEVICE bool clear_bit(GroupActivity& activity, std::uint32_t group) {
  const std::uint32_t bit = std::uint32_t{1} << group;
  return (device::block_wide(activity.waiting).fetch_and(~bit, device::Order::kAcqRel) & bit) != 0;
}

// Returns a waiting group, whose levels the caller may write until it calls `deliver_walk`; or kNoGroup.
MOTIFLUX_DEVICE std::uint32_t claim_waiting(GroupActivity& activity) {
  std::uint32_t waiting = device::block_wide(activity.waiting).load(device::Order::kRelaxed);
  for (; waiting != 0; waiting &= waiting - 1)
    if (clear_bit(activity, lowest_bit(waiting))) return lowest_bit(waiting);
  return kNoGroup;
}

MOTIFLUX_DEVICE void deliver_walk(Mailboxes& mailboxes, std::uint32_t group, std::uint32_t level) {
  begin_work(mailboxes.activity);
  device::block_wide(mailboxes.levels[group]).store(level, device::Order::kRelease);
}

// Marks the group as waiting: from now on other groups may write its levels.
MOTIFLUX_DEVICE void begin_to_wait(GroupActivity& activity, std::uint32_t group) {
  device::block_wide(activity.waiting).fetch_or(std::uint32_t{1} << group, device::Order::kRelease);
  end_work(activity);
}

// Waits for a walk; returns its level, or 0 if none will come.
MOTIFLUX_DEVICE std::uint32_t wait_for_walk(Mailboxes& mailboxes, std::uint32_t group) {
  begin_to_wait(mailboxes.activity, group);
  const auto mailbox = device::block_wide(mailboxes.levels[group]);
  device::Backoff backoff(2, kLongestSleep);
  for (;;) {
    if (const std::uint32_t level = mailbox.load(device::Order::kAcquire); level != 0) {
      mailbox.store(0u, device::Order::kRelaxed);
      return level;
    }
    if (no_group_works(mailboxes.activity) && clear_bit(mailboxes.activity, group)) return 0;
    backoff.wait();
  }
}

inline constexpr std::uint32_t kOfferBits = 28;
inline constexpr std::uint32_t kMostOffered = (std::uint32_t{1} << kOfferBits) - 1;
inline constexpr std::uint64_t kBusy = std::uint64_t{1} << 63;
static_assert(view::kMaxLevels <= 32, "a level has five bits");

MOTIFLUX_DEVICE std::uint64_t offer_of(std::uint32_t level, std::uint32_t count) {
  return std::uint64_t{level} << 2 * kOfferBits | std::uint64_t{count} << kOfferBits;
}

MOTIFLUX_DEVICE std::uint32_t next_of(std::uint64_t offer) {
  return static_cast<std::uint32_t>(offer) & kMostOffered;
}

MOTIFLUX_DEVICE std::uint32_t end_of(std::uint64_t offer) {
  return static_cast<std::uint32_t>(offer >> kOfferBits) & kMostOffered;
}

MOTIFLUX_DEVICE std::uint32_t level_of(std::uint64_t offer) {
  return static_cast<std::uint32_t>(offer >> 2 * kOfferBits) & 31;
}

MOTIFLUX_DEVICE std::uint32_t left_of(std::uint64_t offer) {
  return end_of(offer) - next_of(offer);
}

// A range of the offered candidates.
struct OfferRange {
  std::uint32_t first;
  std::uint32_t count;
};

// Called by the owner of the offer: takes the next few candidates. None if the offer is used up; then no
// group reads it any more.
MOTIFLUX_DEVICE OfferRange take_from_own_offer(std::uint64_t& word, std::uint32_t most) {
  const auto offer = device::block_wide(word);
  device::Backoff backoff(2, kLongestSleep);
  for (std::uint64_t found = offer.load(device::Order::kAcquire);;) {
    const std::uint32_t left = left_of(found), count = left < most ? left : most;
    if (count == 0 && (found & kBusy) == 0) return {0, 0};
    if (count == 0) {
      backoff.wait();
      found = offer.load(device::Order::kAcquire);
    } else if (offer.compare_exchange(found, found + count, device::Order::kAcquire)) {
      return {next_of(found), count};
    }
  }
}

// Called by the owner of the offer: takes the rest, once no other group reads it.
MOTIFLUX_DEVICE OfferRange take_back_all(std::uint64_t& word) {
  const auto offer = device::block_wide(word);
  device::Backoff backoff(2, kLongestSleep);
  for (std::uint64_t found = offer.load(device::Order::kAcquire);;) {
    if ((found & kBusy) != 0) {
      backoff.wait();
      found = offer.load(device::Order::kAcquire);
    } else if (offer.compare_exchange(found, std::uint64_t{0}, device::Order::kAcquire)) {
      return {next_of(found), left_of(found)};
    }
  }
}

// Whether an offer may be replaced: no candidates are left, and no group reads it.
MOTIFLUX_DEVICE bool is_used_up(std::uint64_t& word) {
  const std::uint64_t found = device::block_wide(word).load(device::Order::kAcquire);
  return left_of(found) == 0 && (found & kBusy) == 0;
}

// Offers the candidates [0, count) of a level. The offer before is used up.
MOTIFLUX_DEVICE void make_offer(std::uint64_t& word, std::uint32_t level, std::uint32_t count) {
  device::block_wide(word).store(offer_of(level, count), device::Order::kRelease);
}

// Takes the second half of the rest of an offer, if its word is still `seen`. On success the offer is busy
// until `release_offer`, to be called when all is copied.
MOTIFLUX_DEVICE bool take_half(std::uint64_t& word, std::uint64_t seen, OfferRange& range) {
  const std::uint32_t half = (left_of(seen) + 1) / 2;
  range = {end_of(seen) - half, half};
  const std::uint64_t rest = (seen - (std::uint64_t{half} << kOfferBits)) | kBusy;
  return device::block_wide(word).compare_exchange(seen, rest, device::Order::kAcqRel);
}

MOTIFLUX_DEVICE void release_offer(std::uint64_t& word) {
  device::block_wide(word).fetch_and(~kBusy, device::Order::kRelease);
}

// A range taken from the offer of another group.
struct StolenRange {
  std::uint32_t group;  // kNoGroup: none will come
  std::uint32_t level;
  OfferRange range;
};

// Waits for an offer of at least least(level) candidates and takes half of it: the shallowest walk's, among
// equal levels the longest's. The offer is busy until `release_offer`.
template <class Least>
MOTIFLUX_DEVICE StolenRange wait_for_offer(Offers& offers, std::uint32_t groups, std::uint32_t group,
                                           Least&& least) {
  begin_to_wait(offers.activity, group);
  device::Backoff backoff(2, kLongestSleep);
  for (;;) {
    std::uint64_t best = 0, best_rank = 0;
    std::uint32_t from = kNoGroup;
    for (std::uint32_t other = 0; other < groups; ++other) {
      const std::uint64_t seen = device::block_wide(offers.words[other]).load(device::Order::kRelaxed);
      const std::uint32_t left = left_of(seen), level = level_of(seen);
      if ((seen & kBusy) != 0 || left == 0 || left < least(level)) continue;
      const std::uint64_t rank = std::uint64_t{32 - level} << 32 | left;
      if (rank <= best_rank) continue;
      best = seen;
      best_rank = rank;
      from = other;
    }
    OfferRange range{};
    if (from != kNoGroup && take_half(offers.words[from], best, range)) {
      clear_bit(offers.activity, group);
      begin_work(offers.activity);
      return {from, level_of(best), range};
    }
    if (from == kNoGroup && no_group_works(offers.activity)) {
      clear_bit(offers.activity, group);
      return {kNoGroup, 0, {}};
    }
    backoff.wait();
  }
}

// Cuts off the candidates of a walk to offer: all candidates not yet judged, or else the waiting ones of its
// strip. If it is the group's current walk (`walked`), the next candidates are kept. Returns the number
// offered, or 0 if it would be less than `least`; then nothing is changed.
MOTIFLUX_DEVICE std::uint32_t cut_offer(Cursor& kept, Cursor& offered, bool walked, std::uint32_t strip,
                                        std::uint32_t least) {
  const std::uint32_t left = kept.next < kept.end ? kept.end - kept.next : 0;
  offered = kept;
  if (left > 0) {
    const std::uint32_t keep = !walked || kept.waiting != 0 ? 0 : left < strip ? left : strip;
    const std::uint32_t count = left - keep;
    if (count == 0 || count < least || count > kMostOffered) return 0;
    kept.end = offered.next = kept.next + keep;
    offered.waiting = 0;
    return count;
  }
  if (walked) offered.waiting &= offered.waiting - 1;
  const std::uint32_t count = count_bits(offered.waiting);
  if (count == 0 || count < least) return 0;
  kept.waiting ^= offered.waiting;
  return count;
}

// A walk over a range of an offer.
MOTIFLUX_DEVICE Cursor walk_over(const Cursor& offered, const OfferRange& range) {
  Cursor walk = offered;
  if (offered.waiting == 0) {
    walk.next = offered.next + range.first;
    walk.end = walk.next + range.count;
    return walk;
  }
  for (std::uint32_t skipped = 0; skipped < range.first; ++skipped) walk.waiting &= walk.waiting - 1;
  std::uint32_t later = walk.waiting;
  for (std::uint32_t taken = 0; taken < range.count; ++taken) later &= later - 1;
  walk.waiting ^= later;
  return walk;
}

// Appends a range to the kept candidates, which it follows directly.
MOTIFLUX_DEVICE void return_range(Cursor& kept, const Cursor& offered, const OfferRange& range) {
  const Cursor walk = walk_over(offered, range);
  if (offered.waiting == 0)
    kept.end = walk.end;
  else
    kept.waiting |= walk.waiting;
}

}  // namespace motiflux::match
