// Threads for loops over ranges, with cancellation.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>

namespace motiflux {

// Thrown by a loop that was asked to stop; the caller that asked knows why.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "cancelled"; }
};

struct Workers {
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;

  void check() const {
    if (stop && stop->load(std::memory_order_relaxed)) throw Cancelled();
  }
};

// Calls body(begin, end) for chunks of at most `grain` that together cover [0, count), on up to
// workers.threads threads. Checks for cancellation between chunks. Rethrows the first exception.
void parallel_for(const Workers& workers, std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);

// Calls body(index) for index 0..threads-1, each on a thread of its own (index 0 on this one).
// Rethrows the first exception after all have returned.
void on_threads(int threads, const std::function<void(int)>& body);

}  // namespace motiflux
