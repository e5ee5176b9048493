// Loops in stages: no chunk of a stage begins before all of the stage before are done, whatever the threads.
#include "common/parallel.hpp"

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"

namespace motiflux {
namespace {

using Counts = std::vector<std::size_t>;

// Each stage adds up what the stage before has written, without an atomic: ThreadSanitizer sees a missing
// order.
void later_stages_see_what_earlier_ones_wrote(int threads, const Counts& counts, std::size_t grain) {
  std::vector<std::vector<std::uint32_t>> written;
  for (std::size_t count : counts) written.emplace_back(count, 0);
  std::atomic<std::size_t> visited{0};
  parallel_stages({threads, nullptr}, counts, grain,
                  [&](std::size_t stage, std::size_t begin, std::size_t end) {
                    for (std::size_t at = begin; at < end; ++at) {
                      std::uint32_t before = 0;
                      if (stage > 0)
                        for (std::uint32_t one : written[stage - 1]) before += one;
                      written[stage][at] = stage == 0 ? 1 : before;
                    }
                    visited.fetch_add(end - begin, std::memory_order_relaxed);
                  });
  std::size_t all = 0;
  std::uint32_t each = 1;
  for (std::size_t stage = 0; stage < counts.size(); ++stage) {
    all += counts[stage];
    if (stage > 0) each *= static_cast<std::uint32_t>(counts[stage - 1]);
    for (std::uint32_t one : written[stage]) CHECK(one == each);
  }
  CHECK(visited.load() == all);
}

void a_failure_ends_all_stages(int threads, std::size_t failing) {
  const Counts counts(4, 64);
  std::atomic<std::size_t> last{0};
  bool thrown = false;
  try {
    parallel_stages({threads, nullptr}, counts, 4, [&](std::size_t stage, std::size_t begin, std::size_t) {
      if (stage == failing && begin == 32) throw std::runtime_error("failed");
      if (stage > last.load(std::memory_order_relaxed)) last.store(stage, std::memory_order_relaxed);
    });
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  CHECK(thrown);
  CHECK(last.load() <= failing);
}

void a_stop_ends_all_stages(int threads, std::size_t stopping) {
  const Counts counts(4, 64);
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> last{0};
  bool cancelled = false;
  try {
    parallel_stages({threads, &stop}, counts, 1, [&](std::size_t stage, std::size_t begin, std::size_t) {
      if (stage == stopping && begin == 8) stop.store(true, std::memory_order_relaxed);
      if (stage > last.load(std::memory_order_relaxed)) last.store(stage, std::memory_order_relaxed);
    });
  } catch (const Cancelled&) {
    cancelled = true;
  }
  CHECK(cancelled);
  CHECK(last.load() <= stopping);
}

// One loop after another, some of them inside another one, on the threads that wait for them.
void loops_are_done_whole_one_after_another(int threads) {
  for (std::size_t turn = 0; turn < 500; ++turn) {
    std::vector<std::uint32_t> seen(turn, 0);
    parallel_for({threads, nullptr}, turn, 3, [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end; ++at) ++seen[at];
      if (begin == 30)
        parallel_for({threads, nullptr}, 10, 2, [&](std::size_t first, std::size_t last) {
          if (first >= last) CHECK(false);
        });
    });
    for (const std::uint32_t one : seen) CHECK(one == 1);
  }
}

void loops_of_several_threads_do_not_meet() {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([] { loops_are_done_whole_one_after_another(4); });
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace motiflux

int main() {
  using namespace motiflux;
  for (int threads : {1, 2, 3, 8}) {
    later_stages_see_what_earlier_ones_wrote(threads, {}, 4);
    later_stages_see_what_earlier_ones_wrote(threads, {5, 3, 7, 2}, 1);
    later_stages_see_what_earlier_ones_wrote(threads, {100, 9, 17}, 8);
    loops_are_done_whole_one_after_another(threads);
    for (std::size_t stage : {0, 1, 3}) {
      a_failure_ends_all_stages(threads, stage);
      a_stop_ends_all_stages(threads, stage);
    }
  }
  parallel_stages({4, nullptr}, Counts{0, 0, 0}, 4,
                  [](std::size_t, std::size_t, std::size_t) { CHECK(false); });
  loops_of_several_threads_do_not_meet();
}
