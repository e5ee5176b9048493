// What native work that takes long does for Python meanwhile.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "common/free_gil.hpp"
#include "common/live_work.hpp"
#include "dynamic/matcher.hpp"

namespace motiflux {

// Handles signals from time to time, in the thread that holds the GIL otherwise, and checks the deadline. The
// GIL is released when the work first asks whether to go on: work of a few microseconds keeps it, since
// taking it back may take milliseconds while other threads run. At interpreter exit the work ends with an
// error.
class SignalWatch : public dynamic::Watch {
 public:
  explicit SignalWatch(std::optional<double> seconds) {
    if (seconds && *seconds < kForever)
      deadline_ =
          Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds));
  }
  bool keep_going() override {
    free_gil();
    const auto now = Clock::now();
    note(take_pattern(), now);
    late_ = late_ || now >= deadline_;
    if (!failed_ && (stops_ || now >= next_)) {
      next_ = now + kSignalPeriod;
      const nanobind::gil_scoped_acquire acquire;
      failed_ = PyErr_CheckSignals() != 0;
      if (!failed_ && stops_) {
        PyErr_SetString(PyExc_RuntimeError, kExit);
        failed_ = true;
      }
    }
    return !failed_ && !late_;
  }
  // Before the work, if it is known to take long.
  void free_gil() {
    if (free_) return;
    try {
      live_.emplace([this] { stops_ = true; });
    } catch (const std::runtime_error&) {
      // Exit has begun, and the GIL is kept.
    }
    free_.emplace();
  }
  // After the work.
  void take_gil() {
    free_.reset();
    live_.reset();
  }
  bool failed() const { return failed_; }
  bool late() const { return late_; }
  // The seconds of searches by pattern, measured from one look to the next; those of other work are left out.
  const std::vector<double>& searched() const { return searched_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kForever = 1e9;  // seconds; beyond it the clock's integer would overflow
  static constexpr std::chrono::milliseconds kSignalPeriod{20};
  static constexpr const char* kExit = "the interpreter is shutting down";

  void note(std::uint32_t pattern, Clock::time_point now) {
    if (pattern != kNoPattern) {
      if (searched_.size() <= pattern) searched_.resize(pattern + std::size_t{1});
      searched_[pattern] += std::chrono::duration<double>(now - looked_).count();
    }
    looked_ = now;
  }

  Clock::time_point looked_ = Clock::now(), next_ = looked_ + kSignalPeriod;
  Clock::time_point deadline_ = Clock::time_point::max();
  bool failed_ = false, late_ = false;
  std::atomic<bool> stops_{false};  // another thread sets it
  std::vector<double> searched_;
  std::optional<LiveWork> live_;
  std::optional<FreeGil> free_;
};

}  // namespace motiflux
