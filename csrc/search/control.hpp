// State that the threads of one search share: the work left, the reason to stop, the progress.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace motiflux::search {

using Clock = std::chrono::steady_clock;

enum class Stop : int { kNone = 0, kLimit = 1, kTimeout = 2, kCancelled = 3 };

struct ArcRange {
  std::uint64_t first;
  std::uint64_t last;
};

class Control {
 public:
  Control(std::uint64_t arcs, int threads, std::optional<double> timeout_seconds);

  // The next chunk of root arcs, from the last to the first: hubs have the highest ids and take the longest.
  std::optional<ArcRange> take();
  void finished(std::uint64_t arcs) { done_.fetch_add(arcs, std::memory_order_relaxed); }

  // Asks all threads to stop; the first reason is kept.
  void stop(Stop reason);
  // False once the search should stop. Reads the clock: call it every few microseconds, not every step.
  bool keep_going();

  Stop reason() const { return static_cast<Stop>(reason_.load(std::memory_order_acquire)); }
  std::optional<Clock::time_point> deadline() const { return deadline_; }
  std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  int threads() const { return threads_; }
  std::uint64_t total() const { return arcs_; }

  std::atomic<std::uint64_t> found{0};  // for progress and limits; saturates

 private:
  std::uint64_t arcs_;
  int threads_;
  std::uint64_t chunk_;
  std::optional<Clock::time_point> deadline_;
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<int> reason_{0};
};

}  // namespace motiflux::search
