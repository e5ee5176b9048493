#include "copies/choices.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace motiflux::copies {
namespace {

// Whether there is something: addition is "or", and multiplication is "and".
struct Some {
  bool there = false;

  static Some one() { return {true}; }
  bool zero() const { return !there; }
  bool settled() const { return there; }  // more cannot change it
  Some& operator+=(Some other) {
    there |= other.there;
    return *this;
  }
  Some& operator*=(Some other) {
    there &= other.there;
    return *this;
  }
  Some minus(Some) const { return *this; }
};

// How many there are.
struct Number {
  Total value = 0;

  static Number one() { return {1}; }
  bool zero() const { return value == 0; }
  bool settled() const { return false; }
  Number& operator+=(Number other) {
    add_checked(value, other.value);
    return *this;
  }
  Number& operator*=(Number other) {
    if (__builtin_mul_overflow(value, other.value, &value))
      throw std::overflow_error("the number of choices exceeds 2^128 - 1");
    return *this;
  }
  Number minus(Number other) const { return {value - other.value}; }
};

// How many there are, or kMany if there are more.
struct NumberToMany {
  Total value = 0;

  static NumberToMany one() { return {1}; }
  bool zero() const { return value == 0; }
  bool settled() const { return value == Choices::kMany; }
  NumberToMany& operator+=(NumberToMany other) {
    value = std::min(value + other.value, Choices::kMany);
    return *this;
  }
  NumberToMany& operator*=(NumberToMany other) {
    if (__builtin_mul_overflow(value, other.value, &value) || value > Choices::kMany) value = Choices::kMany;
    return *this;
  }
  // Of a number that is not settled.
  NumberToMany minus(NumberToMany other) const { return {value - other.value}; }
};

}  // namespace

Choices::Choices(const Network& network)
    : network_(network),
      links_(network.variables.size()),
      earlier_(network.variables.size()),
      trial_(network.variables.size()),
      low_(network.variables.size()),
      high_(network.variables.size()) {
  for (std::size_t at = 0; at < network.comparisons.size(); ++at) {
    const Comparison& one = network.comparisons[at];
    earlier_[static_cast<std::size_t>(std::max(one.left, one.right))].push_back(static_cast<int>(at));
    if (one.left == one.right) {
      own_.push_back(static_cast<int>(at));
      continue;
    }
    for (const int variable : {one.left, one.right}) {
      std::vector<Link>& links = links_[static_cast<std::size_t>(variable)];
      const int other = one.other(variable);
      auto link =
          std::find_if(links.begin(), links.end(), [&](const Link& known) { return known.other == other; });
      if (link == links.end()) link = links.insert(links.end(), {other, {}});
      link->comparisons.push_back(static_cast<int>(at));
    }
  }
}

// Whether the trial of a variable satisfies the comparisons with those before, and the span.
bool Choices::fits_earlier(std::size_t variable) {
  for (const int at : earlier_[variable]) {
    const Comparison& one = network_.comparisons[static_cast<std::size_t>(at)];
    if (!network_.holds(one, trial_[static_cast<std::size_t>(one.left)],
                        trial_[static_cast<std::size_t>(one.right)]))
      return false;
  }
  const Span& span = network_.span;
  if (!span.there) return true;
  // Edges come behind the variables of vertices of the first levels, which have no part in a span.
  const bool first = std::all_of(network_.variables.begin(),
                                 network_.variables.begin() + static_cast<std::ptrdiff_t>(variable),
                                 [](const Variable& one) { return one.is_vertex; });
  if (!first) {
    low_[variable] = low_[variable - 1];
    high_[variable] = high_[variable - 1];
  }
  if (network_.variables[variable].is_vertex) return true;
  const std::int64_t value = network_.variables[variable].value(0, trial_[variable]);
  if (first || span.less(value, low_[variable])) low_[variable] = value;
  if (first || span.less(high_[variable], value)) high_[variable] = value;
  return span.reaches(low_[variable], high_[variable]);
}

bool Choices::exists(std::span<const Range> ranges) {
  Domains domains;
  return start(ranges, domains) && !solve<Some>(domains).zero();
}

