// One launch: what it was asked for, and what its blocks share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace motiflux_simt {

using Clock = std::chrono::steady_clock;

enum class Policy : std::uint32_t { random = 0, lowest = 1, highest = 2 };

// As emulated.py lays it out. Limits of 0 are none.
struct Options {
  std::uint64_t seed;
  std::uint64_t chances;      // seed of what motiflux/device/chance.hpp draws; 0: nothing is drawn
  std::uint64_t idle_yields;  // scheduling points of a block between two collectives, barriers or returns
  double stall_seconds;       // time between these
  double launch_seconds;      // time of the whole launch
  Policy policy;
  std::uint32_t resident;  // blocks that run at once
  std::uint64_t stack_bytes;
};

struct Launch {
  void* kernel;
  const void* argument;
  std::size_t argument_bytes;
  std::uint32_t grid;
  std::uint32_t block;
  std::uint32_t shared;
  Options options;

  Clock::time_point start = Clock::now();
  std::atomic<std::uint32_t> next_block = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex{};
  std::string error{};

  // The first error stays; every block stops at its next scheduling point.
  void fail(const std::string& message) {
    const std::scoped_lock lock(mutex);
    if (error.empty()) error = message;
    stop.store(true, std::memory_order_relaxed);
  }
};

}  // namespace motiflux_simt
