// Long native work called from Python: the GIL is free, signals are handled, Ctrl-C stops the work.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "common/live_work.hpp"

namespace motiflux {

inline constexpr std::chrono::milliseconds kSignalPeriod{20};

// Runs work() on another thread. The calling thread, which holds the GIL on entry and on return, releases it
// and takes it every kSignalPeriod to run Python's signal handlers and then tick(), which returns false when
// a Python error is set. On such an error, calls stop(), waits for the work (it must return soon after), and
// throws the Python error. Otherwise rethrows the exception of work(), if any. stop() may also be called from
// another thread, when the interpreter shuts down. tick() must not throw.
template <class Work, class Tick, class Stop>
void run_watched(Work&& work, Tick&& tick, Stop&& stop) {
  const LiveWork live([&] { stop(); });
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  bool python_error = false;
  std::exception_ptr error;
  auto run = [&] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    std::lock_guard lock(mutex);
    done = true;
    finished.notify_one();
  };
  {
    nanobind::gil_scoped_release release;
    std::thread worker;
    try {
      worker = std::thread(run);
    } catch (const std::system_error&) {
      run();  // no thread available: run unwatched
    }
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, kSignalPeriod, [&] { return done; })) {
      if (python_error) continue;
      lock.unlock();
      {
        nanobind::gil_scoped_acquire acquire;
        python_error = PyErr_CheckSignals() != 0 || !tick();
      }
      if (python_error) stop();
      lock.lock();
    }
    lock.unlock();
    if (worker.joinable()) worker.join();
  }
  if (python_error) throw nanobind::python_error();
  if (error) std::rethrow_exception(error);
}

// The same for work(stop), which returns soon after the flag `stop` becomes true.
template <class Work>
void run_interruptible(Work&& work) {
  std::atomic<bool> stop{false};
  run_watched([&] { work(stop); }, [] { return true; }, [&] { stop.store(true, std::memory_order_relaxed); });
}

}  // namespace motiflux
