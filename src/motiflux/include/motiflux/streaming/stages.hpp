// How far updates are: what updaters, executors and the collector tell each other.
//
//     moments   0 ...                              collected      finished     published
//               | collected: slots are used again | done | some are done | not written yet |
//
//     slots[moment % slot_count]   effect, versions that the update cut, whether it is done
//
// Moments are the numbers of updates, from 1 on; 0 is the first graph. All words are 0 at first.
#pragma once

#include "motiflux/device/atomic_ref.hpp"

namespace motiflux::streaming {

// When an update is searched by a plan.
enum class Early : std::uint32_t {
  kNot,     // once it is published
  kNext,    // once all before it are published
  kOfPair,  // once all before it are published but those with other ends: only rows of its ends are read
};

enum class Effect : std::uint32_t { kNone, kAppears, kVanishes };

struct UpdateSlot {
  std::uint64_t done;    // the update of this slot that is done
  std::uint32_t cut;     // a list of versions, by their links; written before the update is published
  std::uint32_t effect;  // an Effect
};

struct Progress {
  std::uint64_t published;  // by the updater: this update and all before are written
  std::uint64_t taken;      // by executors: updates that were taken to be searched
  std::uint64_t finished;   // by the collector: this update and all before are done
  std::uint64_t cleared;    // by the collector: updates whose cut versions are freed; at most finished
  std::uint64_t collected;  // by the collector: slots of this update and all before may be used again
  std::uint64_t unlinked;   // slabs that were unlinked and are not freed
  std::uint64_t freed_versions, freed_slabs;
  std::uint64_t begun;         // by the updater: this update and all before are published, or may be searched
  std::uint64_t committed;     // by the updater: this update and all before are published, or will be
  std::uint64_t early_ended;   // by executors: early searches that read no more, or are early no more
  std::uint64_t turns;         // by executors, for the watchdog: grows while they search
  std::uint32_t unlinked_top;  // a stack of slabs that the collector has not seen yet
  std::uint32_t first_waiting, last_waiting;  // by the collector: slabs in the order of their freeing
  std::uint32_t stop;                         // nonzero: all leave
  std::uint32_t exhausted;                    // by the updater: memory does not suffice for one update
  std::uint32_t violated;                     // a line of invariants.hpp that did not hold, in debug builds
  std::uint32_t parks;                        // by the collector: the host asks for the kernel to be parked
  std::uint32_t unused;
};

struct Stages {
  Progress* progress;
  UpdateSlot* slots;
  std::uint32_t slot_count;  // a power of two, at most view::kMostInFlight
  std::uint32_t unused;

  MOTIFLUX_HOST_DEVICE UpdateSlot& slot(std::uint64_t moment) const {
    return slots[moment & (slot_count - 1)];
  }
};

// Lanes of a group may find different answers.
MOTIFLUX_DEVICE bool must_stop(const Stages& stages) {
  return device::system_wide(stages.progress->stop).load(device::Order::kRelaxed) != 0;
}

// Tells that updates up to a moment may be searched from now on, before anybody gets to know of them; if they
// are not published, that those up to an earlier one are. A read-modify-write, as the collector's in
// `begun_by_now`: either that one sees these updates, or those who see one of them see what the collector did
// before.
MOTIFLUX_DEVICE void begin(const Stages& stages, std::uint64_t moment) {
  device::device_wide(stages.progress->begun).exchange(moment, device::Order::kAcqRel);
}

MOTIFLUX_DEVICE std::uint64_t begun_by_now(const Stages& stages) {
  return device::device_wide(stages.progress->begun).fetch_add(0, device::Order::kAcqRel);
}

// Publishes updates up to a moment, which were begun; all that was written for them is visible to those who
// see the number.
MOTIFLUX_DEVICE void publish(const Stages& stages, std::uint64_t moment) {
  device::device_wide(stages.progress->published).store(moment, device::Order::kRelease);
}

MOTIFLUX_DEVICE std::uint64_t published(const Stages& stages) {
  return device::device_wide(stages.progress->published).load(device::Order::kAcquire);
}

// Of the updater: updates that were handed over to be searched before they are published.
struct EarlySearches {
  std::uint64_t begun;  // how many there were since the kernel was launched
  std::uint64_t ahead;  // they are among so many updates after the last one that is published or written
};

// The same as `begin`, and so many more updates are begun: they may be searched already.
MOTIFLUX_DEVICE void begin_ahead(const Stages& stages, const EarlySearches& early, std::uint64_t moment) {
  begin(stages, moment + early.ahead);
}

// Notes that an early search reads no more, or goes on as any other, as its update is published. Called by
// one lane of its group.
MOTIFLUX_DEVICE void end_early(const Stages& stages) {
  device::device_wide(stages.progress->early_ended).fetch_add(std::uint64_t{1}, device::Order::kRelease);
}

// Whether an early search reads the graph, though its update may not be published.
MOTIFLUX_DEVICE bool is_read_early(const Stages& stages, const EarlySearches& early) {
  return device::device_wide(stages.progress->early_ended).load(device::Order::kAcquire) != early.begun;
}

// Tells that updates up to a moment, which are begun, will be published whatever happens.
MOTIFLUX_DEVICE void commit(const Stages& stages, std::uint64_t moment) {
  device::device_wide(stages.progress->committed).store(moment, device::Order::kRelaxed);
}

// Called by one lane of a group that has read all it needs for the update.
MOTIFLUX_DEVICE void finish(const Stages& stages, std::uint64_t moment) {
  device::device_wide(stages.slot(moment).done).store(moment, device::Order::kRelease);
}

// The last moment whose slot is free.
MOTIFLUX_DEVICE std::uint64_t last_free_slot(const Stages& stages) {
  return device::device_wide(stages.progress->collected).load(device::Order::kAcquire) + stages.slot_count;
}

}  // namespace motiflux::streaming
