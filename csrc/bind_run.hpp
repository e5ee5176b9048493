// A run of updates, as an engine in Python sees it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "dynamic/run_matcher.hpp"

namespace motiflux {

class PyRun {
 public:
  PyRun(std::shared_ptr<const dynamic::Run> run, dynamic::Watch& watch, const std::function<void()>& write)
      : run_(std::move(run)), watch_(&watch), write_(&write) {}

  const std::shared_ptr<const dynamic::Run>& run() const { return run_; }

  // An error of a signal handler is kept: the callback returns None, and then it is raised.
  bool keep_going();
  // Calls work(watch), without the GIL unless the run is short. Raises an error if it throws Stopped, or if
  // the run is over.
  template <class Work>
  void without_gil(Work&& work);
  // Writes the run into the rows of the monitor (RunMatcher::match), if this may do it.
  void write_rows();
  // After the callback.
  void end();
  bool stopped() const { return stopped_; }
  // Whether without_gil() raised an error since the run was to be stopped.
  bool was_cut_short() const { return cut_short_; }

 private:
  void keep_error();

  std::shared_ptr<const dynamic::Run> run_;
  dynamic::Watch* watch_;
  const std::function<void()>* write_ = nullptr;
  bool stopped_ = false, cut_short_ = false;
  std::exception_ptr error_;
};

void bind_run(nanobind::module_& module);

}  // namespace motiflux
