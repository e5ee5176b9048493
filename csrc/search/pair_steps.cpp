#include "search/pair_steps.hpp"

#include <algorithm>

#include "motiflux/bits.hpp"

namespace motiflux::search {
namespace {

using copies::Operator;

std::size_t as_index(int number) {
  return static_cast<std::size_t>(number);
}

// Whether a column has doubles: that of a comparison, or of the span.
bool is_float(const copies::Network& network, int variable, int column) {
  if (column == 0 && network.span.there) return network.span.floats;
  return std::any_of(network.comparisons.begin(), network.comparisons.end(),
                     [&](const copies::Comparison& one) {
                       return one.floats && ((one.left == variable && one.left_column == column) ||
                                             (one.right == variable && one.right_column == column));
                     });
}

// All checks of the edge of a step.
std::vector<PairCheck> checks_of(const PairStep& step) {
  std::vector<PairCheck> found = step.joint;
  for (const PairTest& test : step.tests) found.push_back(test.check);
  return found;
}

}  // namespace

PairSteps::PairSteps(const NativePlan& native_plan, const CopyWalk& walk) {
  const copies::Compared& compared = *native_plan.compared;
  const copies::Network& network = compared.network;
  order_levels(native_plan);
  step_of_.assign(network.variables.size(), -1);
  placed_.assign(network.variables.size(), 0);
  const int start = walk.edges[as_index(walk.root)].ends[walk.side];
  std::uint32_t reached = std::uint32_t{1} << start;
  const auto place_vertices = [&](int level, auto&& use) {
    for (std::size_t v = 0; v < network.variables.size(); ++v) {
      if (!network.variables[v].is_vertex || compared.ends[v].from != level) continue;
      placed_[v] = 1;
      if (compared.ends[v].missing) use(compared.ends[v].missing);
    }
  };
  place_vertices(start, [&](const std::uint8_t* missing) { missing_first.push_back(missing); });
  for (const copies::Comparison& one : network.comparisons)
    if (placed_[as_index(one.left)] && placed_[as_index(one.right)]) {
      const auto side = [&](int variable, int column) {
        return PairSide{PairSide::Of::kVertex, as_index(start),
                        network.variables[as_index(variable)].columns[as_index(column)]};
      };
      of_first.push_back({&one, side(one.left, one.left_column), side(one.right, one.right_column)});
    }
  for (const int variable : walk.order) {
    const CopyWalk::Edge& edge = walk.edges[as_index(variable)];
    PairStep step;
    step.variable = variable;
    const bool there[2] = {(reached >> edge.ends[0] & 1) != 0, (reached >> edge.ends[1] & 1) != 0};
    step.side = variable == walk.root ? walk.side : there[0] ? 0 : 1;
    step.center = edge.ends[step.side];
    step.other = edge.ends[1 - step.side];
    step.closes = there[0] && there[1];
    step.rows = edge.rows[step.side];
    if (variable == walk.root)
      step.columns = walk.root_columns;
    else
      step.columns = step.closes ? network.variables[as_index(variable)].columns : step.rows->row_columns;
    for (std::size_t column = 0; column < step.columns.size(); ++column)
      step.floats.push_back(is_float(network, variable, static_cast<int>(column)));
    step.first = width;
    step.spanned = network.span.there;
    width += step.columns.size();
    reached |= std::uint32_t{1} << step.other;
    if (!step.closes)
      place_vertices(step.other, [&](const std::uint8_t* one) { step.missing.push_back(one); });
    placed_[as_index(variable)] = 1;
    step_of_[as_index(variable)] = static_cast<int>(steps.size());
    steps.push_back(std::move(step));
    add_checks(compared, steps.back());
  }
  if (network.span.there) {
    lowest = width++;
    highest = width++;
  }
  add_preferences(compared);
  two_leaves = walk.leaves == 2 && steps.size() > 2 && are_apart(compared);
}

void PairSteps::order_levels(const NativePlan& native_plan) {
  for (std::size_t level = 0; level < native_plan.plan.shape.levels; ++level) {
    const view::StepShape& step = native_plan.plan.shape.steps[level];
    const std::uint32_t own = std::uint32_t{1} << level;
    distinct[level] |= step.distinct;
    smaller[level] |= step.after;
    greater[level] |= step.before;
    for_each_bit(step.distinct, [&](std::size_t other) { distinct[other] |= own; });
    for_each_bit(step.after, [&](std::size_t other) { greater[other] |= own; });
    for_each_bit(step.before, [&](std::size_t other) { smaller[other] |= own; });
  }
}

// Comparisons that can be judged from this step on.
void PairSteps::add_checks(const copies::Compared& compared, PairStep& step) {
  const copies::Network& network = compared.network;
  const auto is_own = [&](int v) { return v == step.variable; };
  const auto is_new_vertex = [&](int v) {
    return !step.closes && network.variables[as_index(v)].is_vertex &&
           compared.ends[as_index(v)].from == step.other;
  };
  const auto side = [&](int v, int column) -> PairSide {
    if (is_own(v)) return {PairSide::Of::kEdge, as_index(column), nullptr};
    if (network.variables[as_index(v)].is_vertex)
      return {PairSide::Of::kVertex, as_index(compared.ends[as_index(v)].from),
              network.variables[as_index(v)].columns[as_index(column)]};
    return {PairSide::Of::kChoice, steps[as_index(step_of_[as_index(v)])].first + as_index(column), nullptr};
  };
  for (const copies::Comparison& one : network.comparisons) {
    if (!placed_[as_index(one.left)] || !placed_[as_index(one.right)]) continue;
    const bool own = is_own(one.left) || is_own(one.right);
    const bool vertex = is_new_vertex(one.left) || is_new_vertex(one.right);
    if (!own && !vertex) continue;
    const PairCheck check{&one, side(one.left, one.left_column), side(one.right, one.right_column)};
    const auto is_known_vertex = [&](const PairSide& of) { return of.of == PairSide::Of::kVertex; };
    if (own && !vertex && one.left != one.right)
      add_test(step, check);
    else if (!own && is_known_vertex(check.left) && is_known_vertex(check.right))
      step.of_vertex.push_back(check);
    else
      step.joint.push_back(check);
  }
}

// Adds a check of one column of the edge.
void PairSteps::add_test(PairStep& step, const PairCheck& check) {
  const bool left = check.left.of == PairSide::Of::kEdge;
  PairTest test{check, {*check.comparison, left}, left ? check.right : check.left};
  const std::size_t column = left ? check.left.at : check.right.at;
  if (column > 0) {
    const std::int64_t* values = step.columns[column];
    const auto known = std::find_if(step.filters.begin(), step.filters.end(),
                                    [&](const PairFilter& one) { return one.values == values; });
    test.filter = static_cast<int>(known - step.filters.begin());
    const bool floats = step.floats[column] != 0;
    if (known == step.filters.end())
      step.filters.push_back({values, floats ? copies::kAllFloats : copies::kAllIntegers, floats});
  }
  step.tests.push_back(test);
}

// Of the choices up to each step, the values that later steps look at, and which of them are better.
void PairSteps::add_preferences(const copies::Compared& compared) {
  const copies::Network& network = compared.network;
  for (std::size_t last = 0; last + 1 < steps.size(); ++last) {
    std::vector<PairPreference>& found = steps[last].preferences;
    const std::size_t known = steps[last + 1].first;
    const auto prefer = [&](std::size_t at, bool floats, bool greater) {
      const auto same = [&](const PairPreference& one) { return one.at == at && one.greater == greater; };
      if (std::none_of(found.begin(), found.end(), same)) found.push_back({at, floats, greater});
    };
    const auto look_at = [&](const PairCheck& check, const PairSide& side, bool left) {
      if (side.of != PairSide::Of::kChoice || side.at >= known) return;
      const copies::Comparison& one = *check.comparison;
      const bool small = one.op == Operator::kLess || one.op == Operator::kAtMost;
      const bool both = one.op == Operator::kEqual || one.op == Operator::kUnequal;
      const bool greater = left ? !small : small == one.rises();
      if (both || greater) prefer(side.at, one.floats, true);
      if (both || !greater) prefer(side.at, one.floats, false);
    };
    for (std::size_t later = last + 1; later < steps.size(); ++later)
      for (const PairCheck& check : checks_of(steps[later])) {
        look_at(check, check.left, true);
        look_at(check, check.right, false);
      }
    if (network.span.there) {
      prefer(lowest, network.span.floats, true);
      prefer(highest, network.span.floats, false);
    }
    // Of one edge, copies that differ in a value of which both more and less is better.
    const auto opposed = [&](const PairPreference& one) {
      return std::any_of(found.begin(), found.end(), [&](const PairPreference& other) {
        return one.at == other.at && one.greater != other.greater;
      });
    };
    steps[last].keeps_all =
        last == 0 && (network.span.there || std::any_of(found.begin(), found.end(), opposed));
  }
}

// Whether the last two edges lead to vertices of their own, and nothing joins them but that these differ.
bool PairSteps::are_apart(const copies::Compared& compared) const {
  const PairStep& first = steps[steps.size() - 2];
  const PairStep& second = steps.back();
  if (first.closes || second.closes || compared.network.span.there) return false;
  const std::uint32_t new_vertex = std::uint32_t{1} << first.other;
  if (second.center == first.other) return false;
  if (((smaller[as_index(second.other)] | greater[as_index(second.other)]) & new_vertex) != 0) return false;
  const auto names = [&](const PairSide& side) {
    return (side.of == PairSide::Of::kChoice && side.at >= first.first) ||
           (side.of == PairSide::Of::kVertex && static_cast<int>(side.at) == first.other);
  };
  const auto names_first = [&](const PairCheck& check) { return names(check.left) || names(check.right); };
  const std::vector<PairCheck> checks = checks_of(second);
  return std::none_of(checks.begin(), checks.end(), names_first) &&
         std::none_of(second.of_vertex.begin(), second.of_vertex.end(), names_first);
}

}  // namespace motiflux::search
