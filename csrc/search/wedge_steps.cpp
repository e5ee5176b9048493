#include "search/wedge_steps.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "motiflux/bits.hpp"

namespace motiflux::search {
namespace {

using copies::Comparison;
using copies::Operator;

std::size_t as_index(int number) {
  return static_cast<std::size_t>(number);
}

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

// Whether greater values at one side of a comparison satisfy more.
bool prefers_greater(const Comparison& one, bool left) {
  const bool small = one.op == Operator::kLess || one.op == Operator::kAtMost;
  return left ? !small : small == one.rises();
}

}  // namespace

WedgeSteps::WedgeSteps(const NativePlan& native_plan) {
  const copies::Compared& compared = *native_plan.compared;
  const copies::Network& network = compared.network;
  require(!network.span.there && !compared.count_choices, "a search by wedges has no span, and no choices");
  floats.assign(network.variables.size(), 0);
  for (const copies::Variable& variable : network.variables) {
    require(!variable.is_vertex && variable.columns.size() == 1, "edges with one column each expected");
    values.push_back(variable.columns[0]);
  }
  for (const Comparison& one : network.comparisons) {
    require(one.left != one.right && one.op != Operator::kEqual && one.op != Operator::kUnequal,
            "comparisons by order between two edges expected");
    for (const int variable : {one.left, one.right})
      if (one.floats) floats[as_index(variable)] = 1;
  }
  for (std::size_t level = 0; level < native_plan.plan.shape.levels; ++level) {
    const view::StepShape& step = native_plan.plan.shape.steps[level];
    require((step.after | step.before) == 0, "vertices in any order expected");
    distinct[level] |= step.distinct;
    for_each_bit(step.distinct, [&](std::size_t other) { distinct[other] |= std::uint32_t{1} << level; });
  }
  order_edges(native_plan);
  find_between(network);
  narrow(network);
}

// Sets the levels that steps lead between.
void WedgeSteps::order_edges(const NativePlan& native_plan) {
  const CopyWalk& walk = *native_plan.copy_walk;
  const copies::Compared& compared = *native_plan.compared;
  require(walk.order.size() == compared.network.variables.size() && walk.order.size() >= 3,
          "a wedge and a core expected");
  middle = static_cast<int>(native_plan.plan.shape.levels) - 1;
  step_of_.assign(walk.order.size(), -1);
  std::uint32_t reached = 1;
  for (std::size_t at = 0; at < walk.order.size(); ++at) {
    const int variable = walk.order[at];
    const copies::Compared::Ends& ends = compared.ends[as_index(variable)];
    const bool in_core = at + 2 < walk.order.size();
    WedgeStep step{.variable = variable, .center = ends.from, .other = ends.to};
    require((reached >> ends.from & 1) != 0 && ends.from != ends.to,
            "an edge that begins at no matched vertex");
    step.closes = (reached >> ends.to & 1) != 0;
    require(in_core == (ends.from != middle && ends.to != middle),
            "a wedge has all edges of the last vertex");
    reached |= std::uint32_t{1} << ends.to;
    step_of_[as_index(variable)] = static_cast<int>(at);
    if (in_core)
      core.push_back(std::move(step));
    else
      wedge[at + 2 - walk.order.size()] = std::move(step);
  }
  require(std::popcount(reached) == middle + 1, "an order reaches all vertices");
  start = wedge[0].center;
  end = wedge[1].other;
  require(start == 0 && core[0].center == 0 && !core[0].closes && wedge[0].other == middle &&
              wedge[1].center == middle && end != start,
          "a wedge joins the first vertex and another one");
  wedge[1].closes = false;  // it leads to vertices of the core that are not matched yet
}

// Finds the comparison between core and wedge, which there is one of.
void WedgeSteps::find_between(const copies::Network& network) {
  const int first_of_wedge = static_cast<int>(core.size());
  for (const Comparison& one : network.comparisons) {
    const bool left = step_of_[as_index(one.left)] >= first_of_wedge;
    const bool right = step_of_[as_index(one.right)] >= first_of_wedge;
    if (left == right) continue;
    require(between == nullptr, "one comparison between wedge and core expected");
    between = &one;
    wedge_left = left;
    wedge_variable = left ? one.left : one.right;
    core_variable = one.other(wedge_variable);
    wedge_last = prefers_greater(one, left);
    core_last = prefers_greater(one, !left);
  }
  require(between != nullptr, "one comparison between wedge and core expected");
}

// Makes trees of the other comparisons: those of the edges compared between wedge and core are their roots,
// else the edge that is matched last. An edge is narrowed by all edges below it once these are matched.
void WedgeSteps::narrow(const copies::Network& network) {
  const std::size_t size = network.variables.size();
  std::vector<int> by_step(size);
  for (std::size_t v = 0; v < size; ++v) by_step[as_index(step_of_[v])] = static_cast<int>(v);
  std::vector<int> roots{wedge_variable, core_variable};
  roots.insert(roots.end(), by_step.rbegin(), by_step.rend());
  std::vector<int> parent(size, -1), ready(size, -1), order;
  std::vector<char> seen(size, 0);
  std::vector<std::vector<WedgeTest>> below(size);
  for (const int root : roots) {
    if (std::exchange(seen[as_index(root)], 1)) continue;
    std::size_t next = order.size();
    for (order.push_back(root); next < order.size(); ++next) {
      const int variable = order[next];
      bool above_met = false;
      for (const Comparison& one : network.comparisons) {
        if (&one == between || !one.has(variable)) continue;
        const int other = one.other(variable);
        if (other == parent[as_index(variable)] && !std::exchange(above_met, true)) continue;
        require(!std::exchange(seen[as_index(other)], 1), "comparisons that form trees expected");
        parent[as_index(other)] = variable;
        const bool own_left = one.left == variable;
        below[as_index(variable)].push_back({.comparison = &one,
                                             .other = other,
                                             .own_left = own_left,
                                             .other_last = prefers_greater(one, !own_left),
                                             .front = prefers_greater(one, own_left)});
        order.push_back(other);
      }
    }
  }
  // An edge is ready once it and all below it are matched; `order` has edges above before those below.
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    int& own = ready[as_index(*at)];
    own = std::max(own, step_of_[as_index(*at)]);
    if (const int above = parent[as_index(*at)]; above >= 0)
      ready[as_index(above)] = std::max(ready[as_index(above)], own);
  }
  for (std::size_t at = 0; at < size; ++at) {
    WedgeStep& step = at < core.size() ? core[at] : wedge[at - core.size()];
    for (const WedgeTest& test : below[as_index(step.variable)])
      if (ready[as_index(test.other)] < static_cast<int>(at)) step.tests.push_back(test);
    if (ready[as_index(step.variable)] != static_cast<int>(at)) continue;
    for (int above = parent[as_index(step.variable)];
         above >= 0 && ready[as_index(above)] == static_cast<int>(at); above = parent[as_index(above)])
      step.above.push_back({above, below[as_index(above)]});
  }
}

}  // namespace motiflux::search
