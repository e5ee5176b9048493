#include "search/clique_tail.hpp"

namespace motiflux::search {
namespace {

// Whether `level` intersects just the set of the level before with the row of that level's vertex.
bool narrows(const NativePlan& native_plan, int level, std::uint16_t adjacency) {
  const view::Plan& plan = native_plan.plan;
  const view::StepShape &step = plan.shape.steps[level], &first = plan.shape.steps[plan.shape.levels - 3];
  const std::uint32_t before = (std::uint32_t{1} << (plan.shape.levels - 3)) - 1;  // levels before the three
  return step.reuse == level - 1 && step.source_count == 1 && step.anchor == level - 1 &&
         plan.shape.sources[step.first_source].level == level - 1 &&
         plan.args.adjacency[step.first_source] == adjacency &&
         (step.distinct | step.not_out | step.not_in) == 0 && (step.after & before & ~first.after) == 0 &&
         (step.before & before & ~first.before) == 0;
}

// Whether `level` takes a greater vertex than the level before.
bool ascends(const view::StepShape& step, int level) {
  return (step.after >> (level - 1) & 1) != 0;
}

}  // namespace

std::optional<int> CliqueTail::first_level(const NativePlan& native_plan) {
  const view::PlanShape& shape = native_plan.plan.shape;
  const int last = static_cast<int>(shape.levels) - 1, first = last - 2;
  if (first < 2 || native_plan.vertices > kMostValues) return std::nullopt;
  const bool counts_last =
      native_plan.tail.start == last && native_plan.tail.blocks[0].components.size() == 1;
  if (native_plan.tail.start <= last && !counts_last) return std::nullopt;
  const view::StepShape &opening = shape.steps[first], &middle = shape.steps[last - 1],
                        &end = shape.steps[last];
  if (opening.anchor != first - 1 || (opening.distinct | opening.not_out | opening.not_in) != 0)
    return std::nullopt;
  const std::uint16_t adjacency = native_plan.plan.args.adjacency[middle.first_source];
  if (middle.source_count == 0 || !narrows(native_plan, last - 1, adjacency) ||
      !narrows(native_plan, last, adjacency))
    return std::nullopt;
  // Either all three ascend, or none is compared with another.
  const std::uint32_t three = std::uint32_t{7} << first;
  if (((middle.before | end.before) & three) != 0) return std::nullopt;
  const bool some = ((middle.after | end.after) & three) != 0;
  if (some && !(ascends(middle, last - 1) && ascends(end, last))) return std::nullopt;
  // One bound on degrees serves both levels that are bounded.
  const view::StepArgs &a = native_plan.plan.args.steps[first], &b = native_plan.plan.args.steps[last - 1];
  const bool alike = opening.bounds_out == middle.bounds_out && opening.bounds_in == middle.bounds_in &&
                     a.min_out_degree == b.min_out_degree && a.min_in_degree == b.min_in_degree;
  if (!alike) return std::nullopt;
  return first;
}

}  // namespace motiflux::search
