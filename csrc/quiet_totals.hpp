// Totals of the batches of text that were applied without Python, and how long each took.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "common/total.hpp"
#include "common/wide.hpp"
#include "dynamic/put_off.hpp"
#include "python_int.hpp"

namespace motiflux {

using SteadyClock = std::chrono::steady_clock;

class QuietTotals {
 public:
  using PutOff = std::shared_ptr<dynamic::PutOffNoops>;
  using Matches = std::vector<std::pair<Total, Total>>;  // of a pattern, appeared and vanished

  // (updates given, updates applied, batches, self-loops, no-ops, [no-ops of updates that were put off],
  // [(step of latency, updates)], the greatest, [matches of a pattern that appeared, vanished]) since the
  // last call.
  nanobind::tuple take() {
    nanobind::list latencies;
    for (const auto& [step, updates] : latencies_) latencies.append(nanobind::make_tuple(step, updates));
    nanobind::list put_off;
    for (const auto& noops : put_off_) put_off.append(noops);
    nanobind::list matches;
    for (const auto& [positive, negative] : matches_)
      matches.append(nanobind::make_tuple(to_python(Wide(positive)), to_python(Wide(negative))));
    nanobind::tuple taken = nanobind::make_tuple(given_, applied_, batches_, self_loops_, noops_, put_off,
                                                 latencies, longest_latency_, matches);
    matches_.clear();
    put_off_.clear();
    given_ = applied_ = batches_ = self_loops_ = noops_ = 0;
    latencies_.clear();
    longest_latency_ = 0;
    return taken;
  }
  std::size_t given() const { return given_; }
  std::size_t batches() const { return batches_; }
  // The no-ops of updates that were put off last; null if all are known.
  PutOff put_off() const { return put_off_.empty() ? nullptr : put_off_.back(); }

  void count(std::size_t given, std::size_t applied, std::size_t self_loops, std::size_t noops,
             const PutOff& put_off) {
    given_ += given;
    applied_ += applied;
    self_loops_ += self_loops;
    noops_ += noops;
    if (put_off != nullptr && (put_off_.empty() || put_off_.back() != put_off)) put_off_.push_back(put_off);
    std::erase_if(put_off_, [&](const PutOff& one) {
      if (!one->known) return false;
      noops_ += one->count;
      return true;
    });
    ++batches_;
  }

  // So that a batch that is applied can be counted.
  void make_room(std::size_t patterns) {
    put_off_.reserve(put_off_.size() + 1);
    matches_.reserve(patterns);
  }

  void count_matches(const Matches& more) {
    if (matches_.size() < more.size()) matches_.resize(more.size());
    for (std::size_t pattern = 0; pattern < more.size(); ++pattern) {
      matches_[pattern].first += more[pattern].first;
      matches_[pattern].second += more[pattern].second;
    }
  }

  void note(SteadyClock::duration taken, std::size_t updates) {
    const double microseconds =
        std::max(std::chrono::duration<double, std::micro>(taken).count(), kLeastMicroseconds);
    try {
      latencies_[std::lround(kLatencySteps * std::log2(microseconds))] += updates;
    } catch (const std::bad_alloc&) {
      // The batch is applied and counted; only its latency is not.
    }
    longest_latency_ = std::max(longest_latency_, microseconds);
  }

 private:
  static constexpr double kLatencySteps = 64, kLeastMicroseconds = 1e-3;

  std::size_t given_ = 0, applied_ = 0, batches_ = 0, self_loops_ = 0, noops_ = 0;
  std::vector<PutOff> put_off_;  // no-ops that are not known yet
  Matches matches_;
  std::map<long, std::size_t> latencies_;
  double longest_latency_ = 0;
};

}  // namespace motiflux
