// The matched vertices of a group of lanes, and the candidates of its levels.
#pragma once

#include "motiflux/lanes/group.hpp"
#include "motiflux/match/extend.hpp"
#if defined(MOTIFLUX_TWO_PARTS)
#include "motiflux/match/two_part_sets.hpp"
#elif !defined(MOTIFLUX_VERSIONS)
#include "motiflux/match/lookup_in_bits.hpp"
#endif
#include "motiflux/match/plan_policy.hpp"
#include "motiflux/match/task.hpp"
#include "motiflux/match/timed_sets.hpp"

namespace motiflux::match {

// Steps between checks of the stop flag: some tens of microseconds.
inline constexpr std::int32_t kBudget = 2048;

template <class Plan, class Lanes>
class Levels {
 public:
  using Group = Lanes;
  using Plans = Plan;
  static constexpr bool kChanging = Plan::kChanging;
  static constexpr bool kForks = Plan::kForks;
  static constexpr bool kPools = requires { requires Plan::kPools; };

  MOTIFLUX_DEVICE Levels(const Plan& plan, const Task& task, unsigned char* shared_memory, std::uint32_t last)
      : plan_(plan),
        task_(task),
        shared_(shared_memory + lanes_.in_block() * task.shared_bytes, plan.levels(), task.max_spans),
        last_(last) {}

  MOTIFLUX_DEVICE const Lanes& lanes() const { return lanes_; }
  MOTIFLUX_DEVICE const typename Plan::Held& plan() const { return plan_; }
  // Where numbers that are too large to be kept are added, of searches from updates.
  MOTIFLUX_DEVICE std::uint64_t* total() const { return plan_.total(); }
  MOTIFLUX_DEVICE const Task& task() const { return task_; }
  MOTIFLUX_DEVICE const SharedState& shared() const { return shared_; }
  MOTIFLUX_DEVICE std::uint32_t last() const { return last_; }
  MOTIFLUX_DEVICE Cursor& cursor() { return cursor_; }
  MOTIFLUX_DEVICE std::uint32_t vertex(std::uint32_t level) const { return shared_.levels[level].vertex; }
  MOTIFLUX_DEVICE auto vertices() const {
    return [levels = shared_.levels](std::uint32_t level) { return levels[level].vertex; };
  }

  // Whether a candidate passes all rules of a level.
  template <class Step>
  MOTIFLUX_DEVICE bool accepts(const Step& step, std::uint32_t candidate) const {
    if constexpr (Plan::kChanging) {  // plans of updates bound no degrees and are not induced
      if (!rules::is_distinct(step.shape().distinct, candidate, vertices())) return false;
      if constexpr (Plan::kFiltered) return step.has_candidate(candidate);
      return true;
    } else {
      return rules::accepts(step.shape(), step.bounds(), task_.out, task_.in, candidate, vertices());
    }
  }

  // The same for level 1, whose candidates come only from the row of its first source.
  template <class Step>
  MOTIFLUX_DEVICE bool accepts_first(const Step& step, std::uint32_t candidate) const {
    const std::uint32_t root = vertex(0);
    for (std::uint32_t s = 1; s < step.shape().source_count; ++s) {
      const view::Adjacency rows = step.source(s).rows;
      if (!sets::contains(sets::Span{rows.begin(root), rows.end(root)}, candidate)) return false;
    }
    return accepts(step, candidate);
  }

  template <class Step>
  MOTIFLUX_DEVICE bool accepts_at(std::uint32_t level, const Step& step, std::uint32_t candidate) const {
    if constexpr (Plan::kChanging)
      return accepts(step, candidate);
    else
      return level == 1 ? accepts_first(step, candidate) : accepts(step, candidate);
  }

  // Whether the vertices of the shared levels pass what the own plan of a root requires beyond the shared
  // one.
  MOTIFLUX_DEVICE bool accepts_own(std::uint32_t number) const {
    const ChangingPlan& own = plan_.own(number);
    bool passes = true;
    for (std::uint32_t level = 2; level < own.fork; ++level) {
      const view::StepShape& shape = own.shapes[level];
      const rules::Bounds allowed = bounds(shape.after, shape.before);
      const std::uint32_t mine = vertex(level);
      passes = passes && mine >= allowed.first && mine < allowed.end;
    }
    return passes;
  }

  // A bit for each lane whose candidate of the strip that starts at `first` passes all rules of a level.
  MOTIFLUX_DEVICE std::uint32_t judge(std::uint32_t level, const Cursor& walk, std::uint32_t first) const {
    const std::uint32_t mine = first + lanes_.lane();
    if constexpr (Plan::kForks)
      if (plan_.forks_at(level)) return lanes_.ballot(mine < walk.end && accepts_own(walk.base[mine]));
    return lanes_.ballot(plan_.at(level, [&](const auto& step) {
      return mine < walk.end && accepts_at(level, step, walk.base[mine]);
    }));
  }

