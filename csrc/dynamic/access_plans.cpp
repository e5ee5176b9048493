#include "dynamic/access_plans.hpp"

#include <algorithm>
#include <stdexcept>

#include "motiflux/bits.hpp"

namespace motiflux::dynamic {
namespace {

std::uint16_t number_of(const RowName& name, std::span<const RowName> names) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw std::invalid_argument("a plan reads rows that are not named");
  return static_cast<std::uint16_t>(found - names.begin());
}

// Adds the sets of an earlier level, as it keeps its set: within the order restrictions to levels up to its
// anchor, and without those of other vertices.
void add_reused(const AccessStep& reused, int anchor, AccessStep& step) {
  const std::uint32_t known = bits_below(static_cast<std::uint32_t>(anchor) + 1);
  for (const OpenedRow& one : reused.sets)
    if (std::ranges::find(step.sets, one) == step.sets.end()) step.sets.push_back(one);
  step.lists.insert(step.lists.end(), reused.lists.begin(), reused.lists.end());
  step.after |= reused.after & known;
  step.before |= reused.before & known;
}

}  // namespace

AccessPlan access_plan(const Plan& plan, bool listed, std::span<const RowName> names) {
  AccessPlan made;
  const auto levels = static_cast<std::size_t>(plan.levels());
  made.steps.resize(levels);
  made.opened_at.resize(levels);
  if (levels <= 2) return made;  // the changed edge is the match
  for (std::size_t level = 2; level < levels; ++level) {
    const Step& given = plan.steps[level];
    AccessStep& step = made.steps[level];
    for (const Source& source : given.sources)
      step.opened.push_back({number_of({source.target, source.way}, names),
                             static_cast<std::uint16_t>(source.level), source.before_change});
    step.sets = step.opened;
    step.after = given.after;
    step.before = given.before;
    step.distinct = given.distinct & bits_below(static_cast<std::uint32_t>(level));
    if (given.allowed != kNone) step.lists.push_back(given.allowed);
    if (given.reuse != kNone) {
      const auto reused = static_cast<std::size_t>(given.reuse);
      add_reused(made.steps[reused], plan.steps[reused].anchor, step);
    }
    if (level < plan.columns.size()) step.column = plan.columns[level];
  }
  std::size_t walked = levels;
  if (!listed) {
    const auto tail = static_cast<std::size_t>(plan.tail.start);
    walked = made.counted_from = std::min(tail, levels - 1);
    if (tail == levels)
      made.parts.push_back({levels - 1, 1});
    else
      for (const search::TailComponent& component : plan.tail.blocks[0].components)
        made.parts.push_back({static_cast<std::size_t>(component.levels[0]), component.levels.size()});
    made.deepest = walked - 1;
    // Levels of the tail are counted without the vertices that are matched.
    for (std::size_t level = walked; level < levels; ++level)
      made.steps[level].distinct &= bits_below(static_cast<std::uint32_t>(walked));
  }
  for (std::size_t level = 2; level < walked; ++level) {
    const auto anchor = static_cast<std::size_t>(std::max(plan.steps[level].anchor, 1));
    made.opened_at[anchor].push_back(level);
    made.deepest = std::max(made.deepest, anchor);
  }
  return made;
}

std::vector<bool> walked_names(std::span<const AccessPlan> plans, std::size_t names) {
  std::vector<bool> walked(names);
  for (const AccessPlan& plan : plans)
    for (std::size_t level = 2; level <= plan.deepest; ++level)
      for (const OpenedRow& one : plan.steps[level].sets) walked[one.name] = true;
  return walked;
}

}  // namespace motiflux::dynamic
