// Kernels whose units of work are vertices with their neighbourhoods: assignment of units, totals, and
// stopping. `clique_task.hpp` draws the order of the units.
//
// `Counting` has
//
//   template <class Team> void count_unit(const Team& team, unsigned char* memory, CliqueUnit unit)
//
// which counts one unit, with a warp or a block, in memory of the team.
#pragma once

#include "motiflux/device/total.hpp"
#include "motiflux/match/clique_task.hpp"
#include "motiflux/match/limit.hpp"
#include "motiflux/match/neighborhood.hpp"

namespace motiflux::match {

template <class Counting>
class UnitWalk {
 public:
  MOTIFLUX_DEVICE UnitWalk(const CliqueTask& task, unsigned char* shared)
      : task_(task), taken_(reinterpret_cast<std::uint64_t*>(shared)), shared_(shared + kHeader) {}

  MOTIFLUX_DEVICE void run() {
    if (blockIdx.x < task_.spill_blocks)
      for (std::uint64_t unit = blockIdx.x; unit < task_.spilled && !block_stops();
           unit += task_.spill_blocks)
        self().count_unit(BlockTeam{}, task_.memory + blockIdx.x * task_.spill_bytes, task_.unit(unit));
    std::uint64_t unit = task_.spilled + blockIdx.x;  // the first unit without a counter: all start at once
    for (; unit < task_.blocks; unit = block_takes())
      self().count_unit(BlockTeam{}, shared_, task_.unit(unit));
    // The block has taken a unit for a warp, which its first warp counts; unless no unit is left or the block
    // was told to stop.
    if (unit < task_.unit_count) {
      std::uint64_t end = warp_.in_block() == 0 ? unit + 1 : unit;
      unsigned char* mine = shared_ + warp_.in_block() * (task_.shared_bytes - kHeader);
      do {
        for (; unit < end && !stop_seen_; ++unit) self().count_unit(WarpTeam{}, mine, task_.unit(unit));
      } while (warp_takes(unit, end));
    }
    report();
  }

 protected:
  // Called by one thread.
  MOTIFLUX_DEVICE bool read_stop() const {
    return device::device_wide(task_.control->stop).load(device::Order::kRelaxed) !=
           static_cast<std::uint32_t>(Stop::kNone);
  }

  MOTIFLUX_DEVICE void spend(std::uint32_t turns) {
    budget_ -= static_cast<std::int32_t>(turns);
    if (budget_ > 0) return;
    budget_ = kTurns;
    report();
    stop_seen_ = stopped();
  }

  const CliqueTask& task_;
  std::uint64_t* taken_;
  unsigned char* shared_;
  Warp warp_;
  std::uint64_t found_ = 0;                        // this lane's share
  std::uint64_t done_ = 0;                         // the leader's
  static constexpr std::int32_t kTurns = 1 << 13;  // words between checks of the stop flag
  std::int32_t budget_ = kTurns;
  bool stop_seen_ = false;  // whether to stop

 private:
  MOTIFLUX_DEVICE Counting& self() { return static_cast<Counting&>(*this); }

  MOTIFLUX_DEVICE bool block_stops() const {
    __syncthreads();
    if (threadIdx.x == 0) *taken_ = read_stop();
    __syncthreads();
    return *taken_ != 0;
  }

  // The next unit behind the spilled ones; none once the search is stopped. Warps must not continue then:
  // units for blocks may be left, which do not fit into a warp's part of the memory.
  MOTIFLUX_DEVICE std::uint64_t block_takes() {
    __syncthreads();
    if (threadIdx.x == 0) *taken_ = read_stop() ? task_.unit_count : take(1);
    __syncthreads();
    return *taken_;
  }

  MOTIFLUX_DEVICE bool warp_takes(std::uint64_t& unit, std::uint64_t& end) {
    spend(kTurns / 16);  // the control is one line of memory, and units may take a microsecond each
    unit = warp_.broadcast(warp_.leads() ? take(task_.chunk) : 0);
    end = unit + task_.chunk < task_.unit_count ? unit + task_.chunk : task_.unit_count;
    return !stop_seen_ && unit < task_.unit_count;
  }

  MOTIFLUX_DEVICE std::uint64_t take(std::uint64_t units) const {
    const auto taken = device::device_wide(task_.control->taken);
    return task_.spilled + gridDim.x + taken.fetch_add(units, device::Order::kRelaxed);
  }

  // All lanes of the warp have the same answer.
  MOTIFLUX_DEVICE bool stopped() const {
    return warp_.broadcast(static_cast<std::uint32_t>(warp_.leads() && read_stop())) != 0;
  }

  MOTIFLUX_DEVICE void report() {
    const std::uint64_t found = warp_.sum(found_);
    found_ = 0;
    if (!warp_.leads()) return;
    Control& control = *task_.control;
    if (done_ > 0) device::device_wide(control.done).fetch_add(done_, device::Order::kRelaxed);
    done_ = 0;
    if (found == 0) return;
    device::add_128(control.found, found);
    check_limit(control, task_.limit);
  }

  static constexpr std::uint32_t kHeader = 16;  // bytes of shared memory: the unit that the block has taken
};

}  // namespace motiflux::match
