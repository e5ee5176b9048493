#include "dynamic/gate.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace motiflux::dynamic {
namespace {

// What the loop over a level depends on.
using LoopKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

// A plan, how many plans or groups of its pattern are before it if it lists matches, and its loops from level
// 2 on that it may share with others.
struct Member {
  std::uint32_t plan;
  std::size_t place;
  std::vector<LoopKey> loops;
};

// Whether the vertices of a level are taken one after another.
bool is_loop(const Plan& plan, int level, bool listed) {
  if (level + 1 >= plan.levels() || plan.negates) return false;
  const Remembered& remembered = plan.remembered[static_cast<std::size_t>(level)];
  return listed || (level < plan.tail.start && remembered.leaves.empty() && !remembered.kept &&
                    !remembered.closes_soon);
}

Member member_of(std::uint32_t number, const Plan& plan, std::size_t place, bool listed) {
  Member found{number, place, {}};
  for (int level = 2; is_loop(plan, level, listed); ++level) {
    const Loop& loop = plan.loops[static_cast<std::size_t>(level)];
    found.loops.emplace_back(loop.set.number, loop.after, loop.before, loop.distinct);
  }
  return found;
}

// Of a row, as many classes are looked up to choose a plan; for more, its length is taken.
constexpr std::size_t kFewClasses = 8;

// Makes the branches of a forest.
class Arranging {
 public:
  Arranging(Forest& forest, std::span<const Member> members, std::span<const Plan> plans)
      : forest_(forest), members_(members), plans_(plans) {}

  // The branch of the members [first, last), which share all loops up to `level`, and those below it.
  void add(int level, std::size_t first, std::size_t last) {
    const std::size_t at = forest_.branches.size();
    forest_.branches.emplace_back();
    forest_.branches[at].level = level;
    forest_.branches[at].plan = members_[first].plan;
    forest_.branches[at].loop = plan(first).loops[static_cast<std::size_t>(level)];
    forest_.branches[at].grouped =
        static_cast<std::size_t>(level) < plan(first).shared.size() + 2 && level >= 2;
    for (std::size_t one = first; one < last; ++one) {
      add_bound(forest_.branches[at], one);
      forest_.branches[at].plans |= PlanBits{1} << one;
      forest_.branches[at].required.add(plan(one).needs[static_cast<std::size_t>(level)], PlanBits{1} << one);
    }
    const auto next = static_cast<std::size_t>(level) - 1;
    for (std::size_t one = first, end; one < last; one = end) {
      end = one + 1;
      while (end < last && members_[one].loops.size() > next && members_[end].loops.size() > next &&
             members_[one].loops[next] == members_[end].loops[next])
        ++end;
      if (end - one > 1)
        add(level + 1, one, end);
      else
        forest_.branches[at].own |= PlanBits{1} << one;
    }
    forest_.branches[at].end = forest_.branches.size();
  }

 private:
  void add_bound(Branch& branch, std::size_t member) const {
    const Step& own = plan(member).steps[static_cast<std::size_t>(branch.level)];
    const Bound bound{PlanBits{1} << member, own.after & ~branch.loop.after,
                      own.before & ~branch.loop.before};
    if ((bound.after | bound.before) == 0) return;
    for (Bound& one : branch.bounds)
      if (one.after == bound.after && one.before == bound.before) {
        one.plans |= bound.plans;
        return;
      }
    branch.bounds.push_back(bound);
  }

  const Plan& plan(std::size_t member) const { return plans_[members_[member].plan]; }

