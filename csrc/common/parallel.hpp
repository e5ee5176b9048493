// Threads for loops over ranges, with cancellation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>

namespace motiflux {

// Thrown by a loop that was asked to stop.
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

// Calls body(stage, begin, end) for chunks of at most `grain` that together cover [0, counts[stage]), for
// each stage in turn: a chunk of a stage begins only when all chunks of the stage before are done and their
// writes are visible. Otherwise as parallel_for.
void parallel_stages(const Workers& workers, std::span<const std::size_t> counts, std::size_t grain,
                     const std::function<void(std::size_t, std::size_t, std::size_t)>& body);

// Calls body(begin, end) for ranges of rows that together cover all rows, whose arcs are between offsets;
// only a range of a single row has many more than `arcs` arcs. Later ranges come first: ids ascend by degree.
void parallel_rows(const Workers& workers, std::span<const std::uint64_t> offsets, std::size_t arcs,
                   const std::function<void(std::size_t, std::size_t)>& body);

// Calls body(0) on this thread and body(index), for other indices below `threads`, each on its own thread.
// Rethrows the first exception after all have returned. Threads share the work dynamically: calls that have
// not begun when body(0) returns may be left out.
void on_threads(int threads, const std::function<void(int)>& body);

}  // namespace motiflux
