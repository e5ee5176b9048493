// A block's pool: groups, or samples, that its warps take from shared memory; a warp that finds it empty
// refills it from the device's counter. They are numbered from 0.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/lanes/group.hpp"

namespace motiflux::sample {

struct Range {
  std::uint32_t begin;
  std::uint32_t end;

  MOTIFLUX_DEVICE std::uint32_t size() const { return end - begin; }
};

// A warp's access to the pool. Its methods are for one lane.
class Pool {
 public:
  // `word`, of shared memory and 0 at first, holds the rest of the pool: begin | end << 32.
  MOTIFLUX_DEVICE Pool(std::uint64_t& word, std::uint64_t& taken, std::uint32_t count, std::uint32_t refill)
      : word_(word), taken_(taken), count_(count), refill_(refill) {}

  // Takes up to `wanted`, at least one: fewer only if the pool had fewer left; none: all are taken.
  MOTIFLUX_DEVICE Range take(std::uint32_t wanted) {
    if (own_.size() > 0) return split(own_, wanted);
    std::uint64_t seen = device::block_wide(word_).load(device::Order::kRelaxed);
    for (;;) {
      Range left{static_cast<std::uint32_t>(seen), static_cast<std::uint32_t>(seen >> 32)};
      const bool refilled = left.size() == 0;
      if (refilled) left = more();
      if (left.size() == 0) return left;
      const Range mine = split(left, wanted);
      const std::uint64_t rest = std::uint64_t{left.end} << 32 | left.begin;
      if (device::block_wide(word_).compare_exchange(seen, rest, device::Order::kRelaxed)) return mine;
      if (!refilled) continue;
      own_ = left;  // another warp filled it meanwhile: this warp keeps its range
      return mine;
    }
  }

 private:
  MOTIFLUX_DEVICE static Range split(Range& from, std::uint32_t wanted) {
    const std::uint32_t size = from.size() < wanted ? from.size() : wanted;
    const Range taken{from.begin, from.begin + size};
    from.begin += size;
    return taken;
  }

  MOTIFLUX_DEVICE Range more() {
    const std::uint64_t begin =
        device::device_wide(taken_).fetch_add(std::uint64_t{refill_}, device::Order::kRelaxed);
    if (begin >= count_) return {0, 0};
    const std::uint64_t left = count_ - begin;
    const auto size = static_cast<std::uint32_t>(left < refill_ ? left : refill_);
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin) + size};
  }

  std::uint64_t& word_;
  std::uint64_t& taken_;
  const std::uint32_t count_;
  const std::uint32_t refill_;
  Range own_{0, 0};
};

}  // namespace motiflux::sample
