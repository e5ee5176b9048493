#include "common/parallel.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace motiflux {

void on_threads(int threads, const std::function<void(int)>& body) {
  std::exception_ptr first_error;
  std::mutex error_mutex;
  auto guarded = [&](int index) {
    try {
      body(index);
    } catch (...) {
      std::lock_guard lock(error_mutex);
      if (!first_error) first_error = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(std::max(threads - 1, 0)));
  try {
    for (int index = 1; index < threads; ++index) others.emplace_back(guarded, index);
  } catch (const std::system_error&) {
    // Fewer threads than asked for: the work is shared dynamically, so those that started do it all.
  }
  guarded(0);
  for (std::thread& other : others) other.join();
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

}  // namespace motiflux
