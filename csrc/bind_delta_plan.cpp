#include "bind_delta_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "bind_checks.hpp"

namespace motiflux {
namespace {

dynamic::Way way_of(int number) {
  require(number >= 0 && number <= 2, "unknown way");
  return static_cast<dynamic::Way>(number);
}

dynamic::Step step_of(const delta_plan::Step& given, int level) {
  const auto& [sources, reuse, anchor, after, before, distinct, allowed] = given;
  require(reuse < level && anchor >= 0 && anchor < std::max(level, 1), "a step refers to a later level");
  require(((after | before | distinct) >> level) == 0, "a step compares itself with a later level");
  require(level < 2 || !sources.empty() || reuse >= 2 || allowed >= 0, "a step has no source");
  dynamic::Step step{{}, reuse, anchor, after, before, distinct, allowed};
  for (const auto& [from, way, target, relation, before_change] : sources) {
    require(from >= 0 && from < level, "a source is at a later level");
    step.sources.push_back({from, way_of(way), target, relation, before_change});
  }
  return step;
}

void share_levels(dynamic::Plan& plan, const delta_plan::Shared::value_type& given) {
  const auto& [group, steps] = given;
  require(steps.size() + 2 <= plan.steps.size(), "a plan shares more levels than it has");
  plan.group = group;
  for (const auto& [after, before, distinct] : steps) {
    const dynamic::Step& own = plan.steps[2 + plan.shared.size()];
    require((after & ~own.after) == 0 && (before & ~own.before) == 0 &&
                (own.distinct & ~(after | before | distinct)) == 0,
            "a shared level has other restrictions than its plan");
    require((distinct >> (2 + plan.shared.size())) == 0, "a step compares itself with a later level");
    plan.shared.push_back({{}, after, before, distinct});
  }
}

// Has the vertex of a level have no neighbours of a kind, which is judged at the last level that it depends
// on.
void make_bare(dynamic::Plan& plan, const delta_plan::Bare& given, int free_end) {
  const auto& [level, judged, way, target, relation, besides, before, allowed] = given;
  require(level >= 0 && level <= judged && judged < plan.levels() && level != free_end,
          "a plan has no such level");
  require(((besides >> judged) >> 1) == 0, "neighbours are judged before the levels that may be among them");
  const auto add = [&](std::vector<dynamic::Bareness>& all) {
    auto one = std::ranges::find(all, level, &dynamic::Bareness::level);
    if (one == all.end()) one = all.insert(one, {level, before, {}});
    one->kinds.push_back({way_of(way), target, relation, besides, allowed});
  };
  add(plan.steps[static_cast<std::size_t>(judged)].bare);
  if (level < judged) add(plan.steps[static_cast<std::size_t>(level)].few);
}

// Sets the other cases of the condition that the plan's pattern is one case of.
void set_cases(dynamic::Plan& plan, const delta_plan::Cases& given) {
  const auto& [others, ascending] = given;
  const auto is_level = [&](int level) {
    return level >= 0 && level < plan.levels() && level != plan.free_end;
  };
  const auto joined_of = [&](const std::vector<delta_plan::Joined>& edges) {
    std::vector<dynamic::Joined> found;
    for (const auto& [first, second, way, relation] : edges) {
      require(is_level(first) && is_level(second), "a case names an unknown level");
      found.push_back({first, second, way_of(way), relation});
    }
    return found;
  };
  for (const auto& [there, absent] : others) plan.others.push_back({joined_of(there), joined_of(absent)});
  for (const auto& [first, second] : ascending)
    require(is_level(first) && is_level(second), "an order names an unknown level");
  plan.ascending = ascending;
  plan.selects = !others.empty() || !ascending.empty();
}

// Sets the edges that must not be there. What plans share or remember does not know of these.
void negate(dynamic::Plan& plan, const delta_plan::Negated& given) {
  const auto& [inverse, pair, absent, bare, free_end, cases] = given;
  require(plan.shared.empty() && plan.symmetries == 0 && plan.tail.start == plan.levels(),
          "a plan with negated edges is searched by itself");
  plan.negates = true;
  plan.inverse = inverse;
  for (const auto& [way, relation] : pair) plan.pair_absent.push_back({way_of(way), relation});
  require(!inverse || !plan.pair_absent.empty(), "an inverse plan starts from a negated edge");
  for (const auto& [level, earlier, way, relation, before] : absent) {
    require(level >= 2 && level < plan.levels() && earlier >= 0 && earlier < level,
            "a negated edge is between a level and an earlier one");
    dynamic::Step& step = plan.steps[static_cast<std::size_t>(level)];
    step.absent.push_back({earlier, way_of(way), relation, before});
  }
  for (const delta_plan::Bare& one : bare) make_bare(plan, one, free_end);
  set_cases(plan, cases);
  for (const dynamic::Step& step : plan.steps)
    require(step.reuse == dynamic::kNone, "a plan with negated edges reuses no set");
}

dynamic::Plan plan_of(const delta_plan::Plan& given) {
  const auto& [pair, first, second, steps, tail, images, multiplier, choice, orbits, shared, negated,
               tallied] = given;
  const auto levels = static_cast<int>(steps.size());
  const int free_end = negated ? std::get<4>(*negated) : dynamic::kNone;
  require(levels >= 2 && levels <= view::kMaxLevels, "a plan has 2 to 32 levels");
  require(free_end >= dynamic::kNone && free_end < 2 && (free_end == dynamic::kNone || levels > 2),
          "a free end is one of the pair");
  dynamic::Plan plan;
  plan.free_end = free_end;
  for (const auto& [way, relation] : pair) plan.pair.push_back({way_of(way), relation});
  require(!pair.empty() || negated, "a plan starts from a pair");
  plan.first.codes = first;
  plan.second.codes = second;
  for (int level = 0; level < levels; ++level)
    plan.steps.push_back(step_of(steps[static_cast<std::size_t>(level)], level));
  const auto& [start, components] = tail;
  require(start >= 2 && start <= levels, "a tail starts at level 2 or later");
  plan.tail.start = start;
  plan.tail.blocks.emplace_back();
  for (const auto& [members, sets, chains] : components) {
    require(members.size() == sets.size() && !members.empty(), "a malformed tail component");
    for (std::size_t at = 0; at < members.size(); ++at)
      require(
          members[at] >= start && members[at] < levels && sets[at] >= 0 && sets[at] < search::kMostTailSets,
          "a malformed tail component");
    plan.tail.blocks[0].components.push_back({members, sets, chains, {}});
  }
  const std::size_t width = steps.size() - (free_end == dynamic::kNone ? 0 : 1);
  for (const auto& image : images) {
    require(image.size() == width, "an image names a level for each query vertex");
    for (std::uint8_t level : image)
      require(level < levels && level != free_end, "an image names an unknown level");
  }
  plan.images = images;
  plan.multiplier = multiplier;
  std::tie(plan.row_cost, plan.replaces_last, plan.symmetries, plan.always_sums, plan.injective) = choice;
  for (const auto& [point, reached] : orbits) {
    require(point < width && !reached.empty(), "an orbit names an unknown query vertex");
    dynamic::Orbit orbit{point, {}};
    for (const auto& [vertex, moves] : reached) {
      require(vertex < width && moves.size() == width, "a malformed orbit");
      for (std::uint8_t other : moves) require(other < width, "a malformed orbit");
      orbit.images.push_back({vertex, moves});
    }
    plan.orbits.push_back(std::move(orbit));
  }
  for (const auto& [level, weight] : tallied) {
    require(level >= 0 && level < start && level < levels && level != free_end, "no such level is matched");
    require(plan.tallied_level() == dynamic::kNone, "a tallied level after the pair is the last one");
    plan.tallied.push_back({level, weight});
  }
  if (shared) share_levels(plan, *shared);
  if (negated) negate(plan, *negated);
  return plan;
}

}  // namespace

std::vector<dynamic::Plan> plans_of(const std::vector<PyPlan>& given) {
  std::vector<dynamic::Plan> plans;
  for (const PyPlan& plan : given) {
    plans.push_back(plan_of(plan));
    if (!plans.back().replaces_last) continue;
    require(plans.size() > 1 && !plans[plans.size() - 2].replaces_last, "a plan replaces no other one");
    plans[plans.size() - 2].is_replaced = true;
  }
  return plans;
}

}  // namespace motiflux
