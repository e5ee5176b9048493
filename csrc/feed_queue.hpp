// What waits between the threads of a feed: updates of producers, and answers for consumers.
//
//   write()      | 0..3 | 4 | 5..9 |     one thread applies     | 0..3 | 4 |      take()
//   producers    parts, in order         what is there          answers           consumers
//
// Those who wait look for a while before they sleep, and none of them holds Python's lock. Python's objects
// are made and freed with it, and never while the queue is locked.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "bind_found.hpp"
#include "dynamic/monitor.hpp"

namespace motiflux {

// Updates of one producer, in order.
struct FeedPart {
  std::uint64_t first = 0, size = 0;  // among all updates of the feed
  nanobind::object updates;           // of Python
  // The columns of plain ones, which are integers; others have none.
  const std::uint8_t* inserts = nullptr;
  const std::int64_t *sources = nullptr, *targets = nullptr, *labels = nullptr;

  bool is_plain() const { return inserts != nullptr; }
  bool is_like(const FeedPart& other) const {
    return is_plain() == other.is_plain() && (labels == nullptr) == (other.labels == nullptr);
  }
};
using FeedParts = std::list<FeedPart>;

struct FeedAnswer {
  // Of updates that were applied without Python.
  struct Native {
    dynamic::Found found;
    Applied applied;
    bool in_batches;
    std::size_t self_loops;
    double seconds;
    std::uint64_t slots;  // what Python knows its patterns by
  };
  std::uint64_t first = 0, updates = 0;
  nanobind::object made;  // what Python gets, if it was made there, else:
  std::optional<Native> native;
};
using FeedAnswers = std::list<FeedAnswer>;

class FeedQueue {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Work : int { kUpdates = 0, kRest = 1, kOver = 2 };
  enum class Wrote : int { kYes = 0, kNoRoom = 1, kClosed = 2 };

  // `room`: the most updates that were written and whose answers were not taken. `spin`: how long those who
  // wait look before they sleep.
  FeedQueue(std::uint64_t room, Clock::duration spin) : room_(room), spin_(spin) {}
  FeedQueue(const FeedQueue&) = delete;

  // Producers

  // Takes the parts if there is room for all; `first` becomes the position of the first update.
  Wrote write(FeedParts& parts, std::uint64_t& first) {
    std::uint64_t size = 0;
    for (const FeedPart& part : parts) size += part.size;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return Wrote::kClosed;
      if (written_ + size - taken_ > room_) return Wrote::kNoRoom;
      first = written_;
      for (FeedPart& part : parts) {
        part.first = written_;
        written_ += part.size;
      }
      parts_.splice(parts_.end(), parts);
      wake_worker();
    }
    has_work_.notify_one();
    return Wrote::kYes;
  }
  // Waits until there is room, or none will come; false after the time.
  bool wait_for_room(std::uint64_t size, Clock::time_point end) {
    std::unique_lock lock(mutex_);
    return has_room_.wait_until(lock, end, [&] { return closed_ || written_ + size - taken_ <= room_; });
  }

  // Consumers

