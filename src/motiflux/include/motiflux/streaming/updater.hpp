// A batch from its updates to its publication.
#pragma once

#include "motiflux/device/backoff.hpp"
#include "motiflux/streaming/collector.hpp"
#if defined(MOTIFLUX_CHECKS_VERSIONS)
#include "motiflux/streaming/invariants.hpp"
#else
#include "motiflux/streaming/write_versions.hpp"
#endif
#include "motiflux/streaming/merge_free.hpp"

namespace motiflux::streaming {

namespace detail {

// A decision of the team's first thread, in all threads.
template <class Team, class Decide>
MOTIFLUX_DEVICE bool decide(const Team& team, Batch& batch, Decide&& holds) {
  team.sync();
  if (team.thread() == 0) batch.decision = holds() ? 1 : 0;
  team.sync();
  return batch.decision != 0;
}

// Waits until a condition holds; false if the kernel is to stop.
template <class Team, class Holds>
MOTIFLUX_DEVICE bool wait_until(const Team& team, const Stages& stages, Batch& batch, Holds&& holds) {
  device::Backoff backoff(16, 2048);
  return decide(team, batch, [&] {
    while (!holds()) {
      if (must_stop(stages)) return false;
      backoff.wait();
    }
    return true;
  });
}

}  // namespace detail

enum class Written { kYes, kStopped, kExhausted };

// Writes and publishes updates, of which the first has the moment after the last one published. `count`
// becomes the number that was published: less than given if memory is short, or a batch holds no more.
// kExhausted: memory does not suffice for one update, with all collected and merged; nothing has changed.
// `lanes`: of the team's first threads, who merge.
template <class Team, class Lanes>
MOTIFLUX_DEVICE Written write_updates(const Team& team, const Lanes& lanes, const StreamGraph& graph,
                                      const Update* updates, std::uint32_t& count, Batch& batch) {
  const Stages& stages = graph.stages;
  const std::uint64_t before = published(stages);
  count = fit_batch(graph, updates, count);
  team.sync();
  bool merged = false;
  for (;;) {
    const std::uint64_t last = before + count;
    if (!detail::wait_until(team, stages, batch, [&] { return last <= last_free_slot(stages); }))
      return Written::kStopped;
    prepare_batch(team, graph, updates, count, before + 1, batch);
    if (write_batch(team, graph, batch)) break;
    if (merged) {
      if (count == 1) return Written::kExhausted;
      count /= 2;
    }
    if (!detail::wait_until(team, stages, batch, [&] { return is_all_collected(stages, before); }))
      return Written::kStopped;
    if (team.thread() < Lanes::kLanes) merge_free(lanes, graph.pool);
    team.sync();
    merged = true;
  }
#if defined(MOTIFLUX_CHECKS_VERSIONS)
  check_batch(team, graph, batch);
#endif
  if (team.thread() == 0) publish(stages, before + count);
  team.sync();
  return Written::kYes;
}

}  // namespace motiflux::streaming
