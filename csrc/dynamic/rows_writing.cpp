#include "dynamic/rows_writing.hpp"

#include <pthread.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace motiflux::dynamic {
namespace {

// The works of this process that have not ended. Never destroyed: threads may run after static destructors.
class Live {
 public:
  static Live& all() {
    static auto* instance = new Live();
    return *instance;
  }
  void begin() {
    const std::lock_guard lock(mutex_);
    ++works_;
  }
  void end() {
    --works_;
    works_.notify_all();
  }

 private:
  Live() {
    pthread_atfork(
        [] {
          all().mutex_.lock();
          for (int works; (works = all().works_.load()) > 0;) all().works_.wait(works);
        },
        [] { all().mutex_.unlock(); }, [] { all().mutex_.unlock(); });
  }

  std::mutex mutex_;  // held during a fork, so that no work begins
  std::atomic<int> works_{0};
};

}  // namespace

struct RowsWriting::State : Watch {
  std::atomic<bool> stops{false}, ended{false};
  std::exception_ptr error;  // once it has ended

  bool keep_going() override { return !stops.load(std::memory_order_relaxed); }
  void run(const std::function<void(Watch&)>& work) {
    try {
      work(*this);
    } catch (...) {
      error = std::current_exception();
    }
    ended.store(true, std::memory_order_release);
    ended.notify_all();
  }
};

void RowsWriting::start(const std::function<void(Watch&)>& work) {
  state_ = std::make_shared<State>();
  Live::all().begin();
  try {
    std::thread([state = state_, work] {
      state->run(work);
      Live::all().end();
    }).detach();
  } catch (const std::system_error&) {
    Live::all().end();
    state_->run(work);
  } catch (...) {
    Live::all().end();
    state_.reset();
    throw;
  }
}

void RowsWriting::check() {
  if (is_begun() && state_->ended.load(std::memory_order_acquire) && state_->error)
    std::rethrow_exception(state_->error);
}

std::function<void()> RowsWriting::waiting() const {
  return [state = state_] {
    if (state != nullptr) state->ended.wait(false, std::memory_order_acquire);
  };
}

void RowsWriting::wait_for_end() {
  state_->ended.wait(false, std::memory_order_acquire);
  if (!state_->error) {
    state_.reset();
    return;
  }
  try {
    std::rethrow_exception(state_->error);
  } catch (const std::exception& error) {
    throw RowsLost(error.what());
  }
}

void RowsWriting::stop() {
  if (!is_begun()) return;
  state_->stops.store(true, std::memory_order_relaxed);
  state_->ended.wait(false, std::memory_order_acquire);
  state_.reset();
}

}  // namespace motiflux::dynamic
