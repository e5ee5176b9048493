#include "common/thread_pool.hpp"

#include <pthread.h>

#include <csignal>
#include <thread>

namespace motiflux {
namespace {

// Turns of a loop before a thread sleeps: the next stage of a batch, or the end of a call, is often near.
constexpr int kSpins = 200;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until the value differs from `seen`.
void wait(const std::atomic<std::int32_t>& value, std::int32_t seen) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_relaxed) != seen) return;
    pause();
  }
  value.wait(seen, std::memory_order_relaxed);
}

// Signals are left to the threads of the interpreter.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

// Never destroyed: its threads wait until the process ends.
ThreadPool& ThreadPool::shared() {
  static std::atomic<ThreadPool*> pool = [] {
    pthread_atfork(nullptr, nullptr, [] { pool.store(new ThreadPool()); });
    return new ThreadPool();
  }();
  return *pool.load(std::memory_order_acquire);
}

bool ThreadPool::run(int threads, const std::function<void(int)>& body) {
  if (busy_.test_and_set(std::memory_order_acquire)) return false;
  body_ = &body;
  threads_ = threads;
  offer(threads - 1);
  start_up_to(threads - 1);
  body(0);
  withdraw();
  busy_.clear(std::memory_order_release);
  return true;
}

void ThreadPool::offer(int calls) {
  calls_.store(calls, std::memory_order_release);
  if (calls >= started_)
    calls_.notify_all();
  else
    for (int call = 0; call < calls; ++call) calls_.notify_one();
}

// Waits for calls at work, and takes the others back.
void ThreadPool::withdraw() {
  std::int32_t calls = calls_.fetch_and(~kOffered, std::memory_order_acq_rel) & ~kOffered;
  while (calls != 0) {
    const std::int32_t over = over_.load(std::memory_order_acquire);
    calls = calls_.load(std::memory_order_acquire);
    if (calls != 0) wait(over_, over);
  }
}

void ThreadPool::start_up_to(int threads) {
  const NoSignals blocked;
  try {
    for (; started_ < threads; ++started_) std::thread([this] { work(); }).detach();
  } catch (...) {
    // Fewer threads than requested: the work is shared dynamically, so the started threads do all of it.
  }
}

void ThreadPool::work() {
  for (;;) {
    std::int32_t calls = calls_.load(std::memory_order_acquire);
    if ((calls & kOffered) == 0) {
      wait(calls_, calls);
      continue;
    }
    if (!calls_.compare_exchange_weak(calls, calls - 1 + kTaken, std::memory_order_acq_rel)) continue;
    (*body_)(threads_ - (calls & kOffered));
    if (calls_.fetch_sub(kTaken, std::memory_order_acq_rel) == kTaken) {
      over_.fetch_add(1, std::memory_order_release);
      over_.notify_one();
    }
  }
}

}  // namespace motiflux