Total Choices::count(std::span<const Range> ranges) {
  Domains domains;
  return start(ranges, domains) ? solve<Number>(domains).value : 0;
}

Total Choices::count_to_many(std::span<const Range> ranges) {
  Domains domains;
  return start(ranges, domains) ? solve<NumberToMany>(domains).value : 0;
}

void Choices::report() const {
  const std::size_t comparisons = std::exchange(worked_since_, 0);
  if (worked_ && !worked_(comparisons)) throw Stopped{};
}

// Sets the copies that agree with themselves; false if a variable has none.
bool Choices::start(std::span<const Range> ranges, Domains& domains) const {
  domains.resize(ranges.size());
  for (std::size_t v = 0; v < ranges.size(); ++v) {
    for (Place place = ranges[v].first; place < ranges[v].last; ++place) {
      const bool kept = std::all_of(own_.begin(), own_.end(), [&](int at) {
        const Comparison& one = network_.comparisons[static_cast<std::size_t>(at)];
        return one.left != static_cast<int>(v) || network_.holds(one, place, place);
      });
      if (kept) domains[v].push_back(place);
    }
    work(ranges[v].size());
    if (domains[v].empty()) return false;
  }
  return true;
}

template <class Number>
Number Choices::solve(const Domains& domains) const {
  std::vector<char> removed(domains.size(), 0);
  const Span& span = network_.span;
  if (!span.there) return solve_without_span<Number>(domains, removed);
  std::vector<std::int64_t> values;
  for (std::size_t v = 0; v < domains.size(); ++v)
    if (!network_.variables[v].is_vertex)
      for (const Place place : domains[v]) values.push_back(network_.variables[v].value(0, place));
  work(values.size() * 8);
  std::sort(values.begin(), values.end(), [&](std::int64_t a, std::int64_t b) { return span.less(a, b); });
  values.erase(
      std::unique(values.begin(), values.end(),
                  [&](std::int64_t a, std::int64_t b) { return !span.less(a, b) && !span.less(b, a); }),
      values.end());
  Number sum{};
  Domains restricted;
  for (const std::int64_t lowest : values) {
    // Of the choices within the span from `lowest`, those without it are within spans from greater values.
    if (!within(lowest, false, domains, restricted)) continue;
    const Number all = solve_without_span<Number>(restricted, removed);
    if (all.zero()) continue;
    if (all.settled()) return all;
    const bool others = within(lowest, true, domains, restricted);
    sum += others ? all.minus(solve_without_span<Number>(restricted, removed)) : all;
  }
  return sum;
}

// Restricts main columns to values from `lowest` (`open`: greater ones) to the end of the span; false if a
// variable has none.
bool Choices::within(std::int64_t lowest, bool open, const Domains& domains, Domains& restricted) const {
  const Span& span = network_.span;
  restricted.resize(domains.size());
  for (std::size_t v = 0; v < domains.size(); ++v) {
    restricted[v].clear();
    const Variable& variable = network_.variables[v];
    for (const Place place : domains[v]) {
      const bool kept = variable.is_vertex || [&] {
        const std::int64_t value = variable.value(0, place);
        return (open ? span.less(lowest, value) : !span.less(value, lowest)) && span.reaches(lowest, value);
      }();
      if (kept) restricted[v].push_back(place);
    }
    work(domains[v].size());
    if (restricted[v].empty()) return false;
  }
  return true;
}

template <class Number>
Number Choices::solve_without_span(const Domains& domains, std::vector<char>& removed) const {
  const int cut = on_cycle(removed);
  if (cut < 0) return solve_forest<Number>(domains, removed);
  Number sum{};
  removed[static_cast<std::size_t>(cut)] = 1;
  for (const Place place : domains[static_cast<std::size_t>(cut)]) {
    Domains rest = domains;
    for (const Domain& domain : domains) work(domain.size() / 8 + 1);
    if (!restrict_to(cut, place, rest, removed)) continue;
    sum += solve_without_span<Number>(rest, removed);
    if (sum.settled()) break;
  }
  removed[static_cast<std::size_t>(cut)] = 0;
  return sum;
}

