// Shares the work of one search among threads.
//
// A thread without work takes a chunk of the root arcs. When none are left it waits, and a working thread
// gives away half of its remaining candidates at the shallowest level that has any. While all threads have
// work, none takes a lock: a working thread reads one number every few thousand steps.
//
// A search may also be one portion of a larger one: it then begins with given items, and after a given time
// or amount of work its threads give all remaining candidates back instead of finishing them.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

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

// A part of a search whose other parts are searched elsewhere.
struct Portion {
  std::vector<WorkItem> items;
  // What is left after so many seconds, so much work of one thread (Walker::work) or so many rows is handed
  // back.
  std::optional<double> seconds;
  std::optional<std::uint64_t> work;
  std::optional<std::uint64_t> rows{};  // of one thread, where rows are listed
};

class Pool {
 public:
  explicit Pool(Control& control) : control_(control) {}
  // `control` has no root arcs of its own.
  Pool(Control& control, const Portion& portion);

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
  // The same, or whether the portion is to be handed back: asked by a thread that has done `worked` so far.
  // With one thread and a bound on work, the answers depend on the portion only.
  bool wants_work(std::uint64_t worked) { return is_over(worked) || wants_work(); }
  // Whether all remaining candidates are wanted.
  bool hands_back() const { return hands_back_.load(std::memory_order_relaxed); }
  bool is_portion() const { return portion_; }
  void hand_back();
  void add(const WorkItem& item);

  // The items that were handed back, once all threads have ended.
  std::vector<WorkItem> left() const;

 private:
  bool is_over(std::uint64_t worked);
  // With the lock held: one busy thread fewer; the waiting threads or the items have changed.
  void end_busy();
  void update_wanting();

  Control& control_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<WorkItem> items_;
  std::vector<WorkItem> left_;
  bool portion_ = false;
  std::optional<Clock::time_point> until_;
  std::uint64_t most_work_ = UINT64_MAX;
  std::atomic<bool> hands_back_{false};
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
