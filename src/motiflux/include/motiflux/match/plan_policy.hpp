// The plan of a search: run-time data, or constants known to the compiler.
//
// A search reads a step with plan.at(level, use), which calls use(step). A step has
//
//   step.shape()     view::StepShape; a constant under StaticPlan, so that code a step does not need is not
//                    compiled
//   step.bounds()    view::StepArgs
//   step.renews()    the levels whose set depends only on this level and earlier ones: recomputed
//                    when this level's vertex changes
//   step.source(i)   the rows of the step's i-th source and the level whose vertex picks the row
//
// `Held` is what a group of lanes keeps of the policy; `kChanging` says that searches start from updates and
// read rows of a changing graph (match/changing_plan.hpp); `kForks`, that several plans may share levels.
#pragma once

#include "motiflux/view/adjacency.hpp"
#include "motiflux/view/plan.hpp"

namespace motiflux::match {

inline constexpr std::uint32_t kMaxSources = 1024;  // the most edges of a pattern

struct SourceRows {
  view::Adjacency rows;
  std::uint32_t level;
};

// Any plan, as a kernel argument: 22 KB of constant memory. Compiled once; for cold queries.
struct RuntimePlan {
  static constexpr bool kChanging = false;
  static constexpr bool kForks = false;
  using Held = const RuntimePlan&;

  std::uint32_t level_count;
  view::StepShape shapes[view::kMaxLevels];
  view::StepArgs args[view::kMaxLevels];
  std::uint32_t renewed[view::kMaxLevels];
  std::uint16_t source_levels[kMaxSources];
  view::Adjacency rows[kMaxSources];

  struct Step {
    const RuntimePlan& plan;
    std::uint32_t level;

    MOTIFLUX_DEVICE const view::StepShape& shape() const { return plan.shapes[level]; }
    MOTIFLUX_DEVICE const view::StepArgs& bounds() const { return plan.args[level]; }
    MOTIFLUX_DEVICE std::uint32_t renews() const { return plan.renewed[level]; }
    MOTIFLUX_DEVICE SourceRows source(std::uint32_t i) const {
      const std::uint32_t place = shape().first_source + i;
      return {plan.rows[place], plan.source_levels[place]};
    }
  };

  MOTIFLUX_DEVICE std::uint32_t levels() const { return level_count; }

  template <class Use>
  MOTIFLUX_DEVICE auto at(std::uint32_t level, Use&& use) const {
    return use(Step{*this, level});
  }
};

// A plan whose shape is the type Shape:
//
//   struct Shape {
//     static constexpr std::uint32_t kLevels, kSources;
//     static constexpr view::StepShape kSteps[kLevels];
//     static constexpr std::uint32_t kRenewed[kLevels];
//     static constexpr std::uint32_t kSourceLevels[kSources];
//   };
//
// Labels, bounds and rows are arguments, so queries that differ only in these share one compilation.
template <class Shape>
struct StaticPlan {
  static constexpr bool kChanging = false;
  static constexpr bool kForks = false;
  using Held = const StaticPlan&;

  view::StepArgs args[Shape::kLevels];
  view::Adjacency rows[Shape::kSources];

  template <std::uint32_t Level>
  struct Step {
    const StaticPlan& plan;

    static constexpr view::StepShape kShape = Shape::kSteps[Level];
    static constexpr std::uint32_t kRenewed = Shape::kRenewed[Level];

    static MOTIFLUX_DEVICE constexpr view::StepShape shape() { return kShape; }
    MOTIFLUX_DEVICE const view::StepArgs& bounds() const { return plan.args[Level]; }
    static MOTIFLUX_DEVICE constexpr std::uint32_t renews() { return kRenewed; }
    MOTIFLUX_DEVICE SourceRows source(std::uint32_t i) const {
      if constexpr (kShape.source_count == 0)  // the set of an earlier level is the only set
        return {};
      else
        return choose<0>(i);
    }

   private:
    // A selection among constants: an array indexed at run time would be in local memory.
    template <std::uint32_t Candidate>
    MOTIFLUX_DEVICE SourceRows choose(std::uint32_t i) const {
      constexpr std::uint32_t kPlace = kShape.first_source + Candidate;
      if constexpr (Candidate + 1 < kShape.source_count)
        if (i != Candidate) return choose<Candidate + 1>(i);
      constexpr std::uint32_t kLevel = Shape::kSourceLevels[kPlace];
      return {plan.rows[kPlace], kLevel};
    }
  };

  static MOTIFLUX_DEVICE constexpr std::uint32_t levels() { return Shape::kLevels; }

  template <class Use>
  MOTIFLUX_DEVICE auto at(std::uint32_t level, Use&& use) const {
    return at_or_above<0>(level, use);
  }

 private:
  template <std::uint32_t Level, class Use>
  MOTIFLUX_DEVICE auto at_or_above(std::uint32_t level, Use& use) const {
    if constexpr (Level + 1 < Shape::kLevels)
      if (level != Level) return at_or_above<Level + 1>(level, use);
    return use(Step<Level>{*this});
  }
};

}  // namespace motiflux::match
