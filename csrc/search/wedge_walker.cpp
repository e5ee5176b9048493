#include "search/wedge_walker.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

namespace motiflux::search {
namespace {

// Pairs that are looked at in the time in which a Walker looks at a candidate.
constexpr std::size_t kPairsAtOnce = 4;

// Pairs that are looked at in the time in which one is looked up.
constexpr std::uint64_t kLookedUpAtOnce = 8;

// Pairs between the one that is looked at and the one whose copies are fetched into caches.
constexpr std::uint64_t kAhead = 6;

}  // namespace

WedgeWalker::WedgeWalker(const NativePlan& native_plan, Visitor& visitor, bool counting)
    : RootWalk(native_plan, visitor),
      compared_(*native_plan.compared),
      walk_(*native_plan.copy_walk),
      counting_(counting),
      steps_(native_plan),
      pair_(steps_.values.size()),
      left_(steps_.values.size()),
      list_of_(native_plan.vertices, 0) {}

bool WedgeWalker::search(const WorkItem& item) {
  begin_item(item);
  const std::uint64_t* offsets = walk_.root_rows().offsets;
  auto vertex = static_cast<Vertex>(std::upper_bound(offsets, offsets + native_plan_.vertices + 1, next_) -
                                    offsets - 1);
  for (; next_ < last_; ++vertex)
    if (offsets[vertex + 1] > next_ && !search_pairs(vertex, next_, offsets[vertex + 1])) return false;
  return true;
}

// Searches from pairs of one vertex, as far as they are in the item. Where there are many wedges, some are
// gathered at a time, and the pairs are searched again with the next ones.
bool WedgeWalker::search_pairs(Vertex vertex, std::uint64_t first, std::uint64_t last) {
  const copies::CopyIndex& of_middles = rows(steps_.wedge[0]);
  matched_ = 0;
  if (!accepts(steps_.start, vertex) || of_middles.offsets[vertex] == of_middles.offsets[vertex + 1]) {
    next_ = std::min(last, last_);
    return spend(1);
  }
  match(steps_.start, vertex);
  next_middle_ = of_middles.offsets[vertex];
  const std::uint64_t pairs = last - rows(steps_.core[0]).offsets[vertex];
  bool more = true;
  do {
    for (const Vertex end : ends_) list_of_[end] = 0;
    ends_.clear();
    lists_.assign(1, {});
    only_expected_ = steps_.core.size() == 1;
    more = (!only_expected_ || expect(first, std::min(last, last_))) &&
           gather(pairs / std::max<std::uint64_t>(std::min(last, last_) - first, 1));
    may_share_ = may_share_ && next_middle_ == of_middles.offsets[vertex + 1];
    for (next_ = first; more && next_ < std::min(last, last_);) more = begin(next_++) && spend(1);
  } while (more && next_middle_ < of_middles.offsets[vertex + 1]);
  may_share_ = true;
  return more;
}

// Makes lists for the ends of a core of one edge: other wedges lead nowhere.
bool WedgeWalker::expect(std::uint64_t first, std::uint64_t last) {
  const copies::CopyIndex& ends = rows(steps_.core[0]);
  for (std::uint64_t pair = first; pair < last; ++pair) {
    if (!accepts(steps_.end, ends.neighbors[pair])) continue;
    list_of_[ends.neighbors[pair]] = static_cast<std::uint32_t>(lists_.size());
    ends_.push_back(ends.neighbors[pair]);
    lists_.push_back({});
  }
  return spend((last - first) / kPairsAtOnce);
}

// Gathers wedges from the first vertex; `share`: how many items like this one have the same wedges.
bool WedgeWalker::gather(std::uint64_t share) {
  const WedgeStep& step = steps_.wedge[0];
  const copies::CopyIndex& from = rows(step);
  const std::uint64_t worked = work();
  entries_.clear();
  middles_of_.clear();
  divided_ = false;
  const std::uint64_t last = from.offsets[value(steps_.start) + 1];
  bool more = true;
  const Admission admission = this->admission(step.other);
  for (; more && next_middle_ < last && entries_.size() < kMostEntries; ++next_middle_) {
    const Vertex middle = from.neighbors[next_middle_];
    if (!admission.admits(middle)) continue;
    const auto v = static_cast<std::size_t>(step.variable);
    pair_[v] = {from.starts[next_middle_], from.starts[next_middle_ + 1]};
    left_[v] = pair_[v];
    middles_of_.push_back({middle, static_cast<std::uint32_t>(entries_.size())});
    match(step.other, middle);
    more = gather_from(middle);
    unmatch(step.other);
  }
  beside_ +=
      (work() - worked) * (share - std::min<std::uint64_t>(share, 1)) / std::max<std::uint64_t>(share, 1);
  return more;
}

// Adds the matched wedge, with the value of its best copy, to the list of its end.
inline void WedgeWalker::add(Vertex end, std::int64_t value) {
  std::uint32_t& at = list_of_[end];
  const std::int64_t best = in_order(value);
  if (at == 0) {
    at = static_cast<std::uint32_t>(lists_.size());
    ends_.push_back(end);
    lists_.push_back({});
  }
  List& list = lists_[at];
  list.least = std::min(list.least, best);
  list.greatest = std::max(list.greatest, best);
  ++list.size;
  entries_.push_back({best, end, this->value(steps_.middle)});
}

// Calls use(pair, end) for the pairs of a middle that lead to ends of wedges. Where few ends are expected,
// these are looked up.
template <class Use>
void WedgeWalker::for_each_end(const copies::CopyIndex& from, std::uint64_t first, std::uint64_t last,
                               Use&& use) {
  const Admission admission = this->admission(steps_.end);
  if (only_expected_ && ends_.size() * kLookedUpAtOnce < last - first) {
    const Vertex* next = from.neighbors + first;
    for (const Vertex end : ends_) {
      next = std::lower_bound(next, from.neighbors + last, end);
      if (next == from.neighbors + last) break;
      if (*next == end && admission.admits(end)) use(static_cast<std::uint64_t>(next - from.neighbors), end);
    }
    return;
  }
  for (std::uint64_t pair = first; pair < last; ++pair) {
    const Vertex end = from.neighbors[pair];
    if ((!only_expected_ || list_of_[end] != 0) && admission.admits(end)) use(pair, end);
  }
}

bool WedgeWalker::gather_from(Vertex middle) {
  const WedgeStep& step = steps_.wedge[1];
  const copies::CopyIndex& from = rows(step);
  const Bounds bounds = this->bounds(step);
  const std::uint64_t first = from.offsets[middle], last = from.offsets[middle + 1];
  if (bounds.none) return spend(1);
  if (step.above.empty() && bounds.exact && step.variable == steps_.wedge_variable) {
    if (steps_.floats[static_cast<std::size_t>(step.variable)] != 0)
      gather_pairs<true>(step, bounds, first, last);
    else
      gather_pairs<false>(step, bounds, first, last);
    return spend(1 + (last - first) / kPairsAtOnce);
  }
  const auto v = static_cast<std::size_t>(step.variable);
  for_each_end(from, first, last, [&](std::uint64_t pair, Vertex end) {
    pair_[v] = {from.starts[pair], from.starts[pair + 1]};
    left_[v] = narrowed(step.variable, step.tests, bounds, pair_[v]);
    if (left_[v].size() > 0 && narrow_above(step)) add(end, best(steps_.wedge_variable, steps_.wedge_last));
  });
  return spend(1 + 2 * (last - first) / kPairsAtOnce);
}

// The same where the second edge of the wedge is the one that is compared with the core.
template <bool floats>
void WedgeWalker::gather_pairs(const WedgeStep& step, const Bounds& bounds, std::uint64_t first,
                               std::uint64_t last) {
  using Value = std::conditional_t<floats, double, std::int64_t>;
  const copies::CopyIndex& from = rows(step);
  const std::int64_t* values = steps_.values[static_cast<std::size_t>(step.variable)];
  const std::uint64_t back = bounds.back ? 1 : 0;  // the copies that are looked at first are the last ones
  for_each_end(from, first, last, [&](std::uint64_t pair, Vertex end) {
    if (pair + kAhead < last) __builtin_prefetch(values + from.starts[pair + kAhead + back] - back);
    const copies::Range copies = narrowed<Value>(values, bounds, {from.starts[pair], from.starts[pair + 1]});
    if (copies.size() > 0) add(end, values[steps_.wedge_last ? copies.last - 1 : copies.first]);
  });
}

// Searches the core from one pair of its first edge.
bool WedgeWalker::begin(std::uint64_t pair) {
  const WedgeStep& step = steps_.core[0];
  const copies::CopyIndex& from = rows(step);
  const Vertex vertex = from.neighbors[pair];
  return !accepts(step.other, vertex) ||
         enter(step, 0, bounds(step), vertex, {from.starts[pair], from.starts[pair + 1]});
}

// Goes on from `depth` matched edges of the core; false when stopped.
bool WedgeWalker::descend(std::size_t depth) {
  if (depth == steps_.core.size()) return meet();
  const WedgeStep& step = steps_.core[depth];
  const copies::CopyIndex& from = rows(step);
  const Bounds bounds = this->bounds(step);
  if (bounds.none) return spend(1);
  if (step.closes) {
    const copies::Range found = from.find(value(step.center), value(step.other), copies::Ranges::kNoGuess);
    return (found.size() == 0 || enter(step, depth, bounds, value(step.other), found)) && spend(1);
  }
  const std::uint64_t first = from.offsets[value(step.center)], last = from.offsets[value(step.center) + 1];
  if (depth + 1 == steps_.core.size() && step.above.empty() && bounds.exact &&
      step.variable == steps_.core_variable && step.other == steps_.end) {
    const bool floats = steps_.floats[static_cast<std::size_t>(step.variable)] != 0;
    return (floats ? meet_pairs<true>(step, bounds, first, last)
                   : meet_pairs<false>(step, bounds, first, last)) &&
           spend(1 + (last - first) / kPairsAtOnce);
  }
  const Admission admission = this->admission(step.other);
  for (std::uint64_t pair = first; pair < last; ++pair) {
    const Vertex vertex = from.neighbors[pair];
    if (step.other == steps_.end && lists_[list_of_[vertex]].size == 0) continue;
    if (admission.admits(vertex) &&
        !enter(step, depth, bounds, vertex, {from.starts[pair], from.starts[pair + 1]}))
      return false;
  }
  return spend(1 + (step.above.empty() ? 1 : 2) * (last - first) / kPairsAtOnce);
}

// Matches an edge of the core with a pair of vertices, and goes on if copies of all edges are left.
bool WedgeWalker::enter(const WedgeStep& step, std::size_t depth, const Bounds& bounds, Vertex vertex,
                        copies::Range copies) {
  const auto v = static_cast<std::size_t>(step.variable);
  pair_[v] = copies;
  left_[v] = narrowed(step.variable, step.tests, bounds, copies);
  if (left_[v].size() == 0 || !narrow_above(step)) return true;
  if (step.closes) return descend(depth + 1);
  match_core(step.other, vertex);
  const bool more = descend(depth + 1);
  middles_matched_ -= as_middle_[static_cast<std::size_t>(step.other)].size() > 0;
  unmatch(step.other);
  return more;
}

// The last edge of the core, if it is the one that is compared with the wedge and leads to its end.
template <bool floats>
bool WedgeWalker::meet_pairs(const WedgeStep& step, const Bounds& bounds, std::uint64_t first,
                             std::uint64_t last) {
  using Value = std::conditional_t<floats, double, std::int64_t>;
  const copies::CopyIndex& from = rows(step);
  const std::int64_t* values = steps_.values[static_cast<std::size_t>(step.variable)];
  const Admission admission = this->admission(step.other);
  const std::uint64_t back = bounds.back ? 1 : 0;  // the copies that are looked at first are the last ones
  for (std::uint64_t pair = first; pair < last; ++pair) {
    const Vertex end = from.neighbors[pair];
    if (pair + kAhead < last) __builtin_prefetch(values + from.starts[pair + kAhead + back] - back);
    if (lists_[list_of_[end]].size == 0 || !admission.admits(end)) continue;
    const copies::Range copies = narrowed<Value>(values, bounds, {from.starts[pair], from.starts[pair + 1]});
    if (copies.size() == 0) continue;
    value_[static_cast<std::size_t>(steps_.end)] = end;
    if (!meet(end, values[steps_.core_last ? copies.last - 1 : copies.first])) return false;
  }
  return true;
}

// Matches a vertex of the core, and finds the wedges that have it as their middle.
void WedgeWalker::match_core(int level, Vertex vertex) {
  match(level, vertex);
  const auto at = static_cast<std::size_t>(level);
  as_middle_[at] = {};
  if (level == steps_.end || (steps_.distinct[at] >> steps_.middle & 1) == 0) return;
  const auto found = std::lower_bound(middles_of_.begin(), middles_of_.end(), vertex,
                                      [](const Middle& one, Vertex other) { return one.middle < other; });
  if (found == middles_of_.end() || found->middle != vertex) return;
  as_middle_[at] = {found->first, found + 1 == middles_of_.end() ? entries_.size() : (found + 1)->first};
  middles_matched_ += as_middle_[at].size() > 0;
}

inline WedgeWalker::Limit WedgeWalker::limit(std::int64_t core) const {
  const copies::Comparison& one = *steps_.between;
  const bool left = steps_.wedge_left;
  const copies::Allowed allowed =
      one.plain ? copies::allowed_plainly(left ? one.op : copies::mirrored(one.op), core)
      : left    ? copies::allowed_left(one, core)
                : copies::allowed_right(one, core);
  const copies::Interval& interval = allowed.interval;
  return {.none = allowed.exact && copies::less(one.floats, interval.high, interval.low),
          .exact = allowed.exact,
          .most = in_order(steps_.wedge_last ? interval.low : interval.high),
          .core = core};
}

bool WedgeWalker::fits(const Limit& limit, std::int64_t best) const {
  if (limit.exact) return best <= limit.most;
  const std::int64_t wedge = from_order(best);
  return steps_.wedge_left ? copies::holds(*steps_.between, wedge, limit.core)
                           : copies::holds(*steps_.between, limit.core, wedge);
}

// Counts or lists the embeddings that have the matched core, with its end and the value of its best copy.
bool WedgeWalker::meet(Vertex end, std::int64_t core) {
  List& list = lists_[list_of_[end]];
  const Limit limit = this->limit(core);
  if (list.size == 0 || limit.none || !fits(limit, list.least)) return true;
  const bool all = fits(limit, list.greatest);
  std::size_t fitting = list.size;
  if ((!all || !counting_) && !divided_) divide();
  if (!all) {
    sort(list);
    const auto first = bests_.begin() + list.first;
    fitting = static_cast<std::size_t>(
        std::partition_point(first, first + list.size, [&](std::int64_t best) { return fits(limit, best); }) -
        first);
  }
  if (counting_ && middles_matched_ == 0) {
    visitor_.count(fitting);
    return true;
  }
  in_core_.clear();
  for (int level = 1; level < steps_.middle; ++level) {
    if (level == steps_.end) continue;
    const copies::Range range = as_middle_[static_cast<std::size_t>(level)];
    if (range.size() == 0) continue;
    const auto last = entries_.begin() + static_cast<std::ptrdiff_t>(range.last);
    const auto at = std::lower_bound(entries_.begin() + static_cast<std::ptrdiff_t>(range.first), last, end,
                                     [](const Entry& one, Vertex other) { return one.end < other; });
    if (at != last && at->end == end && fits(limit, at->best) &&
        std::find(in_core_.begin(), in_core_.end(), at->middle) == in_core_.end())
      in_core_.push_back(at->middle);
  }
  if (!counting_) return this->list(list, fitting);
  if (fitting > in_core_.size()) visitor_.count(fitting - in_core_.size());
  return true;
}

// Lists the first entries of a list, less those that are in the core.
bool WedgeWalker::list(const List& list, std::size_t fitting) {
  const Vertex* first = middles_.data() + list.first;
  sets::Span last{first, first + fitting};
  if (!in_core_.empty()) {
    kept_.clear();
    std::copy_if(last.first, last.last, std::back_inserter(kept_), [&](Vertex vertex) {
      return std::find(in_core_.begin(), in_core_.end(), vertex) == in_core_.end();
    });
    last = {kept_.data(), kept_.data() + kept_.size()};
  }
  if (last.size() > 0) visitor_.rows(value_.data(), last);
  return spend(fitting);
}

// Puts the entries of each list beside each other.
void WedgeWalker::divide() {
  divided_ = true;
  bests_.resize(entries_.size());
  middles_.resize(entries_.size());
  std::uint32_t first = 0;
  for (List& list : lists_) {
    list.first = first;
    first += list.size;
  }
  for (const Entry& entry : entries_) {
    std::uint32_t& place = lists_[list_of_[entry.end]].first;
    bests_[place] = entry.best;
    middles_[place++] = entry.middle;
  }
  for (List& list : lists_) list.first -= list.size;
}

// Sorts the entries of a list from the best to the worst.
void WedgeWalker::sort(List& list) {
  if (std::exchange(list.sorted, true)) return;
  sorting_.clear();
  for (std::uint32_t at = list.first; at < list.first + list.size; ++at)
    sorting_.push_back({bests_[at], 0, middles_[at]});
  std::sort(sorting_.begin(), sorting_.end(), [](const Entry& a, const Entry& b) { return a.best < b.best; });
  for (std::uint32_t at = 0; at < list.size; ++at) {
    bests_[list.first + at] = sorting_[at].best;
    middles_[list.first + at] = sorting_[at].middle;
  }
}

// The values that edges below allow.
WedgeWalker::Bounds WedgeWalker::bounds(int variable, const std::vector<WedgeTest>& tests) const {
  const bool floats = steps_.floats[static_cast<std::size_t>(variable)] != 0;
  Bounds found;
  found.interval = floats ? copies::kAllFloats : copies::kAllIntegers;
  for (const WedgeTest& test : tests) {
    const std::int64_t known = best(test.other, test.other_last);
    const copies::Comparison& one = *test.comparison;
    const copies::Allowed allowed =
        one.plain       ? copies::allowed_plainly(test.own_left ? one.op : copies::mirrored(one.op), known)
        : test.own_left ? copies::allowed_left(one, known)
                        : copies::allowed_right(one, known);
    found.exact = found.exact && allowed.exact;
    if (copies::less(floats, found.interval.low, allowed.interval.low))
      found.interval.low = allowed.interval.low;
    if (copies::less(floats, allowed.interval.high, found.interval.high))
      found.interval.high = allowed.interval.high;
    (test.front ? found.front : found.back) = true;
  }
  found.none = found.exact && copies::less(floats, found.interval.high, found.interval.low);
  return found;
}

// The copies that the edges below allow, by the comparisons.
copies::Range WedgeWalker::tested(int variable, const std::vector<WedgeTest>& tests,
                                  copies::Range copies) const {
  const std::int64_t* values = steps_.values[static_cast<std::size_t>(variable)];
  for (const WedgeTest& test : tests) {
    const std::int64_t known = best(test.other, test.other_last);
    const auto fails = [&](Place at) {
      return !(test.own_left ? copies::holds(*test.comparison, values[at], known)
                             : copies::holds(*test.comparison, known, values[at]));
    };
    if (test.front)
      copies.first = copies::behind(copies.first, copies.last, fails);
    else
      copies.last = before(copies.first, copies.last, fails);
  }
  return copies;
}

// Narrows the edges above that have all edges below them matched now; false if no copy of one is left.
bool WedgeWalker::narrow_above(const WedgeStep& step) {
  for (const WedgeNarrowing& one : step.above) {
    copies::Range& left = left_[static_cast<std::size_t>(one.variable)];
    const Bounds bounds = this->bounds(one.variable, one.tests);
    if (bounds.none) return false;
    left = narrowed(one.variable, one.tests, bounds, pair_[static_cast<std::size_t>(one.variable)]);
    if (left.size() == 0) return false;
  }
  return true;
}

std::int64_t WedgeWalker::from_order(std::int64_t best) const {
  const std::int64_t value = steps_.wedge_last ? ~best : best;
  return steps_.between->floats && value < 0 ? value ^ INT64_MAX : value;
}

WedgeWalker::Admission WedgeWalker::admission(int level) const {
  const auto at = static_cast<std::size_t>(level);
  Admission found;
  found.mask = walk_.masks[at];
  for (std::uint32_t rest = steps_.distinct[at] & matched_; rest != 0; rest &= rest - 1)
    found.apart[found.size++] = value_[static_cast<std::size_t>(std::countr_zero(rest))];
  return found;
}

}  // namespace motiflux::search