  // The sets of a step, within bounds.
  template <class Step>
  MOTIFLUX_DEVICE auto gathered(const Step& step, const rules::Bounds& allowed) {
    if constexpr (Plan::kChanging) {
      TimedSets sets = gather_timed<Plan::kInBits>(lanes_, shared_, step, allowed);
#if defined(MOTIFLUX_TWO_PARTS)
      sets.spare = memory() + task_.buffer_at[1];
#endif
#if defined(MOTIFLUX_STAGED_ROWS)
      spend(stage_sets(lanes_, reinterpret_cast<TimedSpan*>(shared_.spans), sets.count, sets.driver,
                       {memory() + task_.buffer_at[0], task_.group_words - task_.buffer_at[0]}));
#endif
      return sets;
    } else {
      return gather(lanes_, shared_, step, allowed);
    }
  }

  // The level's set, within the order restrictions of kept sets; computed if it is not valid.
  template <class Step>
  MOTIFLUX_DEVICE sets::Span base(std::uint32_t level, const Step& step) {
    LevelState& state = shared_.levels[level];
    if ((place_.valid >> level & 1) == 0) {
      const std::uint32_t known = bits_below(static_cast<std::uint32_t>(step.shape().anchor) + 1);
      const auto sets = gathered(step, bounds(step.shape().after & known, step.shape().before & known));
      const std::uint32_t* set = sets.shortest().first;
      std::uint32_t size = static_cast<std::uint32_t>(sets.shortest().size());
      if (!sets.is_set()) {
        spend(size / Lanes::kLanes);
        set = buffer(level);
        size = intersect(lanes_, sets, buffer(level));
      }
#if defined(MOTIFLUX_STAGED_ROWS)
      if constexpr (kChanging) {
        if (sets.is_set() && level < last_ && size > kWordsOfLine && sets.spans[0].on_host) {
          spend(lines_of(size));
          copy_lines(lanes_, sets.shortest(), buffer(level));  // the level is walked, from here
          set = buffer(level);
          lanes_.sync();
        }
      }
#endif
      if (lanes_.leads()) {
        state.base = set;
        state.base_size = size;
      }
      place_.valid |= std::uint32_t{1} << level;
      lanes_.sync();
    }
    return {state.base, state.base + state.base_size};
  }

  // The level's candidates: its set within all order restrictions.
  template <class Step>
  MOTIFLUX_DEVICE sets::Span candidates(std::uint32_t level, const Step& step) {
    const std::uint32_t later = ~bits_below(static_cast<std::uint32_t>(step.shape().anchor) + 1);
    const sets::Span kept = base(level, step);
    return rules::clip(kept, bounds(step.shape().after & later, step.shape().before & later));
  }

  // The start of the group's memory.
  MOTIFLUX_DEVICE std::uint32_t* memory() const {
    return task_.buffers + lanes_.in_grid() * task_.group_words;
  }

  // The group's memory for the set of a level.
  MOTIFLUX_DEVICE std::uint32_t* buffer(std::uint32_t level) const {
    return memory() + task_.buffer_at[level];
  }

  MOTIFLUX_DEVICE rules::Bounds bounds(std::uint32_t after, std::uint32_t before) const {
    return rules::bounds(after, before, vertices());
  }

  // The number of the update root, of searches that start from updates: kept with level 0, whose set is not
  // needed.
  MOTIFLUX_DEVICE std::uint32_t root() const { return shared_.levels[0].base_size; }

  MOTIFLUX_DEVICE void spend(std::uint64_t steps) {
    const std::int32_t turns = steps < kBudget ? static_cast<std::int32_t>(steps) : kBudget;
    budget_ -= turns;
    if (turns_to_check_ > 0) turns_to_check_ -= turns;
  }

  // Whether it is time to report and to check the stop flag; resets the budget if so.
  MOTIFLUX_DEVICE bool exhausted() {
    if (--budget_ > 0) return false;
    budget_ = kBudget;
    return true;
  }

 protected:
  // Has the plan of the root that shared memory names.
  MOTIFLUX_DEVICE void select_root() {
    if constexpr (Plan::kChanging) {
      plan_.select(root());
      last_ = plan_.levels() - 1;
    }
  }

  // Has the own plan of a root, a candidate of the fork.
  MOTIFLUX_DEVICE void select_own(std::uint32_t number) {
    lanes_.sync();  // no lane reads the old root any more
    if (lanes_.leads()) shared_.levels[0].base_size = number;
    lanes_.sync();
    plan_.select_own(number);
    last_ = plan_.levels() - 1;
  }

  typename Plan::Held plan_;
  const Task& task_;
  Lanes lanes_;
  SharedState shared_;
  std::uint32_t last_;
  Place place_{};
  Cursor cursor_{};
  std::int32_t budget_ = kBudget;
  std::int32_t turns_to_check_ = kCheckTurns;
};

}  // namespace motiflux::match
