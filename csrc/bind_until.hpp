// Native work with a timeout, called from Python.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "bind_checks.hpp"
#include "common/parallel.hpp"
#include "common/watched.hpp"

namespace motiflux {

// Runs work(workers) on `threads` threads; false if `timeout` passes first. tick() is called from time to
// time with the GIL, and returns false when a Python error is set.
template <class Work, class Tick>
bool run_until(int threads, std::optional<double> timeout, Work&& work, Tick&& tick) {
  require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
  if (timeout && *timeout <= 0) return false;
  const auto start = std::chrono::steady_clock::now();
  std::atomic<bool> stop{false};
  bool late = false;
  try {
    run_watched([&] { work(Workers{threads, &stop}); },
                [&] {
                  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
                  if (timeout && passed.count() >= *timeout) late = true, stop.store(true);
                  return tick();
                },
                [&] { stop.store(true); });
  } catch (const Cancelled&) {
    if (!late) throw;
  }
  return !late;
}

template <class Work>
bool run_until(int threads, std::optional<double> timeout, Work&& work) {
  return run_until(threads, timeout, std::forward<Work>(work), [] { return true; });
}

}  // namespace motiflux