  Forest& forest_;
  std::span<const Member> members_;
  std::span<const Plan> plans_;
};

// Finds the plans whose matches are counted as sums, if there are enough.
void add_quotients(Forest& forest, const Gate& gate, std::span<const Plan> plans,
                   const std::vector<bool>& listed, const Graph& graph) {
  const auto may_be_summed = [&](std::uint32_t number) {
    const Plan& plan = plans[number];
    return !listed[plan.pattern] && !plan.replaces_last && Quotients::may_have(plan);
  };
  const auto always = [&](std::uint32_t number) { return plans[number].always_sums; };
  if (std::ranges::count_if(forest.plans, may_be_summed) < kFewestSums &&
      std::ranges::none_of(forest.plans, always))
    return;
  Quotients quotients(graph.relations(), graph.directed(), gate.first, gate.second, gate.edge);
  const auto bit_of = [&](std::uint32_t plan) {
    const auto at = std::ranges::find(forest.plans, plan);
    return at == forest.plans.end() ? PlanBits{0} : PlanBits{1} << (at - forest.plans.begin());
  };
  for (const std::uint32_t number : forest.plans) {
    const Plan& plan = plans[number];
    // Of two plans for a place, both must be in this forest.
    const PlanBits other = plan.is_replaced ? bit_of(number + 1) : 0;
    if (!may_be_summed(number) || (plan.is_replaced && other == 0)) {
      quotients.skip();
    } else if (quotients.add(plan)) {
      forest.summed |= bit_of(number);
      forest.spared |= other;
      forest.always_sums |= plan.always_sums;
    }
  }
  if (forest.summed != 0) forest.quotients.emplace(std::move(quotients));
}

Forest forest_of(std::uint32_t first, std::span<const Member> members, std::span<const Plan> plans,
                 const std::vector<bool>& listed, const Gate& gate, const Graph& graph) {
  Forest forest;
  forest.first = first;
  for (const Member& member : members) {
    const PlanBits bit = PlanBits{1} << forest.plans.size();
    const Plan& plan = plans[member.plan];
    forest.plans.push_back(member.plan);
    if (listed[plan.pattern]) forest.listed |= bit;
    if (plan.is_replaced || plan.replaces_last) forest.paired |= bit;
    if (plan.steps[0].allowed != kNone || plan.steps[1].allowed != kNone || plan.pair.size() != 1 ||
        plan.negates || !graph.relations().one_witness(plan.pair[0].relation))
      forest.checked |= bit;
    for (std::size_t end : {0, 1}) forest.ends[end].add(plan.needs[end], bit);
  }
  Arranging(forest, members, plans).add(1, 0, members.size());
  add_quotients(forest, gate, plans, listed, graph);
  return forest;
}

}  // namespace

void Required::add(const Needs& needs, PlanBits plan) {
  all_.out |= needs.out;
  all_.in |= needs.in;
  is_split_ = is_split_ || (all_.columns != 0 && needs.columns != 0 && all_.word != needs.word);
  if (needs.columns != 0) all_.word = needs.word;
  all_.columns |= needs.columns;
  for (Part& part : parts_)
    if (part.needs == needs) {
      part.plans |= plan;
      return;
    }
  parts_.push_back({needs, plan});
}

void arrange(Gate& gate, std::span<const Plan> plans, const std::vector<bool>& listed, const Graph& graph) {
  std::vector<Member> members;
  std::map<std::uint32_t, std::size_t> places;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> place_of_group;
  const auto place_of = [&](const Plan& plan) {
    if (!listed[plan.pattern]) return std::size_t{0};
    if (plan.group == kNoNumber) return places[plan.pattern]++;
    const auto [known, fresh] = place_of_group.try_emplace({plan.pattern, plan.group}, places[plan.pattern]);
    if (fresh) ++places[plan.pattern];
    return known->second;
  };
  std::ranges::sort(gate.plans);
  for (std::uint32_t number : gate.plans) {
    const Plan& plan = plans[number];
    members.push_back(member_of(number, plan, place_of(plan), listed[plan.pattern]));
  }
  std::ranges::stable_sort(members, {}, [](const Member& one) { return std::tie(one.place, one.loops); });
  gate.forests.clear();
  for (std::size_t at = 0; at < members.size(); ++at) gate.plans[at] = members[at].plan;
  for (std::size_t first = 0, last; first < members.size(); first = last) {
    last = first + 1;
    while (last < members.size() && last - first < kMostPlans && members[last].place == members[first].place)
      ++last;
    gate.forests.push_back(forest_of(static_cast<std::uint32_t>(first),
                                     std::span(members).subspan(first, last - first), plans, listed, gate,
                                     graph));
  }
}

double search_cost(const Graph& graph, const Plan& plan, const Edge& edge) {
  const Source& from = plan.steps[2].sources[0];
  const Vertex vertex = from.level == 0 ? edge.source : edge.target;
  const Target& target = graph.relations().target(from.target);
  std::size_t size = 0;
  const auto add = [&](const Rows& rows) {
    if (target.everything || target.classes.size() > kFewClasses)
      size += rows.degree(vertex);
    else
      for (Class of : target.classes) size += rows.of_class(vertex, of).size();
  };
  if (from.way != Way::kIn || !graph.directed()) add(graph.rows(Way::kOut));
  if (from.way != Way::kOut && graph.directed()) add(graph.rows(Way::kIn));
  return plan.row_cost * static_cast<double>(size);
}

}  // namespace motiflux::dynamic
