// Whether there is a choice of copies, one for each variable, that satisfies all comparisons: copies are
// tried one after the other, in order of variables.
#pragma once

#include "motiflux/compared/network.hpp"

namespace motiflux::compared {

enum class Decision : std::uint8_t { kNone, kSome, kUndecided };

// Trials between two looks at whether to stop.
inline constexpr std::uint64_t kTrialsToCheck = 4096;

// Whether ranges decide by themselves: every comparison that does not restrict ranges by their ends is
// between single copies, which satisfy it.
MOTIFLUX_HOST_DEVICE inline bool is_exact(const Network& network, const Range* ranges,
                                          std::uint32_t matched) {
  if (network.all_monotone) return true;
  for (std::uint32_t c = 0; c < network.judged[matched]; ++c) {
    const Comparison& one = network.comparisons[c];
    if (one.monotone) continue;
    const Range left = ranges[one.left], right = ranges[one.right];
    if (left.size() > 1 || right.size() > 1 || !network.holds(one, left.first, right.first)) return false;
  }
  return true;
}

// Whether the trial of a variable satisfies the comparisons with itself and those before, and the span.
MOTIFLUX_HOST_DEVICE inline bool fits_earlier(const Network& network, const std::uint32_t* trial,
                                              std::uint32_t v) {
  for (std::uint32_t c = network.judged[v]; c < network.judged[v + 1]; ++c) {
    const Comparison& one = network.comparisons[c];
    if (!network.holds(one, trial[one.left], trial[one.right])) return false;
  }
  const Span& span = network.span;
  if (!span.there || network.variables[v].is_vertex) return true;
  const std::int64_t value = network.main(v, trial[v]);
  for (std::uint32_t before = 0; before < v; ++before) {
    if (network.variables[before].is_vertex) continue;
    const std::int64_t other = network.main(before, trial[before]);
    if (!(span.less(other, value) ? span.reaches(other, value) : span.reaches(value, other))) return false;
  }
  return true;
}

// Undecided after network.most_trials, or where stops(), called from time to time, says so.
template <class Stops>
MOTIFLUX_HOST_DEVICE inline Decision decide(const Network& network, const Range* ranges,
                                            std::uint32_t matched, Stops&& stops) {
  if (is_exact(network, ranges, matched)) return Decision::kSome;
  std::uint32_t trial[kMostVariables];
  std::uint32_t v = 0;
  trial[0] = ranges[0].first;
  for (std::uint64_t trials = 1;; ++trials) {
    if (trials % kTrialsToCheck == 0 && stops()) return Decision::kUndecided;
    if (network.most_trials != 0 && trials > network.most_trials) return Decision::kUndecided;
    if (trial[v] == ranges[v].last) {
      if (v == 0) return Decision::kNone;
      ++trial[--v];
    } else if (!fits_earlier(network, trial, v)) {
      ++trial[v];
    } else if (v + 1 < matched) {
      ++v;
      trial[v] = ranges[v].first;
    } else {
      return Decision::kSome;
    }
  }
}

}  // namespace motiflux::compared
