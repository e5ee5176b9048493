// A batch from its updates to its publication.
#pragma once

#include "motiflux/streaming/collector.hpp"
#if defined(MOTIFLUX_CHECKS_VERSIONS)
#include "motiflux/streaming/invariants.hpp"
#else
#include "motiflux/streaming/write_versions.hpp"
#endif
#include "motiflux/streaming/compact.hpp"

namespace motiflux::streaming {

namespace detail {

// Waits until slots are free up to a moment; false if the kernel is to stop.
template <class Team, class Batch>
MOTIFLUX_DEVICE bool wait_for_slots(const Team& team, const Stages& stages, Batch& batch, std::uint64_t last,
                                    std::uint64_t& free_until) {
  if (last <= free_until) return true;
  const bool goes_on = wait_until(team, stages, batch, [&] {
    batch.first = last_free_slot(stages);
    return last <= batch.first;
  });
  if (goes_on) free_until = batch.first;
  team.sync();  // all have read it
  return goes_on;
}

}  // namespace detail

enum class Written { kYes, kStopped, kExhausted, kTooLong };

// Writes and publishes updates, of which the first has the moment after the last one published. `count`
// becomes the number that was published: less than given if memory is short, or a batch holds no more. The
// batch has room for the changes of one update.
// kExhausted: memory does not suffice for one update, with all collected and compacted; kTooLong: a row would
// get more than `most_entries`; nothing has changed.
// `lanes`: of the team's first threads, who merge.
// `before`: the last moment that is published. `free_until`: a moment up to which slots are known to be free.
// `early`: updates that may be searched already. `ask`: asks others to copy long rows (write_batch).
template <class Team, class Lanes, class Batch, class Kept, class Ask>
MOTIFLUX_DEVICE_CALL Written write_updates(const Team& team, const Lanes& lanes, const StreamGraph& graph,
                                           const Update* updates, std::uint64_t before, std::uint32_t& count,
                                           Batch& batch, Kept& kept, std::uint64_t& free_until,
                                           const EarlySearches& early, const Ask& ask) {
  const Stages& stages = graph.stages;
  count = fit_batch(lanes, graph, updates, count, batch.room());
  enum { kScattered, kMerged, kCompact } memory = kScattered;
  for (;;) {
    if (!detail::wait_for_slots(team, stages, batch, before + count, free_until)) return Written::kStopped;
    end_step(team, batch, Step::kRoom);
    if (team.thread() == 0) begin_ahead(stages, early, before + count);
    prepare_batch(team, lanes, graph, updates, count, before + 1, batch);
    const bool too_long = batch.too_long != 0;
    if (!too_long) {
      const Outcome outcome = write_batch(team, lanes, graph, batch, kept, memory != kScattered, ask);
      if (outcome == Outcome::kStopped) return Written::kStopped;
      if (outcome == Outcome::kWritten) break;
    }
    // Slabs wait for updates that are begun, and memory moves when nobody reads it.
    if (!detail::wait_until(team, stages, batch, [&] { return !is_read_early(stages, early); }))
      return Written::kStopped;
    if (team.thread() == 0) begin(stages, before);
    if (count == 1 && too_long) return Written::kTooLong;
    if (count == 1 && memory == kCompact) return Written::kExhausted;
    if (count > 1 && (too_long || memory != kScattered)) count /= 2;
    if (too_long) continue;
    if (team.thread() == 0) kept.give_all(graph.pool);
    if (!detail::wait_until(team, stages, batch, [&] { return is_all_collected(stages, before); }))
      return Written::kStopped;
    if (team.thread() < Lanes::kLanes) {
      if (memory == kScattered)
        merge_free(lanes, graph.pool);
      else
        compact(lanes, graph);
    }
    team.sync();
    memory = memory == kScattered ? kMerged : kCompact;
  }
#if defined(MOTIFLUX_CHECKS_VERSIONS)
  check_batch(team, graph, batch);
#endif
  if (team.thread() == 0) {
    commit(stages, before + count);
    publish(stages, before + count);
  }
  team.sync();
  end_step(team, batch, Step::kPublish);
  return Written::kYes;
}

// The same by an updater that keeps nothing between batches.
template <class Team, class Lanes, class Batch>
MOTIFLUX_DEVICE Written write_updates(const Team& team, const Lanes& lanes, const StreamGraph& graph,
                                      const Update* updates, std::uint32_t& count, Batch& batch) {
  NoBlocks kept;
  std::uint64_t free_until = 0;
  const std::uint64_t before = published(graph.stages);
  team.sync();
  return write_updates(team, lanes, graph, updates, before, count, batch, kept, free_until, EarlySearches{},
                       AskNobody{});
}

}  // namespace motiflux::streaming
