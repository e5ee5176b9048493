// What engines that match runs elsewhere need of a monitor (dynamic/run_matcher.hpp).
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "dynamic/monitor.hpp"
#include "dynamic/run_matcher.hpp"

namespace motiflux {

// Matches runs without the GIL, as far as it can.
class MatchesFirst {
 public:
  virtual ~MatchesFirst() = default;
  // Calls use(matches) and returns true; or returns false: Python matches the run, and goes on where this
  // stopped.
  virtual bool match(const std::shared_ptr<const dynamic::Run>& run,
                     const std::function<void(const dynamic::RunMatches&)>& use) = 0;
};

// A matcher that calls callback(run) with the GIL.
class PythonMatcher : public dynamic::RunMatcher {
 public:
  explicit PythonMatcher(nanobind::callable callback) : callback_(std::move(callback)) {}
  // The last one that used it may be native code.
  ~PythonMatcher() override {
    const nanobind::gil_scoped_acquire acquire;
    callback_.reset();
  }
  void match(const std::shared_ptr<const dynamic::Run>& run, dynamic::Watch& watch,
             const std::function<void()>& write,
             const std::function<void(const dynamic::RunMatches&)>& use) override;
  const nanobind::callable& callback() const { return callback_; }
  // Has another one match what it can; null: none. It outlives its use.
  void let_first(MatchesFirst* first) { first_ = first; }

 private:
  MatchesFirst* first_ = nullptr;
  nanobind::callable callback_;
};

// (pattern, listed, levels, steps) of a plan.
nanobind::object describe_plan(const dynamic::Monitor& monitor, std::uint32_t number);
// The number of a plan's group, and the restrictions of each level that the group shares; None without one.
nanobind::object shared_levels(const dynamic::Monitor& monitor, std::uint32_t number);
// The classes of a target; None: all.
nanobind::object classes_of(const dynamic::Monitor& monitor, std::uint32_t target);
// (offsets, neighbors): for each vertex all neighbours by a target, ascending, one for each edge.
nanobind::object rows_of_target(const dynamic::Monitor& monitor, std::uint32_t target, int way, int threads,
                                bool with_room);

}  // namespace motiflux
