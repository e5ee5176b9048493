// A run of updates, as an engine in Python sees it.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "dynamic/divided_roots.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/run_matcher.hpp"

namespace motiflux {

class PyRun {
 public:
  PyRun(std::shared_ptr<const dynamic::Run> run, dynamic::Watch& watch, const std::function<void()>& write)
      : run_(std::move(run)), watch_(&watch), write_(&write) {}

  // A share of the roots of a run, for another thread; the rows that change are all of them.
  PyRun(const PyRun& whole, dynamic::ShareOfRoots share)
      : run_(whole.run_),
        shares_end_(whole.shares_end_),
        own_(std::make_unique<ShareWatch>(*shares_end_)),
        watch_(own_.get()),
        share_(share) {}

  const std::shared_ptr<const dynamic::Run>& run() const { return run_; }
  const dynamic::ShareOfRoots& share() const { return share_; }

  // An error of a signal handler is kept: the callback returns None, and then it is raised.
  bool keep_going();
  // Calls work(watch), without the GIL unless that is brief. Raises an error if it throws Stopped, or if the
  // run is over.
  template <class Work>
  void without_gil(Work&& work, bool is_brief);
  // The same for work that takes microseconds for runs of few ends.
  template <class Work>
  void without_gil(Work&& work) {
    without_gil(std::forward<Work>(work), run_->ends.size() < kShort);
  }
  // Writes the run into the rows of the monitor (RunMatcher::match), if this may do it.
  void write_rows();
  // After the callback.
  void end();
  // Has keep_going() of all shares return false.
  void stop_shares() { shares_end_->store(true); }
  bool stopped() const { return stopped_; }
  // Whether without_gil() raised an error since the run was to be stopped.
  bool was_cut_short() const { return cut_short_; }

 private:
  class ShareWatch : public dynamic::Watch {
   public:
    explicit ShareWatch(const std::atomic<bool>& stop) : stop_(stop) {}
    bool keep_going() override { return !stop_.load(std::memory_order_relaxed); }

   private:
    const std::atomic<bool>& stop_;
  };

  static constexpr std::size_t kShort = 4096;

  void keep_error();

  std::shared_ptr<const dynamic::Run> run_;
  std::shared_ptr<std::atomic<bool>> shares_end_ = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<ShareWatch> own_;
  dynamic::Watch* watch_;
  const std::function<void()>* write_ = nullptr;
  dynamic::ShareOfRoots share_;
  bool stopped_ = false, cut_short_ = false;
  std::exception_ptr error_;
};

template <class Work>
void PyRun::without_gil(Work&& work, bool is_brief) {
  if (watch_ == nullptr) nanobind::raise("the run is over");
  try {
    // Taking the GIL back may take milliseconds while other threads run.
    std::optional<nanobind::gil_scoped_release> release;
    if (!is_brief) release.emplace();
    work(*watch_);
    return;
  } catch (const dynamic::Stopped&) {
    stopped_ = cut_short_ = true;
  }
  keep_error();
  nanobind::raise("the run was stopped");
}

// What a run changes in the rows of a target that are in memory of the monitor: `ChangedRows` of Python,
// which the run must outlive.
nanobind::object changed_own_rows(const dynamic::Monitor& monitor, nanobind::handle run, std::uint32_t target,
                                  int way, std::uint32_t piece);

void bind_run(nanobind::module_& module);

}  // namespace motiflux
