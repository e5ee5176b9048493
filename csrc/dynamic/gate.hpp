// The plans that an update may concern, arranged so that what they share is done once.
//
//   gate    of (label of the source, class): its plans, in forests of at most 64
//   forest  plans as bits of a word; what the two ends must have for each of them, and a tree of branches:
//
//             pair (u, v)            [ plans 0 1 2 3 4 ]
//               level 2 from u         [ 0 1 2 ]        one set, one loop for three plans
//                 level 3 from 2         [ 0 1 ]
//               level 2 from u and v   [ 3 4 ]
//
// A branch is a level that several plans take from the same set with the same restrictions; plans of a group
// test for each vertex what not all of them require. Below the last branch that it shares, a plan is searched
// on its own. Plans that list matches give the rows of their pattern in the order of the plans, or groups: a
// forest has at most one such plan of each pattern, or one group.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dynamic/graph.hpp"
#include "dynamic/plan.hpp"
#include "dynamic/quotients.hpp"

namespace motiflux::dynamic {

// Plans of a forest.
using PlanBits = std::uint64_t;
inline constexpr std::size_t kMostPlans = 64;

// Fewer plans of one forest are not counted as sums: they share too little.
inline constexpr int kFewestSums = 6;

template <class Visit>
void for_each_plan(PlanBits plans, Visit&& visit) {
  for (; plans != 0; plans &= plans - 1) visit(static_cast<std::size_t>(std::countr_zero(plans)));
}

// What plans require of the vertex of a level.
class Required {
 public:
  void add(const Needs& needs, PlanBits plan);

  // The plans of `plans` whose requirements the vertex meets.
  template <class View>
  PlanBits met(const View& view, Vertex vertex, PlanBits plans) const {
    if (!is_split_ && view.serves(vertex, all_)) return plans;
    for (const auto& [needs, those] : parts_)
      if ((plans & those) != 0 && !view.serves(vertex, needs)) plans &= ~those;
    return plans;
  }

 private:
  struct Part {
    Needs needs;
    PlanBits plans;
  };
  Needs all_;
  bool is_split_ = false;    // columns are in several words, so all_ lacks some
  std::vector<Part> parts_;  // by needs
};

// Restrictions of some plans at a level beyond those of the loop over it.
struct Bound {
  PlanBits plans;
  std::uint32_t after, before;  // levels, as bits
};

struct Branch {
  int level = 0;
  std::uint32_t plan = 0;  // one of its plans, whose set is the same in all
  PlanBits plans = 0;      // all of them
  PlanBits own = 0;        // those that are searched on their own from the next level on
  std::size_t end = 0;     // branches before this one and after the branch are below it
  Loop loop;
  Required required;
  bool grouped = false;  // whether its plans are of a group, which leave out fewer vertices than each alone
  std::vector<Bound> bounds;
};

struct Forest {
  std::uint32_t first = 0;           // the position of the first plan among those of the gate
  std::vector<std::uint32_t> plans;  // of the monitor
  PlanBits listed = 0;
  PlanBits checked = 0;  // whose pair must be looked at (Matcher::fits)
  PlanBits paired = 0;   // for whose place there are two plans, one of which is taken for each update
  PlanBits summed = 0;   // whose matches `quotients` can count, one for each place
  PlanBits spared = 0;   // the other plans for these places
  bool always_sums = false;
  std::array<Required, 2> ends;
  std::vector<Branch> branches;  // the first is level 1
  std::optional<Quotients> quotients;

  // The branch of level 2 that has all these plans; 0 if there is none.
  std::size_t branch_of(PlanBits some) const {
    for (std::size_t at = 1; at < branches.size(); at = branches[at].end)
      if ((some & ~branches[at].plans) == 0) return at;
    return 0;
  }

  PlanBits all() const {
    return plans.size() == kMostPlans ? ~PlanBits{0} : (PlanBits{1} << plans.size()) - 1;
  }
};

struct Gate {
  Label first = 0, second = 0, edge = 0;  // the labels of the ends and of the edge
  std::vector<std::uint32_t> plans;
  std::vector<Forest> forests;
};

// Arranges the plans of a gate. `listed`: by pattern.
void arrange(Gate& gate, std::span<const Plan> plans, const std::vector<bool>& listed, const Graph& graph);

// What a search is expected to cost, by the row that level 2 is taken from: to choose one of two plans.
double search_cost(const Graph& graph, const Plan& plan, const Edge& edge);

}  // namespace motiflux::dynamic
