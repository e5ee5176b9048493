// Trawling by the clock: slots are searched on threads of their own until the caller ends it.
//
//   streams   two, each with slots of its own, numbered as they are begun
//   thread t  serves stream t % 2; a single thread changes to the other stream at each turn, which ends its
//             search
//   the end   ends all searches: their samples go on, which takes microseconds; no more slots are begun
//
// The number of slots of a stream that are counted is the number that the *other* stream began. The mean over
// as many as were begun would be too great: searches that find much take long, so few slots are begun. The
// progress of the other stream is independent of what is found in this one, each slot of which has the count
// for its mean, searched or not; slots that were not begun are samples without a search.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "common/live_work.hpp"
#include "sample/trawl.hpp"

namespace motiflux::sample {

struct ClockTrawlPlan {
  Trawling trawling;        // `nodes` grow with the slots that a thread has done, up to 64 times
  std::uint64_t first = 0;  // number of each stream's first slot
  std::uint64_t most = 0;   // slots of a stream
  std::uint64_t whole = 0;  // work that counting all may take, which one more thread tries first
  int threads = 1;          // 1, or an even number: as many for either stream
};

class ClockTrawl {
 public:
  static constexpr std::size_t kStreams = 2;

  // Slots of a stream, in order.
  struct Stream {
    std::vector<double> weights;
    std::vector<std::uint8_t> outcomes;
    std::vector<std::uint8_t> depths;
    std::vector<std::uint64_t> work;
    std::size_t begun = 0;
  };

  // Begins at once. What it is given has to outlive it.
  ClockTrawl(const CandidateGraph& graph, const std::vector<const search::NativePlan*>& native_plans,
             const ClockTrawlPlan& plan);
  ClockTrawl(const ClockTrawl&) = delete;
  ClockTrawl& operator=(const ClockTrawl&) = delete;
  ~ClockTrawl();

  // A thread that is alone goes over to the other stream.
  void turn() { turns_.fetch_add(1, std::memory_order_relaxed); }

  // Waits for the threads, which takes microseconds, and gives each stream as many slots as are counted, or
  // were begun if that is more. Rethrows what went wrong.
  std::array<Stream, kStreams> end();

  // The number of embeddings, once it is known.
  const Wide* whole() const { return whole_known_.load(std::memory_order_acquire) ? &*whole_ : nullptr; }

 private:
  void go(int thread);
  void count_whole();
  void join() noexcept;

  const CandidateGraph& graph_;
  const std::vector<const search::NativePlan*>& native_plans_;
  const ClockTrawlPlan plan_;
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> turns_{0};
  std::array<std::atomic<std::uint64_t>, kStreams> next_{};
  std::array<Stream, kStreams> streams_;
  std::optional<Wide> whole_;
  std::atomic<bool> whole_known_{false};
  std::exception_ptr error_;
  std::optional<LiveWork> live_;
  std::thread leader_;
};

}  // namespace motiflux::sample
