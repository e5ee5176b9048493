// Collectives: lanes gather by mask, and what they may get wrong is reported.
#include <bit>
#include <cstdio>

#include "block.hpp"

namespace motiflux_simt {

std::uint64_t Block::collective(const Call& call) {
  Fiber& self = *running_;
  const unsigned lane = lane_of(self);
  Warp& warp = warps_[warp_of(self)];
  Gathering& gathering = gather(warp, lane, call);
  warp.exchange.calls[lane] = call;
  if (gathering.arrived == gathering.mask) {
    finish(warp, warp_of(self), gathering);
  } else {
    runnable_.remove(self.here.thread);
    ++waiting_;
  }
  leave();
  return warp.exchange.results[lane];
}

// The gathering that this lane joins, or opens.
Gathering& Block::gather(Warp& warp, unsigned lane, const Call& call) {
  for (unsigned at = 0; at < warp.gatherings; ++at) {
    Gathering& waiting = warp.gathering[at];
    if (waiting.kind == call.kind && waiting.mask == call.mask && waiting.bytes == call.bytes) {
      // Who opened it has checked mask and lanes; that this lane is in it, not.
      if ((call.mask >> lane & 1U) == 0 || is_shuffle(call.kind)) check(warp, lane, call);
      waiting.arrived |= 1U << lane;
      return waiting;
    }
  }
  check(warp, lane, call);
  Gathering& opened = warp.gathering[warp.gatherings++];
  opened = {call.kind, call.bytes, call.mask, 1U << lane};
  return opened;
}

void Block::finish(Warp& warp, unsigned warp_index, Gathering& gathering) {
  const int wrong = resolve(warp.exchange, gathering.kind, gathering.mask);
  if (wrong >= 0) {
    const auto lane = static_cast<unsigned>(wrong);
    char text[160];
    std::snprintf(text, sizeof text, "lane %u reads lane %u in %s, which mask 0x%08x does not name", lane,
                  source_lane(warp.exchange.calls[lane], lane), name(gathering.kind), gathering.mask);
    fail(text);
  }
  runnable_.add_warp(warp_index, gathering.mask);
  waiting_ -= static_cast<unsigned>(std::popcount(gathering.mask)) - 1;
  gathering = warp.gathering[--warp.gatherings];
  progress();
}

void Block::check(Warp& warp, unsigned lane, const Call& call) {
  char text[256];
  const char* const kind = name(call.kind);
  const std::uint32_t bit = 1U << lane;
  if ((call.mask & bit) == 0) {
    std::snprintf(text, sizeof text, "%s with mask 0x%08x, which does not name the lane itself", kind,
                  call.mask);
    fail(text);
  }
  if ((call.mask & ~warp.lanes) != 0) {
    std::snprintf(text, sizeof text, "%s with mask 0x%08x, of which lanes 0x%08x have returned or never were",
                  kind, call.mask, call.mask & ~warp.lanes);
    fail(text);
  }
  if (is_shuffle(call.kind) && (call.width < 1 || call.width > 32 || (call.width & (call.width - 1)) != 0)) {
    std::snprintf(text, sizeof text, "%s with width %d; it is a power of two up to 32", kind, call.width);
    fail(text);
  }
  for (unsigned at = 0; at < warp.gatherings; ++at) {
    const Gathering& waiting = warp.gathering[at];
    // Each waits for the other. Where only one does, it may yet come: lanes ahead of others are no error.
    if ((waiting.mask & bit) == 0 || (waiting.arrived & call.mask) == 0) continue;
    if (waiting.kind == call.kind && waiting.bytes == call.bytes && waiting.mask == call.mask) continue;
    std::snprintf(
        text, sizeof text,
        "%s of %u bytes with mask 0x%08x, but lanes 0x%08x wait for it in %s of %u bytes with mask 0x%08x",
        kind, call.bytes, call.mask, waiting.arrived, name(waiting.kind), waiting.bytes, waiting.mask);
    fail(text);
  }
}

}  // namespace motiflux_simt
