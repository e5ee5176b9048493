#include "common/parallel.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "common/thread_pool.hpp"

namespace motiflux {

namespace {

// Threads of this call alone.
void on_new_threads(int threads, const std::function<void(int)>& body) {
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(threads - 1));
  try {
    for (int index = 1; index < threads; ++index) others.emplace_back(body, index);
  } catch (...) {
    // Fewer threads than requested: the work is shared dynamically, so the started threads do all of it.
  }
  body(0);
  for (std::thread& other : others) other.join();
}

}  // namespace

void on_threads(int threads, const std::function<void(int)>& body) {
  if (threads <= 1) {
    body(0);
    return;
  }
  std::exception_ptr first_error;
  std::mutex error_mutex;
  const std::function<void(int)> guarded = [&](int index) {
    try {
      body(index);
    } catch (...) {
      std::lock_guard lock(error_mutex);
      if (!first_error) first_error = std::current_exception();
    }
  };
  if (!ThreadPool::shared().run(threads, guarded)) on_new_threads(threads, guarded);
  if (first_error) std::rethrow_exception(first_error);
}

void parallel_for(const Workers& workers, std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  auto drain = [&](int) {
    for (;;) {
      const std::size_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= count) return;
      workers.check();
      body(begin, std::min(begin + grain, count));
    }
  };
  const std::size_t chunks = (count + grain - 1) / grain;
  const auto threads =
      static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(workers.threads), chunks));
  on_threads(std::max(threads, 1), drain);
}

void parallel_stages(const Workers& workers, std::span<const std::size_t> counts, std::size_t grain,
                     const std::function<void(std::size_t, std::size_t, std::size_t)>& body) {
  struct Stage {
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> done{0};  // elements of finished chunks
  };
  std::vector<Stage> stages(counts.size());
  std::atomic<bool> failed{false};
  const auto drain = [&](std::size_t stage) {
    const std::size_t count = counts[stage];
    for (;;) {
      const std::size_t begin = stages[stage].next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= count) return;
      workers.check();
      const std::size_t end = std::min(begin + grain, count);
      body(stage, begin, end);
      stages[stage].done.fetch_add(end - begin, std::memory_order_release);
    }
  };
  // No thread waits for another thread, only for chunks: the loop ends even if few threads start.
  const auto run = [&](int) {
    for (std::size_t stage = 0; stage < counts.size(); ++stage) {
      try {
        drain(stage);
      } catch (...) {
        failed.store(true, std::memory_order_relaxed);
        throw;
      }
      while (stages[stage].done.load(std::memory_order_acquire) < counts[stage]) {
        if (failed.load(std::memory_order_relaxed)) return;
        std::this_thread::yield();
      }
    }
  };
  const std::size_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  const std::size_t chunks = (most + grain - 1) / grain;
  const auto threads =
      static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(workers.threads), chunks));
  on_threads(std::max(threads, 1), run);
}

void parallel_rows(const Workers& workers, std::span<const std::uint64_t> offsets, std::size_t arcs,
                   const std::function<void(std::size_t, std::size_t)>& body) {
  // The weight of a row is its number of arcs plus 1, so that ranges of empty rows are bounded too.
  const std::size_t rows = offsets.size() - 1;
  auto weight_before = [&](std::size_t row) { return offsets[row] + row; };
  auto first_row = [&](std::uint64_t weight) {
    std::size_t low = 0, high = rows;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (weight_before(middle) < weight)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  const std::size_t pieces = weight_before(rows) / arcs + 1;
  parallel_for(workers, pieces, 1, [&](std::size_t piece, std::size_t) {
    const std::size_t at = pieces - 1 - piece;
    const std::size_t begin = first_row(at * arcs);
    const std::size_t end = at + 1 == pieces ? rows : first_row((at + 1) * arcs);
    if (begin < end) body(begin, end);
  });
}

}  // namespace motiflux
