// Choices of a search from pair to pair: what they allow the next edge, and which of them are kept.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "copies/places.hpp"
#include "search/pair_walker.hpp"

namespace motiflux::search {
namespace {

// With more choices and several preferences, each two are not compared.
constexpr std::size_t kMostCompared = 64;

// So few choices are compared with each other faster than they are sorted.
constexpr std::size_t kFew = 8;

// Copies of a window that are read before its end is bisected for, and rows that are bisected as they are.
constexpr copies::Place kNear = 4;
constexpr copies::Place kInCaches = 4096;

// A number in the order of values.
std::int64_t in_order(bool floats, std::int64_t value) {
  if (!floats) return value;
  const auto plain = std::bit_cast<std::int64_t>(std::bit_cast<double>(value) + 0.0);
  return plain < 0 ? plain ^ INT64_MAX : plain;
}

bool is_empty(bool floats, const copies::Interval& interval) {
  return copies::less(floats, interval.high, interval.low);
}

void narrow(bool floats, copies::Interval& interval, const copies::Interval& by) {
  if (copies::less(floats, interval.low, by.low)) interval.low = by.low;
  if (copies::less(floats, by.high, interval.high)) interval.high = by.high;
}

}  // namespace

// Sets what a choice allows the copies of a step; false if it allows none.
bool PairWalker::bound(const PairStep& step, const std::int64_t* choice) {
  const bool floats = step.floats[0] != 0;
  bounds_.main = floats ? copies::kAllFloats : copies::kAllIntegers;
  bounds_.filters = step.filters;
  bounds_.judged.clear();
  bounds_.span_is_judged = false;
  for (const PairTest& test : step.tests) {
    const auto filter = static_cast<std::size_t>(test.filter);
    copies::Interval& interval = test.filter < 0 ? bounds_.main : bounds_.filters[filter].interval;
    bool exact = true;
    if (!test.sought.narrow(value(test.known, step, choice, 0), interval, exact)) return false;
    if (!exact) bounds_.judged.push_back(&test.check);
  }
  if (step.spanned && step.first > 0) {
    const copies::Allowed allowed =
        copies::allowed_by(compared_.network.span, choice[plan_.lowest], choice[plan_.highest]);
    bounds_.span_is_judged = !allowed.exact;
    narrow(floats, bounds_.main, allowed.interval);
    if (is_empty(floats, bounds_.main)) return false;
  }
  return true;
}

// The copies of a row whose main values are within bounds. `near`: the window of a choice before, or the row.
copies::Range PairWalker::window(const PairStep& step, copies::Range row, copies::Range near) const {
  return step.floats[0] != 0 ? window_of<double>(step, row, near) : window_of<std::int64_t>(step, row, near);
}

template <class Value>
copies::Range PairWalker::window_of(const PairStep& step, copies::Range row, copies::Range near) const {
  const std::int64_t* main = step.columns[0];
  const copies::Interval all = std::is_same_v<Value, double> ? copies::kAllFloats : copies::kAllIntegers;
  const auto low = std::bit_cast<Value>(bounds_.main.low), high = std::bit_cast<Value>(bounds_.main.high);
  const auto is_below = [low](std::int64_t value) { return std::bit_cast<Value>(value) < low; };
  const auto is_not_above = [high](std::int64_t value) { return std::bit_cast<Value>(value) <= high; };
  const auto below = [&](Place place) { return is_below(main[place]); };
  const auto not_above = [&](Place place) { return is_not_above(main[place]); };
  const auto find = [&](Place first, Place last, auto&& fits_value, auto&& fits) {
    if (last - first > kInCaches) return copies::bisect_row(*step.rows, {first, last}, fits_value, fits);
    return copies::bisect_evenly(first, last, fits);
  };
  copies::Range found = row;
  if (bounds_.main.low != all.low) {
    // Choices ascend, mostly: the window begins behind the last one's first copy.
    const Place first = near.first > row.first && below(near.first - 1) ? near.first : row.first;
    found.first = find(first, row.last, is_below, below);
  }
  if (bounds_.main.high != all.high) {
    // Windows are often short or empty.
    const Place few = std::min(row.last, found.first + kNear);
    Place first = found.first;
    for (Place place = found.first; place < few; ++place) first += static_cast<Place>(not_above(place));
    found.last = first < found.first + kNear ? first : find(first, row.last, is_not_above, not_above);
  }
  return found;
}

// Whether a copy satisfies what intervals do not say.
bool PairWalker::judge(const PairStep& step, const std::int64_t* choice, Place place) const {
  for (const PairCheck& check : step.joint)
    if (!holds(check, step, choice, place)) return false;
  for (const PairCheck* check : bounds_.judged)
    if (!holds(*check, step, choice, place)) return false;
  if (!bounds_.span_is_judged) return true;
  const copies::Span& span = compared_.network.span;
  const std::int64_t own = step.columns[0][place], low = choice[plan_.lowest], high = choice[plan_.highest];
  return span.reaches(span.less(own, low) ? own : low, span.less(high, own) ? own : high);
}

bool PairWalker::holds(const PairCheck& check, const PairStep& step, const std::int64_t* choice,
                       Place place) const {
  return copies::holds(*check.comparison, value(check.left, step, choice, place),
                       value(check.right, step, choice, place));
}

std::int64_t PairWalker::value(const PairSide& side, const PairStep& step, const std::int64_t* choice,
                               Place place) const {
  switch (side.of) {
    case PairSide::Of::kEdge:
      return step.columns[side.at][place];
    case PairSide::Of::kChoice:
      return choice[side.at];
    default:
      return side.values[value_[side.at]];
  }
}

bool PairWalker::accepts(int level, Vertex vertex) const {
  const auto at = static_cast<std::size_t>(level);
  if (walk_.masks[at] && !walk_.masks[at][vertex]) return false;
  const auto all = [&](std::uint32_t levels, auto&& fits) {
    for (std::uint32_t rest = levels & levels_matched_; rest != 0; rest &= rest - 1)
      if (!fits(value_[static_cast<std::size_t>(std::countr_zero(rest))])) return false;
    return true;
  };
  return all(plan_.distinct[at], [&](Vertex other) { return other != vertex; }) &&
         all(plan_.smaller[at], [&](Vertex other) { return other < vertex; }) &&
         all(plan_.greater[at], [&](Vertex other) { return other > vertex; });
}

PairWalker::Admission PairWalker::admission(const PairStep& step) const {
  const auto at = static_cast<std::size_t>(step.other);
  Admission found;
  for (std::uint32_t rest = plan_.distinct[at] & levels_matched_; rest != 0; rest &= rest - 1)
    found.apart[found.size++] = value_[static_cast<std::size_t>(std::countr_zero(rest))];
  found.plain = !walk_.masks[at] && step.missing.empty() && step.of_vertex.empty() &&
                ((plan_.smaller[at] | plan_.greater[at]) & levels_matched_) == 0;
  return found;
}

// Whether a step may lead to a vertex, whatever the copies are.
bool PairWalker::accepts(const PairStep& step, Vertex vertex) {
  if (!accepts(step.other, vertex)) return false;
  for (const std::uint8_t* missing : step.missing)
    if (missing[vertex]) return false;
  if (step.of_vertex.empty()) return true;
  value_[static_cast<std::size_t>(step.other)] = vertex;
  return std::all_of(step.of_vertex.begin(), step.of_vertex.end(),
                     [&](const PairCheck& check) { return holds(check, step, nullptr, 0); });
}

bool PairWalker::make_room(std::size_t depth) {
  Choices& choices = choices_[depth];
  if (every_choice_) {
    const Bounds bounds = bounds_;
    if (!descend(depth)) return false;
    bounds_ = bounds;
    choices.size = 0;
    return true;
  }
  if (depth < plan_.steps.size()) keep_best(depth);
  if (choices.size > kMostChoices / 2) throw TooManyChoices();
  return true;
}

// Drops choices that allow later edges nothing that another one does not allow; where choices are counted,
// none.
void PairWalker::keep_best(std::size_t depth) {
  Choices& choices = choices_[depth];
  if (every_choice_ || choices.size <= 1) return;
  const std::vector<PairPreference>& preferences = plan_.steps[depth - 1].preferences;
  const std::size_t number = preferences.size(), size = choices.size;
  if (plan_.steps[depth - 1].keeps_all) return;
  const auto move = [&](std::size_t from, std::size_t to) {
    if (from != to)
      std::copy_n(choices.values.data() + from * plan_.width, plan_.width,
                  choices.values.data() + to * plan_.width);
  };
  if (number == 0) {
    choices.size = 1;
    return;
  }
  if (number > 2 && size > kMostCompared) return;
  keys_.resize(size * number);  // less is better
  for (std::size_t at = 0; at < size; ++at)
    for (std::size_t p = 0; p < number; ++p) {
      const std::int64_t key = in_order(preferences[p].floats, choice(depth, at)[preferences[p].at]);
      keys_[at * number + p] = preferences[p].greater ? ~key : key;
    }
  if (number == 1) {
    move(static_cast<std::size_t>(std::min_element(keys_.begin(), keys_.end()) - keys_.begin()), 0);
    choices.size = 1;
    return;
  }
  positions_.clear();  // of choices that are kept
  if (number == 2 && size > kFew) {
    std::vector<std::uint32_t>& order = positions_;
    for (std::size_t at = 0; at < size; ++at) order.push_back(static_cast<std::uint32_t>(at));
    const auto key = [&](std::uint32_t at, std::size_t p) { return keys_[2 * at + p]; };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return key(a, 0) != key(b, 0) ? key(a, 0) < key(b, 0) : key(a, 1) < key(b, 1);
    });
    std::size_t kept = 0;
    for (const std::uint32_t at : order)
      if (kept == 0 || key(at, 1) < key(order[kept - 1], 1)) order[kept++] = at;
    order.resize(kept);
    std::sort(order.begin(), order.end());
  } else {
    const auto is_as_good = [&](std::size_t a, std::size_t b) {
      for (std::size_t p = 0; p < number; ++p)
        if (keys_[a * number + p] > keys_[b * number + p]) return false;
      return true;
    };
    for (std::size_t at = 0; at < size; ++at) {
      const auto better = [&](std::uint32_t other) { return is_as_good(other, at); };
      if (std::any_of(positions_.begin(), positions_.end(), better)) continue;
      std::erase_if(positions_, [&](std::uint32_t other) { return is_as_good(at, other); });
      positions_.push_back(static_cast<std::uint32_t>(at));
    }
  }
  for (std::size_t to = 0; to < positions_.size(); ++to) move(positions_[to], to);
  choices.size = positions_.size();
}

}  // namespace motiflux::search
