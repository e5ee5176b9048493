// Threads of the process that wait for work: a stage of a batch may take less time than to start its threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace motiflux {

class ThreadPool {
 public:
  // The pool of this process; a forked child has one of its own, without threads.
  static ThreadPool& shared();

  // Calls body(0) on this thread and body(index), for other indices below `threads`, each on a thread of the
  // pool. Returns when all calls have returned; those that have not begun when body(0) returns are left out.
  // Returns false, and calls nothing, while another thread is here. `body` must not throw; at most 2^15
  // threads.
  bool run(int threads, const std::function<void(int)>& body);

 private:
  ThreadPool() = default;
  void work();
  void start_up_to(int threads);
  void offer(int calls);
  void withdraw();

  // One word: calls that may be taken, and calls at work. Threads of the pool wait for its change.
  static constexpr std::int32_t kTaken = 1 << 16, kOffered = kTaken - 1;
  std::atomic<std::int32_t> calls_{0};
  std::atomic<std::int32_t> over_{0};  // counts how often the last call at work returned
  const std::function<void(int)>* body_ = nullptr;
  int threads_ = 0;  // of the call
  int started_ = 0;  // threads of the pool
  std::atomic_flag busy_;
};

}  // namespace motiflux
