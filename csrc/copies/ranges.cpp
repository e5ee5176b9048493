#include "copies/ranges.hpp"

#include <algorithm>
#include <array>

namespace motiflux::copies {
namespace {

// Copies that are tried one after the other before choices are decided otherwise.
constexpr std::size_t kMostTrials = 256;

// Pairs of copies that are compared one by one while a search goes on.
constexpr std::uint64_t kMostPairs = 64;

// Comparisons by which candidates are sorted out before they are tried.
constexpr std::size_t kMostChecks = 16;

// Comparisons that bound a window at one side.
constexpr std::size_t kMostBounds = 32;

// The first place of a range from which `fits` holds; it holds for a suffix. Looks near the start first.
template <class Fits>
Place first_that(Range range, Fits&& fits) {
  Place step = 1;
  while (range.first < range.last && !fits(range.first)) {
    const Place next = range.first + step;
    if (next >= range.last || fits(next)) {
      Place low = range.first + 1, high = std::min(next, range.last);
      while (low < high) {
        const Place middle = low + (high - low) / 2;
        if (fits(middle))
          high = middle;
        else
          low = middle + 1;
      }
      return low;
    }
    range.first = next + 1;
    step *= 2;
  }
  return range.first;
}

// The place behind the last for which `fits` holds; it holds for a prefix. Looks near the end first.
template <class Fits>
Place behind_last_that(Range range, Fits&& fits) {
  Place step = 1;
  while (range.first < range.last && !fits(range.last - 1)) {
    const Place gap = range.last - range.first;
    if (step + 1 >= gap || fits(range.last - 1 - step)) {
      Place low = step + 1 >= gap ? range.first : range.last - step, high = range.last - 1;
      while (low < high) {
        const Place middle = low + (high - low) / 2;
        if (fits(middle))
          low = middle + 1;
        else
          high = middle;
      }
      return low;
    }
    range.last -= step + 1;
    step *= 2;
  }
  return range.last;
}

bool is_small(Operator op) {
  return op == Operator::kLess || op == Operator::kAtMost;
}

bool set_first(Range& range, Place first, bool& changed) {
  changed |= first != range.first;
  range.first = first;
  return range.first < range.last;
}

bool set_last(Range& range, Place last, bool& changed) {
  changed |= last != range.last;
  range.last = last;
  return range.first < range.last;
}

}  // namespace

void Compared::prepare(int levels) {
  const auto level_of = [&](int variable) {
    const Ends& one = ends[static_cast<std::size_t>(variable)];
    return std::max(one.from, one.to);
  };
  matched.assign(static_cast<std::size_t>(levels), 0);
  checks.assign(static_cast<std::size_t>(levels), {});
  of_matched.assign(static_cast<std::size_t>(levels), {});
  of_variable.assign(ends.size(), {});
  for (std::size_t v = 0; v < ends.size(); ++v)
    for (int level = level_of(static_cast<int>(v)); level < levels; ++level)
      ++matched[static_cast<std::size_t>(level)];
  all_monotone = true;
  both_ends = network.span.there;
  monotone.clear();
  for (std::size_t c = 0; c < network.comparisons.size(); ++c) {
    const Comparison& one = network.comparisons[c];
    monotone.push_back(network.is_monotone(one));
    all_monotone &= monotone.back() != 0;
    const bool scaled = one.floats ? one.factor != 1 || one.offset != 0 : !one.plain;
    both_ends |= monotone.back() && (scaled || one.op == Operator::kEqual);
    of_variable[static_cast<std::size_t>(one.left)].push_back(static_cast<int>(c));
    if (one.left != one.right)
      of_variable[static_cast<std::size_t>(one.right)].push_back(static_cast<int>(c));
    const int level = std::max(level_of(one.left), level_of(one.right));
    checks[static_cast<std::size_t>(level)].push_back(static_cast<int>(c));
    for (int later = level; later < levels; ++later)
      of_matched[static_cast<std::size_t>(later)].push_back(static_cast<int>(c));
  }
  const std::size_t before = levels > 1 ? matched[static_cast<std::size_t>(levels) - 2] : 0;
  last_is_greatest = all_monotone && !both_ends && ends.size() == before + 1 && only_greater(before);
}

bool Compared::only_greater(std::size_t variable) const {
  return !network.variables[variable].is_vertex && !network.variables[variable].columns.empty() &&
         std::all_of(of_variable[variable].begin(), of_variable[variable].end(), [&](int c) {
           const Comparison& one = network.comparisons[static_cast<std::size_t>(c)];
           const bool small = is_small(one.op), left = one.left == static_cast<int>(variable);
           return monotone[static_cast<std::size_t>(c)] && one.op != Operator::kEqual && one.rises() &&
                  small != left;
         });
}

Ranges::Ranges(const Compared& compared, int levels)
    : compared_(compared),
      variables_(compared.ends.size()),
      last_level_(levels - 1),
      ranges_(static_cast<std::size_t>(levels) * variables_),
      choices_(compared.network) {}

bool Ranges::enter(int level, const std::uint32_t* values, std::uint64_t guess) {
  const auto now = static_cast<std::size_t>(level);
  const std::size_t known = level == 0 ? 0 : compared_.matched[now - 1], matched = compared_.matched[now];
  Range* ranges = at(level);
  if (known > 0) std::copy_n(at(level - 1), known, ranges);
  if (known == matched) return true;
  for (std::size_t v = known; v < matched; ++v) {
    const Compared::Ends& ends = compared_.ends[v];
    if (compared_.network.variables[v].is_vertex) {
      const std::uint32_t vertex = values[ends.from];
      if (ends.missing && ends.missing[vertex]) return false;
      ranges[v] = {vertex, Place{vertex} + 1};
    } else {
      ranges[v] = ends.index.find(values[ends.from], values[ends.to], guess);
      if (ranges[v].size() == 0) return false;
    }
  }
  // Of the last level only the first copies matter: they are a choice if they agree.
  const bool whole = compared_.both_ends && level < last_level_;
  return whole ? enter_narrowing<true>(now, ranges) : enter_narrowing<false>(now, ranges);
}

template <bool both_ends>
bool Ranges::enter_narrowing(std::size_t level, Range* ranges) {
  bool changed = false;
  const auto narrow_all = [&](const std::vector<int>& comparisons) {
    for (const int c : comparisons) {
      const Comparison& one = compared_.network.comparisons[static_cast<std::size_t>(c)];
      if (compared_.monotone[static_cast<std::size_t>(c)]) {
        if (!narrow<both_ends>(one, ranges, changed)) return false;
      } else if (static_cast<int>(level) < last_level_ && !check(one, ranges, changed)) {
        return false;  // of the last level, copies are tried anyway
      }
    }
    return !compared_.network.span.there || narrow_span<both_ends>(compared_.matched[level], ranges, changed);
  };
  if (!narrow_all(compared_.checks[level])) return false;
  while (changed) {
    changed = false;
    if (!narrow_all(compared_.of_matched[level])) return false;
  }
  return true;
}

// Makes the ends of two ranges agree with a monotone comparison; false if a range becomes empty.
template <bool both_ends>
bool Ranges::narrow(const Comparison& one, Range* ranges, bool& changed) const {
  const Network& network = compared_.network;
  const auto l = static_cast<std::size_t>(one.left), r = static_cast<std::size_t>(one.right);
  Range &left = ranges[l], &right = ranges[r];
  const std::int64_t* of_left = network.variables[l].columns[static_cast<std::size_t>(one.left_column)];
  const std::int64_t* of_right = network.variables[r].columns[static_cast<std::size_t>(one.right_column)];
  const auto apply = [&](Operator op) {
    const auto fits = [&](Place a, Place b) { return holds(one, op, of_left[a], of_right[b]); };
    if (!one.rises() && !network.variables[r].is_vertex) {  // the left side is a vertex
      if (is_small(op) && !both_ends) return fits(left.first, right.first);
      if (is_small(op))
        return set_last(right, behind_last_that(right, [&](Place b) { return fits(left.first, b); }),
                        changed);
      return set_first(right, first_that(right, [&](Place b) { return fits(left.first, b); }), changed);
    }
    if (is_small(op)) {
      if (!set_first(right, first_that(right, [&](Place b) { return fits(left.first, b); }), changed))
        return false;
      return !both_ends ||
             set_last(left, behind_last_that(left, [&](Place a) { return fits(a, right.last - 1); }),
                      changed);
    }
    if (!set_first(left, first_that(left, [&](Place a) { return fits(a, right.first); }), changed))
      return false;
    return !both_ends ||
           set_last(right, behind_last_that(right, [&](Place b) { return fits(left.last - 1, b); }), changed);
  };
  if (one.op != Operator::kEqual) return apply(one.op);
  return apply(Operator::kAtMost) && apply(Operator::kAtLeast);
}

// Takes from the ends of two short ranges the copies that agree with none of the other; false if a range
// becomes empty.
bool Ranges::check(const Comparison& one, Range* ranges, bool& changed) const {
  Range &left = ranges[one.left], &right = ranges[one.right];
  const Network& network = compared_.network;
  if (one.left == one.right) {
    while (left.first < left.last && !network.holds(one, left.first, left.first))
      ++left.first, changed = true;
    while (left.first < left.last && !network.holds(one, left.last - 1, left.last - 1))
      --left.last, changed = true;
    return left.first < left.last;
  }
  if (left.size() * right.size() > kMostPairs) return true;
  const auto left_fits = [&](Place a) {
    for (Place b = right.first; b < right.last; ++b)
      if (network.holds(one, a, b)) return true;
    return false;
  };
  const auto right_fits = [&](Place b) {
    for (Place a = left.first; a < left.last; ++a)
      if (network.holds(one, a, b)) return true;
    return false;
  };
  while (left.first < left.last && !left_fits(left.first)) ++left.first, changed = true;
  if (left.first == left.last) return false;
  while (!left_fits(left.last - 1)) --left.last, changed = true;
  while (!right_fits(right.first)) ++right.first, changed = true;
  while (!right_fits(right.last - 1)) --right.last, changed = true;
  return true;
}

template <bool both_ends>
bool Ranges::narrow_span(std::size_t matched, Range* ranges, bool& changed) const {
  const Span& span = compared_.network.span;
  const auto each = [&](auto&& use) {
    for (std::size_t v = 0; v < matched; ++v)
      if (!compared_.network.variables[v].is_vertex && !use(v)) return false;
    return true;
  };
  bool some = false;
  std::int64_t greatest_first = 0, least_last = 0;
  each([&](std::size_t v) {
    const std::int64_t first = main(v, ranges[v].first), last = both_ends ? main(v, ranges[v].last - 1) : 0;
    if (!some || span.less(greatest_first, first)) greatest_first = first;
    if (!some || span.less(last, least_last)) least_last = last;
    return some = true;
  });
  return each([&](std::size_t v) {
    const auto early = [&](Place place) { return span.reaches(main(v, place), greatest_first); };
    const auto late = [&](Place place) { return span.reaches(least_last, main(v, place)); };
    return set_first(ranges[v], first_that(ranges[v], early), changed) &&
           (!both_ends || set_last(ranges[v], behind_last_that(ranges[v], late), changed));
  });
}

// Whether the ranges decide by themselves that there is a choice.
bool Ranges::is_exact(int level) const {
  if (compared_.all_monotone) return true;
  const Range* ranges = at(level);
  for (std::size_t c = 0; c < compared_.monotone.size(); ++c) {
    if (compared_.monotone[c]) continue;
    const Comparison& one = compared_.network.comparisons[c];
    const Range &left = ranges[one.left], &right = ranges[one.right];
    if (left.size() > 1 || right.size() > 1 || !compared_.network.holds(one, left.first, right.first))
      return false;
  }
  return true;
}

bool Ranges::has_choice(int level) {
  if (is_exact(level)) return true;
  bool found = false;
  const bool all = choices_.try_all({at(level), variables_}, kMostTrials, [&](std::span<const Place>) {
    found = true;
    return false;
  });
  return all ? found : choices_.exists({at(level), variables_});
}

std::span<const Place> Ranges::first_choice(int level) {
  first_.clear();
  const std::span<const Range> ranges{at(level), variables_};
  if (is_exact(level)) {
    for (const Range& range : ranges) first_.push_back(range.first);
    return first_;
  }
  const auto keep = [&](std::span<const Place> places) {
    first_.assign(places.begin(), places.end());
    return false;
  };
  if (choices_.try_all(ranges, kMostTrials, keep)) return first_;
  ChoiceList list(choices_, ranges);
  if (list.next()) keep(list.chosen());
  return first_;
}

Total Ranges::choices(int level) {
  const Range* ranges = at(level);
  const auto single = [](const Range& range) { return range.size() == 1; };
  if (std::all_of(ranges, ranges + variables_, single)) return has_choice(level) ? 1 : 0;
  Total found = 0;
  const auto count = [&](std::span<const Place>) {
    ++found;
    return true;
  };
  if (choices_.try_all({ranges, variables_}, kMostTrials, count)) return found;
  return choices_.count({ranges, variables_});
}

Ranges::Window Ranges::window(int variable, int level, const std::uint32_t* values) const {
  const Network& network = compared_.network;
  const Compared::Ends& ends = compared_.ends[static_cast<std::size_t>(variable)];
  const CopyIndex& index = ends.index;
  const Range* ranges = at(level - 1);
  // What holds for the copies from a place on, and what up to one: each is a prefix or a suffix of the row.
  struct Bound {
    const Comparison* comparison;  // null: the span
    Operator op;
    bool left;  // whether the copy is at the left
    std::int64_t value;
  };
  std::array<Bound, kMostBounds> low, high;
  std::size_t lows = 0, highs = 0;
  const auto add = [](auto& bounds, std::size_t& size, const Bound& bound) {
    if (size < kMostBounds) bounds[size++] = bound;  // a window without some bounds has more copies
  };
  const std::size_t known = compared_.matched[static_cast<std::size_t>(level) - 1];
  if (network.span.there) {
    for (std::size_t v = 0; v < known; ++v) {
      if (network.variables[v].is_vertex) continue;
      add(low, lows, {nullptr, {}, true, main(v, ranges[v].first)});
      add(high, highs, {nullptr, {}, false, main(v, ranges[v].last - 1)});
    }
  }
  for (const int c : compared_.of_variable[static_cast<std::size_t>(variable)]) {
    const Comparison& one = network.comparisons[static_cast<std::size_t>(c)];
    const auto other = static_cast<std::size_t>(one.other(variable));
    if (!compared_.monotone[static_cast<std::size_t>(c)] || other >= known) continue;
    const Range& matched = ranges[other];
    const bool left = one.left == variable;
    const std::int64_t* column =
        network.variables[other].columns[static_cast<std::size_t>(left ? one.right_column : one.left_column)];
    const std::int64_t first = column[matched.first], last = column[matched.last - 1];
    const auto apply = [&](Operator op) {
      const bool is_low = left ? !is_small(op) : is_small(op) == one.rises();
      if (is_low)
        add(low, lows, {&one, op, left, first});
      else
        add(high, highs, {&one, op, left, last});
    };
    if (one.op != Operator::kEqual) {
      apply(one.op);
    } else {
      apply(Operator::kAtMost);
      apply(Operator::kAtLeast);
    }
  }
  const std::int64_t* own = index.row_columns[0];
  const auto holds_all = [&](const auto& bounds, std::size_t size, Place place) {
    const std::int64_t value = own[place];
    return std::all_of(bounds.begin(), bounds.begin() + static_cast<std::ptrdiff_t>(size),
                       [&](const Bound& bound) {
                         if (!bound.comparison)
                           return bound.left ? network.span.reaches(value, bound.value)
                                             : network.span.reaches(bound.value, value);
                         return bound.left ? holds(*bound.comparison, bound.op, value, bound.value)
                                           : holds(*bound.comparison, bound.op, bound.value, value);
                       });
  };
  Range row = index.row(values[ends.from]);
  for (Place last = row.last; row.first < last;) {
    const Place middle = row.first + (last - row.first) / 2;
    if (holds_all(low, lows, middle))
      last = middle;
    else
      row.first = middle + 1;
  }
  for (Place first = row.first; first < row.last;) {
    const Place middle = first + (row.last - first) / 2;
    if (holds_all(high, highs, middle))
      first = middle + 1;
    else
      row.last = middle;
  }
  return {variable, row};
}

bool Ranges::decided_by_window(int variable, int level) const {
  const auto now = static_cast<std::size_t>(level);
  const std::size_t known = compared_.matched[now - 1];
  if (compared_.matched[now] != known + 1 || variable != static_cast<int>(known)) return false;
  if (compared_.of_variable[known].size() + known > kMostChecks) return false;
  const Range* ranges = at(level - 1);
  return std::all_of(ranges, ranges + known, [](const Range& range) { return range.size() == 1; });
}

// The first copies left are a choice of the variables before, and a greater value does them no harm.
bool Ranges::accepts_greatest(std::int64_t value) const {
  const Network& network = compared_.network;
  const std::size_t last = variables_ - 1;
  const Range* ranges = at(last_level_ - 1);
  return std::all_of(compared_.of_variable[last].begin(), compared_.of_variable[last].end(), [&](int c) {
    const Comparison& one = network.comparisons[static_cast<std::size_t>(c)];
    const bool left = one.left == static_cast<int>(last);
    const auto other = static_cast<std::size_t>(left ? one.right : one.left);
    const std::int64_t first =
        network.variables[other].value(left ? one.right_column : one.left_column, ranges[other].first);
    return left ? holds(one, value, first) : holds(one, first, value);
  });
}

void Ranges::others(const Window& window, int level, std::vector<std::uint32_t>& found) const {
  const Network& network = compared_.network;
  const CopyIndex& index = compared_.ends[static_cast<std::size_t>(window.variable)].index;
  const std::size_t known = compared_.matched[static_cast<std::size_t>(level) - 1];
  const Range* ranges = at(level - 1);
  // What is left to check: each with the column, and the value that it is compared with.
  struct Check {
    const Comparison* comparison;
    const std::int64_t* column;
    const std::int64_t* other_column;  // of the same copy, or null
    std::int64_t value;
    bool left;
  };
  std::array<Check, kMostChecks> checks;
  std::size_t size = 0;
  for (const int c : compared_.of_variable[static_cast<std::size_t>(window.variable)]) {
    const Comparison& one = network.comparisons[static_cast<std::size_t>(c)];
    const auto other = static_cast<std::size_t>(one.other(window.variable));
    const bool left = one.left == window.variable;
    if (compared_.monotone[static_cast<std::size_t>(c)] || size == kMostChecks) continue;
    const auto column = [&](int at) { return index.row_columns[static_cast<std::size_t>(at)]; };
    if (one.left == one.right) {
      checks[size++] = {&one, column(one.left_column), column(one.right_column), 0, true};
    } else if (other < known && ranges[other].size() == 1) {
      const std::int64_t value =
          network.variables[other].value(left ? one.right_column : one.left_column, ranges[other].first);
      checks[size++] = {&one, column(left ? one.left_column : one.right_column), nullptr, value, left};
    }
  }
  const auto fits = [&](Place at) {
    return std::all_of(
        checks.begin(), checks.begin() + static_cast<std::ptrdiff_t>(size), [&](const Check& check) {
          const std::int64_t own = check.column[at],
                             other = check.other_column ? check.other_column[at] : check.value;
          return check.left ? holds(*check.comparison, own, other) : holds(*check.comparison, other, own);
        });
  };
  const std::size_t before = found.size();
  for (Place at = window.range.first; at < window.range.last; ++at)
    if (fits(at)) found.push_back(index.row_others[at]);
  const auto first = found.begin() + static_cast<std::ptrdiff_t>(before);
  std::sort(first, found.end());
  found.erase(std::unique(first, found.end()), found.end());
}

}  // namespace motiflux::copies
