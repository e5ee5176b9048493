// Threads of one call, of which the calling one handles signals all the time.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "common/parallel.hpp"
#include "dynamic/matcher.hpp"

namespace motiflux::dynamic {

// The time between two checks of the thread that handles signals while it waits for the others.
inline constexpr std::chrono::milliseconds kWaitLook{20};

// How often it looks for the end of the others before it sleeps: they often end within microseconds.
inline constexpr int kBriefLooks = 100;

class ThreadWatch : public Watch {
 public:
  ThreadWatch(Watch* inner, std::atomic<bool>& stop) : inner_(inner), stop_(stop) {}
  bool keep_going() override {
    if (inner_ != nullptr && !inner_->keep_searching(take_pattern())) stop_.store(true);
    return !stop_.load(std::memory_order_relaxed);
  }

 private:
  Watch* inner_;
  std::atomic<bool>& stop_;
};

// Calls body(index, watch) on `threads` threads. This thread handles signals, also while it waits for the
// others.
template <class Body>
void with_others(int threads, Watch& watch, Body&& body) {
  std::atomic<bool> stop{false};
  std::mutex counting;
  std::condition_variable left;
  std::atomic<int> others{0};  // other threads at work
  const auto leave = [&] {
    if (others.fetch_sub(1) > 1) return;
    const std::lock_guard lock(counting);
    left.notify_one();
  };
  const auto wait = [&] {
    for (int look = 0; look < kBriefLooks && others != 0; ++look) std::this_thread::yield();
    std::unique_lock lock(counting);
    while (!left.wait_for(lock, kWaitLook, [&] { return others == 0; })) {
      lock.unlock();
      if (!watch.keep_going()) throw Stopped();
      lock.lock();
    }
  };
  on_threads(threads, [&](int index) {
    ThreadWatch guarded(index == 0 ? &watch : nullptr, stop);
    if (index > 0) ++others;
    try {
      body(index, guarded);
      if (index == 0) wait();
    } catch (...) {
      stop.store(true);
      if (index > 0) leave();
      throw;
    }
    if (index > 0) leave();
  });
}

// The threads, of `threads`, that work on this number of updates: a stage of a batch has some 20 us of work
// for each.
inline int threads_for(std::size_t updates, int threads) {
  constexpr std::size_t kOfThread = 1024;
  const std::size_t most = updates / kOfThread + 1;
  return static_cast<int>(std::min(static_cast<std::size_t>(threads), most));
}

// The first of `size` things that slice number `slice` of `slices` has; that of the slice behind the last one
// is `size`.
inline std::size_t begin_of_slice(std::size_t size, int slice, int slices) {
  return size * static_cast<std::size_t>(slice) / static_cast<std::size_t>(slices);
}

// Calls body(partition, watch) for each partition, on up to `threads` threads.
template <class Body>
void for_each_partition(int partitions, int threads, Watch& watch, Body&& body) {
  std::atomic<int> next{0};
  with_others(std::clamp(partitions, 1, threads), watch, [&](int, Watch& guarded) {
    for (int partition; (partition = next.fetch_add(1)) < partitions;) body(partition, guarded);
  });
}

}  // namespace motiflux::dynamic