  // Takes the next answer out; nothing after the time, or if none will come.
  FeedAnswers take(Clock::time_point end) {
    FeedAnswers taken;
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return !answers_.empty() || is_over(); };
    if (!ready() && written_ > answered_) look(lock, answers_seen_, end, ready);
    has_answers_.wait_until(lock, end, ready);
    if (answers_.empty()) return taken;
    taken.splice(taken.end(), answers_, answers_.begin());
    taken_ += taken.front().updates;
    lock.unlock();
    has_room_.notify_all();
    return taken;
  }
  // Has an answer that was taken be the next one again, among those after it.
  void give_back(FeedAnswers& answer) {
    {
      const std::lock_guard lock(mutex_);
      const FeedAnswer& given = answer.front();
      taken_ -= given.updates;
      const auto is_later = [&](const FeedAnswer& other) { return other.first > given.first; };
      answers_.splice(std::find_if(answers_.begin(), answers_.end(), is_later), answer);
      answers_seen_.fetch_add(1, std::memory_order_release);
    }
    has_answers_.notify_one();
  }
  bool has_no_more() {
    const std::lock_guard lock(mutex_);
    return answers_.empty() && is_over();
  }
  // Waits until all that was written is answered, or never will be; whether it is.
  bool wait_until_answered(Clock::time_point end) {
    std::unique_lock lock(mutex_);
    is_still_.wait_until(lock, end, [&] { return answered_ == written_ || ended_; });
    return answered_ == written_;
  }

  // Pauses

  // Waits until nothing is applied, and has nothing be applied until resume() of the same owner, which is not
  // 0; false after the time.
  bool pause(std::uint64_t owner, Clock::time_point end) {
    std::unique_lock lock(mutex_);
    ++pauses_;
    wake_worker();
    has_work_.notify_all();
    const bool holds = is_still_.wait_until(lock, end, [&] { return !applying_ && owner_ == 0; });
    --pauses_;
    if (holds) owner_ = owner;
    lock.unlock();
    if (!holds) has_work_.notify_all();
    return holds;
  }
  // Ends a pause of this owner, if there is one.
  void resume(std::uint64_t owner) {
    {
      const std::lock_guard lock(mutex_);
      if (owner_ != owner) return;
      owner_ = 0;
      wake_worker();
    }
    is_still_.notify_all();
    has_work_.notify_all();
  }

  bool is_paused_by(std::uint64_t owner) {
    const std::lock_guard lock(mutex_);
    return owner_ == owner;
  }

  // Has no more be written. `gives_up`: what waits is not applied.
  void close(bool gives_up) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      gives_up_ = gives_up_ || gives_up;
      wake_worker();
      answers_seen_.fetch_add(1, std::memory_order_release);
    }
    has_work_.notify_all();
    notify_all();
  }
  // Has the call that runs be undone, and nothing be applied any more. At any time, from any thread.
  void stop() { stopped_ = true; }
  bool is_stopped() const { return stopped_; }
  bool is_closed() {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  // The thread that applies

  // Says that nothing is applied, and waits for updates. What it returns is to be applied before the next
  // call. kRest: none have come for this time; kOver: none will.
  Work wait_for_work(Clock::time_point end) {
    std::unique_lock lock(mutex_);
    applying_ = false;
    is_still_.notify_all();
    const auto ready = [&] { return must_end() || (!parts_.empty() && may_apply()); };
    if (!ready()) look(lock, work_seen_, end, ready);
    for (;;) {
      if (must_end()) return Work::kOver;
      if (may_apply() && !parts_.empty()) break;
      if (has_work_.wait_until(lock, end) != std::cv_status::timeout) continue;
      if (!may_apply() || !parts_.empty()) {
        end = Clock::now() + kLook;
        continue;
      }
      applying_ = true;
      return Work::kRest;
    }
    applying_ = true;
    return Work::kUpdates;
  }
  // Waits for updates between two calls of one turn; false if the turn is over.
  bool wait_in_turn(Clock::time_point end) {
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return must_end() || !may_apply() || !parts_.empty(); };
    if (!ready()) look(lock, work_seen_, end, ready);
    if (!has_work_.wait_until(lock, end, ready)) return false;
    return !must_end() && may_apply();
  }
  // Takes the first part out, and those after it that are `alike`, up to so many updates; none if the first
  // one has to be plain and is not, or after stop().
  FeedParts take_parts(std::uint64_t most, bool plain, bool alike) {
    FeedParts taken;
    const std::lock_guard lock(mutex_);
    std::uint64_t size = 0;
    while (!stopped_ && !parts_.empty()) {
      const FeedPart& next = parts_.front();
      if (plain && !next.is_plain()) break;
      if (!taken.empty() && (size + next.size > most || (alike && !next.is_like(taken.front())))) break;
      size += next.size;
      taken.splice(taken.end(), parts_, parts_.begin());
    }
    return taken;
  }
  // Has parts before all others again.
  void put_back(FeedParts& parts) {
    const std::lock_guard lock(mutex_);
    parts_.splice(parts_.begin(), parts);
  }
  // Gives the answer of parts that were taken, which are freed with Python's lock.
  void answer(FeedAnswers& answer, FeedParts& parts) {
    bool is_last = false;
    {
      const std::lock_guard lock(mutex_);
      answered_ += answer.front().updates;
      answers_.splice(answers_.end(), answer);
      spent_.splice(spent_.end(), parts);
      answers_seen_.fetch_add(1, std::memory_order_release);
      is_last = answered_ == written_;
    }
    has_answers_.notify_one();
    if (is_last) is_still_.notify_all();
  }
  // Parts that are done; to be freed with Python's lock.
  FeedParts take_spent() {
    FeedParts taken;
    const std::lock_guard lock(mutex_);
    taken.splice(taken.end(), spent_);
    return taken;
  }
  // Says that nothing will be applied any more; returns what was not.
  FeedParts end() {
    FeedParts left;
    {
      const std::lock_guard lock(mutex_);
      closed_ = ended_ = true;
      applying_ = false;
      left.splice(left.end(), parts_);
      answers_seen_.fetch_add(1, std::memory_order_release);
    }
    notify_all();
    return left;
  }

  std::uint64_t written() {
    const std::lock_guard lock(mutex_);
    return written_;
  }
  std::uint64_t answered() {
    const std::lock_guard lock(mutex_);
    return answered_;
  }

 private:
  static constexpr std::chrono::milliseconds kLook{50};

  // With the lock.
  bool must_end() const { return stopped_ || gives_up_ || (closed_ && parts_.empty()); }
  bool may_apply() const { return owner_ == 0 && pauses_ == 0; }
  bool is_over() const { return ended_ || (closed_ && answered_ == written_); }
  void wake_worker() { work_seen_.fetch_add(1, std::memory_order_release); }
  void notify_all() {
    has_room_.notify_all();
    has_answers_.notify_all();
    is_still_.notify_all();
  }

  // Looks for a while, without the lock, whether something holds; `word` changes before it does.
  template <class Ready>
  void look(std::unique_lock<std::mutex>& lock, const std::atomic<std::uint64_t>& word, Clock::time_point end,
            Ready&& ready) {
    end = std::min(end, Clock::now() + spin_);
    while (!ready()) {
      const std::uint64_t seen = word.load(std::memory_order_relaxed);
      lock.unlock();
      bool is_late = false;
      while (word.load(std::memory_order_acquire) == seen && !(is_late = Clock::now() >= end))
        std::this_thread::yield();
      lock.lock();
      if (is_late) return;
    }
  }

  const std::uint64_t room_;
  const Clock::duration spin_;
  std::mutex mutex_;
  std::condition_variable has_room_, has_work_, has_answers_, is_still_;
  FeedParts parts_, spent_;
  FeedAnswers answers_;
  std::uint64_t written_ = 0, answered_ = 0, taken_ = 0;
  std::size_t pauses_ = 0;   // threads that wait for one
  std::uint64_t owner_ = 0;  // of the pause; 0: none
  bool closed_ = false, gives_up_ = false, ended_ = false, applying_ = false;
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> work_seen_{0}, answers_seen_{0};
};

}  // namespace motiflux
