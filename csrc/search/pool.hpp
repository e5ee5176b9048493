// How threads share the work of one search.
//
// A thread that has no work takes a chunk of the root arcs. Once these are gone it waits, and a thread that
// works gives away half of its remaining candidates at the shallowest level that has any. No thread takes a
// lock while all have work: a working thread reads one number every few thousand steps.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "common/team.hpp"
#include "motiflux/view/plan.hpp"
#include "search/control.hpp"

namespace motiflux::search {

// Work for a thread: some candidates of one level, below given vertices. Candidates are named by their
// positions: the thread that takes the item finds the same set again.
struct WorkItem {
  int level;  // 0: [from, to) are arcs of the rows that root the search
  std::uint64_t from;
  std::uint64_t to;
  std::uint64_t arcs;                                    // root arcs that are done once this is
  ArcRange slice{};                                      // level 1: the arcs that its set comes from
  std::array<std::uint32_t, view::kMaxLevels> prefix{};  // values of the levels before
};

class Pool {
 public:
  explicit Pool(Control& control) : control_(control) {}

  // A thread that takes items, from its first to its last.
  class Worker {
   public:
    explicit Worker(Pool& pool);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Work for this thread, which has done what it had: a chunk of the root arcs, if any are left.
    std::optional<WorkItem> take();
    // Waits for an item of another thread; none once no thread has any work.
    std::optional<WorkItem> wait();

   private:
    Pool& pool_;
    bool busy_ = true;
  };

  // Whether more threads wait than there are items.
  bool wants_work() const { return wanting_.load(std::memory_order_relaxed) > 0; }
  void add(const WorkItem& item);

 private:
  // With the lock held: one busy thread fewer; waiting threads or items have changed.
  void end_busy();
  void update_wanting();

  Control& control_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<WorkItem> items_;
  int busy_ = 0;
  int waiting_ = 0;
  std::atomic<int> wanting_{0};  // threads that wait, less the items there are
};

// Starts the other threads of a team once the first has worked long enough for that to pay.
class DelayedStart {
 public:
  explicit DelayedStart(Team& team) : team_(team) {}

  // Called every few thousand steps by the first thread.
  void check() {
    if (called_ || Clock::now() - start_ < kAlone) return;
    called_ = true;
    team_.start_others();
  }

 private:
  static constexpr std::chrono::microseconds kAlone{100};

  Team& team_;
  const Clock::time_point start_ = Clock::now();
  bool called_ = false;
};

}  // namespace motiflux::search
