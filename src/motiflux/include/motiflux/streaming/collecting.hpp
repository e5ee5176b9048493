// The warps of the collector: one finds what is finished and tells the host, another one frees versions.
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/device/backoff.hpp"
#include "motiflux/lanes/group.hpp"
#include "motiflux/streaming/collector.hpp"
#include "motiflux/streaming/stream.hpp"

namespace motiflux::streaming {

namespace detail {

MOTIFLUX_DEVICE bool is_asked(std::uint32_t& flag) {
  return device::system_wide(flag).load(device::Order::kRelaxed) != 0;
}

// What is finished, for the host.
MOTIFLUX_DEVICE void tell_finished(const Stream& stream) {
  const std::uint64_t finished = stream.graph.stages.progress->finished;
  const auto begun = device::device_wide(stream.output.tickets->issued).load(device::Order::kRelaxed);
  device::system_wide(stream.status->packets).store(begun, device::Order::kRelaxed);
  device::system_wide(stream.status->finished).store(finished, device::Order::kRelease);
}

// Tells the host which lines of updates it may write again: those that are published are read. `told`: what
// it knows. Called by one lane.
MOTIFLUX_DEVICE void tell_read(const Stream& stream, std::uint64_t& told) {
  const std::uint64_t now = published(stream.graph.stages);
  if (now == told) return;
  told = now;
  device::system_wide(stream.status->read).store(now, device::Order::kRelease);
}

// Notes that the host knows what is finished. `told`: what it knew before. Called by one lane.
MOTIFLUX_DEVICE void stamp_told(const Stream& stream, std::uint64_t& told) {
  const std::uint64_t now = stamp_now(), finished = stream.graph.stages.progress->finished;
  while (now != 0 && told < finished) stream.stamp(++told, Stamp::kTold, now);
}

// Where the other stages stand.
MOTIFLUX_DEVICE void tell_progress(const Stream& stream, std::uint64_t beats) {
  StreamStatus& status = *stream.status;
  const auto tell = [](auto& word, auto value) {
    device::system_wide(word).store(value, device::Order::kRelaxed);
  };
  const auto load = [](auto& word) { return device::device_wide(word).load(device::Order::kRelaxed); };
  tell(status.published, load(stream.graph.stages.progress->published));
  tell(status.received, load(stream.pending->received));
  tell(status.reason, load(stream.pending->reason));
  tell(status.collected, load(stream.graph.stages.progress->collected));
  tell(status.issued, load(stream.work.counts->issued));
  tell(status.taken, load(stream.work.counts->taken));
  tell(status.turns, load(stream.graph.stages.progress->turns) + load(stream.graph.pool.counts->steps));
  tell(status.beats, beats);
}

MOTIFLUX_DEVICE_CALL void run_collector(const Stream& stream) {
  constexpr std::uint32_t kTurnsOfHost = 16;  // between looks at the host's flags, and numbers for it
  const lanes::Group<32> warp;
  const Stages& stages = stream.graph.stages;
  device::Backoff backoff(64, 512);
  std::uint64_t beats = 0, told = stages.progress->finished, read = 0;
  std::uint32_t turns = 0;
  for (;;) {
    const bool looks = ++turns % kTurnsOfHost == 0, moved = find_finished(warp, stream.graph);
    if (warp.leads() && (moved || looks)) {
      tell_finished(stream);
      stamp_told(stream, told);
    }
    if (warp.leads()) tell_read(stream, read);
    if (warp.leads() && looks) {
      tell_progress(stream, ++beats);
      if (is_asked(stream.control->stop)) end_stream(stream, End::kNone);
      if (is_asked(stream.control->park))
        device::system_wide(stages.progress->parks).store(1u, device::Order::kRelaxed);
    }
    if (warp.ballot(warp.leads() && must_stop(stages)) != 0) break;
    if (moved)
      backoff = device::Backoff(64, 512);
    else
      backoff.wait();
  }
  if (!warp.leads()) return;
  tell_finished(stream);
  tell_progress(stream, ++beats);
}

// The warp beside it frees what is collected. When one warp did both, batches waited 30,000 cycles for free
// slots at 2,000,000 updates a second (H200).
MOTIFLUX_DEVICE_CALL void run_freeing(const Stream& stream) {
  constexpr std::uint64_t kMostCleared = 32;
  const lanes::Group<32> warp;
  device::Backoff backoff(64, 512);
  while (warp.ballot(warp.leads() && must_stop(stream.graph.stages)) == 0) {
    if (free_collected(warp, stream.graph, kMostCleared))
      backoff = device::Backoff(64, 512);
    else
      backoff.wait();
  }
}

}  // namespace detail

}  // namespace motiflux::streaming