// A variable of the most links among those that are left when leaves are taken away again and again; -1 for a
// forest.
int Choices::on_cycle(const std::vector<char>& removed) const {
  const std::size_t size = links_.size();
  std::vector<int> degree(size, 0);
  std::vector<int> leaves;
  for (std::size_t v = 0; v < size; ++v) {
    if (removed[v]) continue;
    for (const Link& link : links_[v]) degree[v] += !removed[static_cast<std::size_t>(link.other)];
    if (degree[v] == 1) leaves.push_back(static_cast<int>(v));
  }
  while (!leaves.empty()) {
    const auto leaf = static_cast<std::size_t>(leaves.back());
    leaves.pop_back();
    if (degree[leaf] != 1) continue;
    degree[leaf] = 0;
    for (const Link& link : links_[leaf]) {
      const auto other = static_cast<std::size_t>(link.other);
      if (!removed[other] && degree[other] > 0 && --degree[other] == 1) leaves.push_back(link.other);
    }
  }
  const auto most = std::max_element(degree.begin(), degree.end());
  return most == degree.end() || *most < 2 ? -1 : static_cast<int>(most - degree.begin());
}

// Leaves the neighbours of a variable the copies that agree with one of its own; false if one has none.
bool Choices::restrict_to(int variable, Place place, Domains& domains,
                          const std::vector<char>& removed) const {
  for (const Link& link : links_[static_cast<std::size_t>(variable)]) {
    if (removed[static_cast<std::size_t>(link.other)]) continue;
    Domain& domain = domains[static_cast<std::size_t>(link.other)];
    work(domain.size());
    std::erase_if(domain, [&](Place other) { return !agrees(link, variable, place, other); });
    if (domain.empty()) return false;
  }
  return true;
}

bool Choices::agrees(const Link& link, int variable, Place place, Place other) const {
  return std::all_of(link.comparisons.begin(), link.comparisons.end(), [&](int at) {
    const Comparison& one = network_.comparisons[static_cast<std::size_t>(at)];
    return one.left == variable ? network_.holds(one, place, other) : network_.holds(one, other, place);
  });
}

template <class Number>
Number Choices::solve_forest(const Domains& domains, const std::vector<char>& removed) const {
  Number product = Number::one();
  std::vector<char> seen(removed);
  std::vector<int> stack;
  for (std::size_t root = 0; root < domains.size(); ++root) {
    if (seen[root]) continue;
    stack.assign(1, static_cast<int>(root));
    seen[root] = 1;
    while (!stack.empty()) {
      const auto next = static_cast<std::size_t>(stack.back());
      stack.pop_back();
      for (const Link& link : links_[next]) {
        char& known = seen[static_cast<std::size_t>(link.other)];
        if (!known) stack.push_back(link.other);
        known = 1;
      }
    }
    Number sum{};
    for (const Number& weight : weigh<Number>(static_cast<int>(root), -1, domains, removed)) sum += weight;
    if (sum.zero()) return {};
    product *= sum;
  }
  return product;
}

// The number of choices of the tree below `variable` for each of its copies.
template <class Number>
std::vector<Number> Choices::weigh(int variable, int parent, const Domains& domains,
                                   const std::vector<char>& removed) const {
  std::vector<Number> weights(domains[static_cast<std::size_t>(variable)].size(), Number::one());
  for (const Link& link : links_[static_cast<std::size_t>(variable)]) {
    if (link.other == parent || removed[static_cast<std::size_t>(link.other)]) continue;
    multiply_supports(variable, link, domains, weigh<Number>(link.other, variable, domains, removed),
                      weights);
  }
  return weights;
}

