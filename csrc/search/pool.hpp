// Shares the work of one search among threads.
//
// A thread without work takes a chunk of the root arcs. When none are left it waits, and a working thread
// gives away half of its remaining candidates at the shallowest level that has any. While all threads have
// work, none takes a lock: a working thread reads one number every few thousand steps.
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

// Work for a thread: some candidates of one level, given the vertices of the levels before. Candidates are
// named by their positions: the thread that takes the item finds the same set again.
struct WorkItem {
  int level;  // 0: [from, to) are arcs of the rows that root the search
  std::uint64_t from;
  std::uint64_t to;
  std::uint64_t arcs;                                    // root arcs that are done once this is
  ArcRange slice{};                                      // level 1: the arcs of its set
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

    // Called when this thread has done its work: a chunk of the root arcs, if any are left.
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
  // With the lock held: one busy thread fewer; the waiting threads or the items have changed.
  void end_busy();
  void update_wanting();

  Control& control_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<WorkItem> items_;
  int busy_ = 0;
  int waiting_ = 0;
  std::atomic<int> wanting_{0};  // waiting threads minus items
};

// Starts the other threads of a team once the first has worked long enough for this to pay.
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
