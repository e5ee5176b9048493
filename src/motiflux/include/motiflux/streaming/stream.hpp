// The argument of the resident kernel: the graph, plans, the updates under way, and the rings.
//
//   updates       | line | line | ...            updates, written by the host (receive.hpp)
//   updater       pending[]                      those that were received and are not published yet
//   by slot       parts | totals                 of updates under way, slot = moment % slot_count
//   output ring   | packet | packet | ...        records, written by executors
//
//   plans of a kind    plan_ends[kind - 1] .. plan_ends[kind]: the roots of its updates, one for each plan
//   totals             [slots][most_roots], 128 bits each: what the searches from each root have found
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/device/ring.hpp"
#include "motiflux/match/task.hpp"
#include "motiflux/streaming/answer_line.hpp"
#include "motiflux/streaming/batch.hpp"
#include "motiflux/streaming/shortcuts.hpp"
#include "motiflux/streaming/stamps.hpp"
#include "motiflux/streaming/work.hpp"

namespace motiflux::streaming {

inline constexpr std::uint32_t kCollectorWarps = 2;
inline constexpr std::uint32_t kPair = 2;  // levels of a plan whose match is the changed edge itself

// Written by the host while the kernel runs, in its memory.
struct StreamControl {
  std::uint32_t stop;  // nonzero: all leave
  std::uint32_t
      park;  // nonzero: no further update is taken; once all that are published are collected, all leave
};

// What the kernel tells the host, in the host's memory. The host reads `finished`, with acquire, before
// `packets`: when it has taken so many packets, it has all records of these updates.
struct StreamStatus {
  std::uint64_t packets;    // by the collector: packets of the output ring that were begun
  std::uint64_t finished;   // by the collector: this update and all before are done
  std::uint64_t collected;  // by the collector
  std::uint64_t issued;     // by the collector: works of the work list
  std::uint64_t taken;      // by the collector: tickets of the work list
  std::uint64_t beats;      // of the collector
  std::uint64_t turns;      // by the collector: grows while executors search, or memory is put together
  std::uint64_t published;  // by the collector
  std::uint64_t received;   // by the collector: updates that the updater took from the host's lines
  std::uint64_t read;       // by the collector: lines of this update and all before may be written again
  std::uint32_t reason;     // by the collector: why the updater takes no further update, an End
  std::uint32_t unused;
};

// Why a kernel ended.
enum class End : std::uint32_t {
  kNone,
  kParked,     // the host asked for it
  kExhausted,  // memory does not suffice for the next update
  kTooLong,    // a row would get longer than candidate lists are
  kOverflow,   // a total has passed 128 bits
};

// Of the updater: in shared memory while it runs, in device memory while the kernel is parked.
struct Pending {
  std::uint64_t received;
  std::uint32_t count, written;  // updates, and those of them that are published
  std::uint32_t reason;          // an End
  std::uint32_t decision;        // of the first thread, for all
  std::uint32_t known_kinds;     // whose tables the updater sees
  std::uint32_t unused;
  std::uint64_t waits_since;  // nanoseconds; 0: it does not wait for more updates
  std::uint64_t early;        // updates that were handed over early, as bits, while the kernel runs
  StepTimes times;            // in units that measure steps
  Update updates[kMostUpdates];

  // Of the updates that are not written, those that were handed over early, as bits.
  MOTIFLUX_DEVICE std::uint64_t early_unwritten() const {
    return written < kMostUpdates ? early >> written : 0;
  }
};
static_assert(kMostUpdates <= 64, "Pending::early has a bit for each");

struct Stream {
  StreamGraph graph;
  match::ChangingPlans plan;  // `roots`: room for `roots_of_group` for each group
  match::Task task;           // of searches: candidate lists, shared memory, control
  WorkList work;
  const UpdateLine* updates;  // in the host's memory
  device::Ring output;
  StreamControl* control;
  StreamStatus* status;
  Pending* pending;
  Batch* batch;
  std::uint32_t* parts;            // by slot: of an update, those that are not done
  const std::uint32_t* plan_ends;  // by kind
  const std::uint32_t* plans;      // of each kind
  const std::uint32_t* listed;     // by plan: whether its matches are listed
  const std::uint32_t* early;      // by plan: when its searches may begin, an Early
  UpdateStamps* stamps;            // in units that measure stages
  AnswerLine* lines;               // in the host's memory; null: all answers are in the output ring
  std::uint32_t roots_of_group;
  std::uint32_t most_roots;
  std::uint32_t record_words;
  std::uint32_t updater_warps;
  std::uint32_t batch_updates;      // the updater waits for so many ...
  std::uint32_t batch_nanoseconds;  // ... but no longer
  std::uint32_t stamp_count;        // a power of two
  std::uint32_t line_count;         // likewise
  std::uint32_t update_count;       // likewise, of `updates`
  std::uint32_t name_count;         // names of rows that plans read
  std::uint32_t plan_bytes;         // of each plan, without what none of them uses
  std::uint32_t most_helpers;       // groups that are asked to copy strips of a batch
  std::uint32_t sorted_share;  // updates that wait are sorted if an unsorted batch has this share: 1 / ...
  std::uint32_t unused;

  MOTIFLUX_DEVICE void stamp(std::uint64_t moment, Stamp stamp, std::uint64_t now) const {
    write_stamp(stamps, stamp_count, moment, stamp, now);
  }

  // The plans of a kind: numbers of entries of `plans`.
  MOTIFLUX_DEVICE std::uint32_t first_plan(std::uint32_t kind) const { return plan_ends[kind]; }
  MOTIFLUX_DEVICE std::uint32_t end_plan(std::uint32_t kind) const { return plan_ends[kind + 1]; }

  MOTIFLUX_DEVICE std::uint32_t slot_of(std::uint64_t moment) const {
    return static_cast<std::uint32_t>(moment) & (graph.stages.slot_count - 1);
  }
  MOTIFLUX_DEVICE std::uint32_t line_of(std::uint64_t moment) const {
    return static_cast<std::uint32_t>(moment) & (line_count - 1);
  }
  // The total of an update's root.
  MOTIFLUX_DEVICE std::uint32_t total_of(std::uint64_t moment, std::uint32_t root) const {
    return slot_of(moment) * most_roots + root;
  }
};

// Notes why the kernel ends; the first reason stays.
MOTIFLUX_DEVICE void note_end(const Stream& stream, End reason) {
  const auto known = device::device_wide(stream.pending->reason);
  std::uint32_t found = 0;
  while (!known.compare_exchange(found, static_cast<std::uint32_t>(reason), device::Order::kRelaxed))
    if (found != 0) break;
}

// Ends the kernel.
MOTIFLUX_DEVICE void end_stream(const Stream& stream, End reason) {
  note_end(stream, reason);
  device::system_wide(stream.graph.stages.progress->stop).store(1u, device::Order::kRelease);
  device::device_wide(stream.task.control->stop)
      .store(static_cast<std::uint32_t>(match::Stop::kHost), device::Order::kRelease);
}

}  // namespace motiflux::streaming