template <class Number>
void Choices::multiply_supports(int variable, const Link& link, const Domains& domains,
                                const std::vector<Number>& below, std::vector<Number>& weights) const {
  const Domain& domain = domains[static_cast<std::size_t>(variable)];
  const Domain& others = domains[static_cast<std::size_t>(link.other)];
  const Comparison& one = network_.comparisons[static_cast<std::size_t>(link.comparisons[0])];
  const bool left = one.left == variable;
  const bool sorted = link.comparisons.size() == 1 && (left ? one.right_column : one.left_column) == 0 &&
                      one.op != Operator::kUnequal &&
                      !network_.variables[static_cast<std::size_t>(link.other)].is_vertex;
  if (!sorted) {
    for (std::size_t at = 0; at < domain.size(); ++at) {
      Number sum{};
      for (std::size_t other = 0; other < others.size() && !weights[at].zero() && !sum.settled(); ++other)
        if (work(1); agrees(link, variable, domain[at], others[other])) sum += below[other];
      weights[at] *= sum;
    }
    return;
  }
  std::vector<Number> sums(1);
  for (const Number& weight : below) {
    sums.push_back(sums.back());
    sums.back() += weight;
  }
  // Copies that satisfy an inequality are a prefix or a suffix.
  const auto part = [&](Operator op, Place place, bool prefix) {
    return static_cast<std::size_t>(
        std::partition_point(others.begin(), others.end(),
                             [&](Place other) {
                               const Variable& a = network_.variables[static_cast<std::size_t>(one.left)];
                               const Variable& b = network_.variables[static_cast<std::size_t>(one.right)];
                               const bool fits =
                                   copies::holds(one, op, a.value(one.left_column, left ? place : other),
                                                 b.value(one.right_column, left ? other : place));
                               return fits == prefix;
                             }) -
        others.begin());
  };
  const auto is_prefix = [&](Operator op) {
    const bool small = op == Operator::kLess || op == Operator::kAtMost;  // the left side is the smaller one
    return left ? small != one.rises() : small;
  };
  const auto count_from = [&](std::size_t first, std::size_t last) {
    if (!sums.back().settled()) return first < last ? sums[last].minus(sums[first]) : Number{};
    Number found{};  // settled sums have no differences: add until this one is settled
    for (std::size_t at = first; at < last && !found.settled(); ++at) work(1), found += below[at];
    return found;
  };
  work(others.size());
  for (std::size_t at = 0; at < domain.size(); ++at) {
    if (weights[at].zero()) continue;
    work(8);
    if (one.op == Operator::kEqual) {
      const bool low = is_prefix(Operator::kAtMost);
      const std::size_t end = part(low ? Operator::kAtMost : Operator::kAtLeast, domain[at], true);
      const std::size_t begin = part(low ? Operator::kAtLeast : Operator::kAtMost, domain[at], false);
      weights[at] *= count_from(begin, end);
    } else if (is_prefix(one.op)) {
      weights[at] *= sums[part(one.op, domain[at], true)];
    } else {
      weights[at] *= count_from(part(one.op, domain[at], false), others.size());
    }
  }
}

ChoiceList::ChoiceList(const Choices& choices, std::span<const Range> ranges)
    : choices_(choices), chosen_(ranges.size()) {
  Level first;
  if (choices.start(ranges, first.domains) && !choices.solve<Some>(first.domains).zero())
    levels_.push_back(std::move(first));
}

// Only copies that have a choice are followed.
bool ChoiceList::next() {
  while (!levels_.empty()) {
    const std::size_t variable = levels_.size() - 1;
    Level& level = levels_.back();
    if (level.tried == level.domains[variable].size()) {
      levels_.pop_back();
      continue;
    }
    const Place place = level.domains[variable][level.tried++];
    chosen_[variable] = place;
    Level rest{level.domains, 0};
    rest.domains[variable].assign(1, place);
    for (const Choices::Domain& domain : rest.domains) choices_.work(domain.size() / 8 + 1);
    const std::vector<char> none(rest.domains.size(), 0);
    if (!choices_.restrict_to(static_cast<int>(variable), place, rest.domains, none)) continue;
    if (choices_.solve<Some>(rest.domains).zero()) continue;
    if (levels_.size() == chosen_.size()) return true;
    levels_.push_back(std::move(rest));
  }
  return false;
}

}  // namespace motiflux::copies
