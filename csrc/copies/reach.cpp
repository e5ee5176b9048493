#include "copies/reach.hpp"

#include <algorithm>
#include <cmath>

namespace motiflux::copies {

std::int64_t Reach::whole(double value) {
  constexpr double kLimit = 9.2e18;
  if (value >= kLimit) return std::numeric_limits<std::int64_t>::max();
  if (value <= -kLimit) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

// A bound on one side of a column from one side of another.
struct Reach::Link {
  std::size_t from;  // 2 * column + 1 for the upper side
  std::size_t to;
  bool exact;
  std::int64_t shift;
  double alpha;
  double beta;
};

Reach::Reach(const Network& network) {
  std::size_t columns = 0;
  for (const Variable& variable : network.variables) {
    first_.push_back(columns);
    columns += variable.columns.size();
  }
  first_size_ = first_.size();
  floats_.assign(columns, 0);
  for (const Comparison& one : network.comparisons) {
    if (!one.floats) continue;
    floats_[first_[at(one.left)] + at(one.left_column)] = 1;
    floats_[first_[at(one.right)] + at(one.right_column)] = 1;
  }
  if (network.span.there && network.span.floats)
    for (std::size_t v = 0; v < first_size_; ++v)
      if (!network.variables[v].is_vertex) floats_[first_[v]] = 1;
  close(network);
}

std::vector<Reach::Link> Reach::links(const Network& network) const {
  std::vector<Link> found;
  for (const Comparison& one : network.comparisons) {
    if (one.op == Operator::kUnequal || one.left == one.right) continue;
    const std::size_t left = 2 * (first_[at(one.left)] + at(one.left_column));
    const std::size_t right = 2 * (first_[at(one.right)] + at(one.right_column));
    const bool rises = one.rises();
    constexpr Int128 kMost = std::numeric_limits<std::int64_t>::max() / 2;
    const bool exact = !one.floats && one.m == 1 && one.n == 1 && one.c <= kMost && one.c >= -kMost;
    const auto m = static_cast<double>(one.m), n = static_cast<double>(one.n), c = static_cast<double>(one.c);
    const double alpha = one.floats ? one.factor : n / m, beta = one.floats ? one.offset : c / m;
    const auto add = [&](bool at_most, bool strict) {
      const std::int64_t shift = exact ? static_cast<std::int64_t>(one.c) : 0;
      const std::size_t high = at_most ? 1 : 0;
      // The left side is at most (at least) what grows with the right side.
      found.push_back({right + (rises ? high : 1 - high), left + high, exact,
                       shift - (strict ? (at_most ? 1 : -1) : 0), alpha, beta});
      found.push_back({left + (1 - high), right + (rises ? 1 - high : high), exact,
                       -shift + (strict ? (at_most ? 1 : -1) : 0), 1 / alpha, -beta / alpha});
    };
    if (one.op == Operator::kLess || one.op == Operator::kAtMost || one.op == Operator::kEqual)
      add(true, one.op == Operator::kLess);
    if (one.op == Operator::kGreater || one.op == Operator::kAtLeast || one.op == Operator::kEqual)
      add(false, one.op == Operator::kGreater);
  }
  const Span& span = network.span;
  if (!span.there) return found;
  const bool fits = !span.floats && span.span < std::numeric_limits<std::int64_t>::max() / 2;
  const double length = span.floats ? span.float_span : static_cast<double>(span.span);
  const std::int64_t shift = fits ? static_cast<std::int64_t>(span.span) : 0;
  for (std::size_t a = 0; a < first_size_; ++a)
    for (std::size_t b = 0; b < first_size_; ++b) {
      if (a == b || network.variables[a].is_vertex || network.variables[b].is_vertex) continue;
      found.push_back({2 * first_[a] + 1, 2 * first_[b] + 1, fits, shift, 1, length});
      found.push_back({2 * first_[a], 2 * first_[b], fits, -shift, 1, -length});
    }
  return found;
}

bool Reach::is_tighter(const Bound& bound, const Bound& known) {
  if (bound.alpha != known.alpha) return false;  // the tighter one depends on the value: the shorter path
  if (bound.exact != known.exact) return bound.exact;
  if (bound.exact) return bound.upper ? bound.shift < known.shift : bound.shift > known.shift;
  return bound.upper ? bound.beta < known.beta : bound.beta > known.beta;
}

// The bounds that follow from comparisons along paths.
void Reach::close(const Network& network) {
  const std::vector<Link> all = links(network);
  // Of each side of a column two bounds are kept: one of differences (alpha = 1), and one other.
  const std::size_t sides = 2 * floats_.size(), kept = 2 * sides;
  std::vector<std::size_t> variable_of(floats_.size());
  for (std::size_t v = 0; v < first_size_; ++v)
    for (std::size_t c = 0; c < network.variables[v].columns.size(); ++c) variable_of[first_[v] + c] = v;
  bounds_.assign(first_size_ * first_size_, {});
  std::vector<char> there(kept);
  std::vector<Bound> best(kept);
  for (std::size_t source = 0; source < floats_.size(); ++source) {
    there.assign(kept, 0);
    for (const std::size_t side : {2 * source, 2 * source + 1}) {
      there[side] = 1;
      best[side] = {};
      best[side].upper = side % 2 == 1;
      best[side].exact = floats_[source] == 0;
    }
    bool changed = true;
    for (std::size_t round = 0; changed && round < first_size_; ++round) {
      changed = false;
      const std::vector<char> there_before = there;
      for (std::size_t at = 0; at < 2 * all.size(); ++at) {
        const Link& link = all[at / 2];
        const std::size_t origin = link.from + at % 2 * sides;
        if (!there_before[origin] || link.to / 2 == source) continue;
        const Bound& from = best[origin];
        Bound bound = from;
        bound.upper = link.to % 2 == 1;
        bound.exact = from.exact && link.exact;
        bound.shift = bound.exact ? shifted(from.shift, link.shift) : 0;
        bound.alpha = link.alpha * from.alpha;
        bound.beta = link.alpha * from.beta + link.beta;
        bound.scale = std::abs(link.alpha) * from.scale + std::abs(link.beta);
        if (!std::isfinite(bound.alpha) || !std::isfinite(bound.beta) || !std::isfinite(bound.scale))
          continue;
        const std::size_t to = link.to + (bound.alpha == 1 ? 0 : sides);
        if (there[to] && !is_tighter(bound, best[to])) continue;
        there[to] = 1;
        best[to] = bound;
        changed = true;
      }
    }
    const std::size_t v = variable_of[source];
    for (std::size_t side = 0; side < kept; ++side) {
      const std::size_t column = side % sides / 2, target = variable_of[column];
      if (!there[side] || target == v) continue;
      Bound bound = best[side];
      bound.source_column = static_cast<int>(source - first_[v]);
      bound.column = static_cast<int>(column - first_[target]);
      bound.floats = floats_[column] != 0;
      bound.source_floats = floats_[source] != 0;
      bounds_[target * first_size_ + v].push_back(bound);
    }
  }
}

Interval Reach::differences(int target, int source) const {
  Interval found = kAllIntegers;
  for (const Bound& bound : bounds_[at(target) * first_size_ + at(source)]) {
    if (!bound.exact || bound.column != 0 || bound.source_column != 0) continue;
    if (bound.upper)
      found.high = std::min(found.high, bound.shift);
    else
      found.low = std::max(found.low, bound.shift);
  }
  return found;
}

// A bound is linear in the value: its limits for the least and the greatest one enclose those in between.
void Reach::narrow_between(int target, int source, const std::int64_t* lows, const std::int64_t* highs,
                           Interval* intervals) const {
  for (const Bound& bound : bounds_[at(target) * first_size_ + at(source)]) {
    const Interval all = bound.floats ? kAllFloats : kAllIntegers;
    Interval of_low = all, of_high = all;
    apply(bound, lows[bound.source_column], of_low);
    apply(bound, highs[bound.source_column], of_high);
    const auto is_less = [&](std::int64_t a, std::int64_t b) {
      return bound.floats ? std::bit_cast<double>(a) < std::bit_cast<double>(b) : a < b;
    };
    Interval& interval = intervals[bound.column];
    const std::int64_t low = is_less(of_low.low, of_high.low) ? of_low.low : of_high.low;
    const std::int64_t high = is_less(of_low.high, of_high.high) ? of_high.high : of_low.high;
    if (is_less(interval.low, low)) interval.low = low;
    if (is_less(high, interval.high)) interval.high = high;
  }
}

}  // namespace motiflux::copies
