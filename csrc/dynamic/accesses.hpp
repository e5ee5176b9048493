// Estimates how often the search for the matches of a run, on a device, opens each row (GCSM, section IV;
// docs/design/out-of-core.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dynamic/access_table.hpp"
#include "dynamic/monitor.hpp"

namespace motiflux::dynamic {

enum class AccessMethod : int { kWeighted = 0, kPaper = 1, kExact = 2 };

struct AccessOptions {
  AccessMethod method = AccessMethod::kWeighted;
  std::uint64_t seed = 0;
  // M at first; 0: a walk for each root, at most 4,096. `of_paper`: |dE| D^(n-2) / 32^n instead (VI-A).
  std::uint64_t walks = 0;
  bool of_paper = false;
  // M at last; 0: 2^40 of the paper's, 2^22 of weighted ones.
  std::uint64_t most_walks = 0;
  // Formula (5), where C_y is the estimate of the row of rank `top`; 0: the least of all rows.
  double alpha = 1, delta = .9;
  std::uint64_t top = 0;
  std::optional<double> seconds;  // after which no more walks begin
  int threads = 1;
};

struct Accesses {
  std::vector<AccessedRow> rows;  // the most often opened first
  std::uint64_t roots = 0;        // of searches that open rows
  std::uint64_t walks = 0;        // M
  std::uint64_t wanted = 0;       // M by formula (5); more than 2^64 counts as 2^64 - 1
  std::uint64_t rounds = 0;
  std::uint64_t largest = 0;  // D
  bool is_exact = false;      // everything was looked at
  bool late = false;          // the last round was cut short
};

// Belongs to one monitor, and keeps the length of the longest row from run to run.
class AccessEstimator {
 public:
  // The graph of the monitor is that before the run or that with all of the run. Throws Stopped if `watch`
  // says so, and std::invalid_argument if `names` lacks rows that plans read.
  Accesses estimate(const Monitor& monitor, const Run& run, std::span<const RowName> names,
                    const AccessOptions& options, Watch& watch);

 private:
  void find_plans(const Monitor& monitor, std::span<const RowName> names);
  void find_largest(const UnionRows& rows, bool anew, int threads, Watch& watch);

  const Monitor* monitor_ = nullptr;
  std::uint64_t version_ = 0;
  std::size_t classes_ = 0;
  std::vector<RowName> names_;
  std::vector<AccessPlan> plans_;
  std::vector<bool> walked_;  // by name
  std::size_t largest_ = 0;   // 0: not known
};

}  // namespace motiflux::dynamic
