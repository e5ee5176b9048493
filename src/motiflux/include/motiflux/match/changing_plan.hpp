// Plans of searches that start from updates: a table in device memory, so that one launch serves all patterns
// and places of a run. The policy reads the plan of the root that a group is at.
//
// Plans that share their first levels (coalesced search, GAMMA V-B) are searched together: by a plan of the
// shared levels, then by a fork, a level whose candidates are the numbers of roots, one for each plan, and
// then by the later levels of the root's own plan.
//
//   level            0  1  2  3 | fork     | 5  6
//   shared plan      v  v  v  v | a root   |
//   its own plan                |          | v  v        one number higher than without a fork
#pragma once

#include "motiflux/match/plan_policy.hpp"
#include "motiflux/sets/span.hpp"
#include "motiflux/view/changing.hpp"
#if defined(MOTIFLUX_VERSIONS)
#include "motiflux/view/versions.hpp"
#endif

namespace motiflux::match {

#if defined(MOTIFLUX_VERSIONS)
using PlanRows = view::TargetVersions;
using SearchMoment = std::uint64_t;
#else
using PlanRows = view::ChangingRows;
using SearchMoment = std::uint32_t;
#endif

struct ChangingSource {
  std::uint16_t level;
  std::uint16_t hidden;  // whether the changed edge itself is not seen (homomorphism: the position rule)
  std::uint32_t rows;    // into ChangingPlans::rows
};

// Levels of a tail that share one set: the number of ways to take them follows from its size.
struct TailPart {
  std::uint8_t level;                // any of them
  std::uint8_t levels;               // how many
  std::uint8_t first_chain, chains;  // sizes of groups of mutually ordered levels
};

inline constexpr std::uint32_t kNoColumn = ~std::uint32_t{0};

struct ChangingPlan {
  std::uint32_t level_count;
  std::uint32_t tail_start;  // the first level of the tail, or level_count
  std::uint32_t part_count;
  std::uint16_t fork;       // the level at which plans that share levels go apart; 0: none
  std::uint16_t is_shared;  // whether this is a plan of shared levels, or the own plan of a root
  // Partial matches up to this level are pooled (match/pooled_plans.hpp); 0: none are. They are told apart by
  // the vertex of `pooled_by`, if it is a level beyond the pair, and go on by the plan `continuation`.
  std::uint16_t pooled_from;
  std::uint16_t pooled_by;
  std::uint32_t continuation;
  TailPart parts[view::kMaxLevels];
  std::uint8_t chains[view::kMaxLevels];
  view::StepShape shapes[view::kMaxLevels];
  std::uint32_t renewed[view::kMaxLevels];
  std::uint32_t candidate_columns[view::kMaxLevels];  // of the candidate table; kNoColumn: no test
  sets::Span allowed[view::kMaxLevels];               // the ids of a level's candidates; null: all
  ChangingSource sources[kMaxSources];
};

// An update and the place where a plan matches it.
struct UpdateRoot {
  std::uint32_t plan;
  std::uint32_t vertices[2];  // of levels 0 and 1
#if defined(MOTIFLUX_VERSIONS)
  std::uint32_t number;  // among the roots of its update
#endif
  SearchMoment moment;
  std::uint32_t slot;  // of the total that its matches are added to; if it shares levels, its own plan
#if defined(MOTIFLUX_VERSIONS)
  std::uint32_t listed;  // of a resident kernel: whether its matches are listed, their sign, kReadsBefore
#endif
};
#if defined(MOTIFLUX_VERSIONS)
// Of UpdateRoot::listed: rows are opened as they were before the update changed them. Entries live as at its
// moment, when those that it deletes still do.
inline constexpr std::uint32_t kReadsBefore = 4;
#endif

// The roots that share levels with a root, itself included: numbers[first .. first + count).
struct SharingRoots {
  std::uint32_t first, count;
};

// How long the groups of a launch had work (match/busy_clock.hpp). Zero before a launch; all in cycles, but
// for `groups`.
struct Utilisation {
  std::uint64_t busy;     // of all groups together
  std::uint64_t longest;  // from the begin of a group to its end
  std::uint64_t groups;
};

class SelectedPlan;

struct ChangingPlans {
  static constexpr bool kChanging = true;
  static constexpr bool kForks = false;
  static constexpr bool kFiltered = false;  // match/filtered_plans.hpp
  static constexpr bool kInBits = false;
  static constexpr bool kPools = false;  // match/pooled_plans.hpp
  using Held = SelectedPlan;

  const ChangingPlan* plans;
  const PlanRows* rows;
  const UpdateRoot* roots;
  std::uint64_t* totals;            // 128 bits each, by slot
  const view::RowBitmaps* bitmaps;  // of each of `rows`; for ChangingPlansInBits only
  std::uint32_t most_levels;        // of any plan
  std::uint32_t columns;            // of a row that is listed: the root's number, then vertices by level
  Utilisation* utilisation;         // of kernels that measure it
  // Of kernels that share levels:
  const SharingRoots* sharing;   // by root
  const std::uint32_t* numbers;  // of roots
  // A bit for each vertex and column: candidate_bytes for each vertex. Null if plans are not filtered.
  const std::uint8_t* candidates;
  std::uint32_t candidate_bytes;
  // From a plan to the next one, of plans without what none of them uses (streaming/search_tables.hpp); 0:
  // all of a ChangingPlan.
  std::uint32_t plan_bytes;

  MOTIFLUX_DEVICE std::uint32_t levels() const { return most_levels; }
  MOTIFLUX_DEVICE const ChangingPlan* plan(std::uint32_t number) const {
#if defined(MOTIFLUX_VERSIONS)
    if (plan_bytes != 0)
      return reinterpret_cast<const ChangingPlan*>(reinterpret_cast<const unsigned char*>(plans) +
                                                   std::uint64_t{number} * plan_bytes);
#endif
    return plans + number;
  }
};

// The same, and plans may share levels.
struct CoalescedPlans : ChangingPlans {
  static constexpr bool kForks = true;
};

// The same where candidates are looked up in bitmaps of rows.
struct ChangingPlansInBits : ChangingPlans {
  static constexpr bool kInBits = true;
};

struct ChangingSourceRows {
  PlanRows rows;
  const view::RowBitmaps* bitmaps;
  std::uint32_t level;
  bool hidden;
#if defined(MOTIFLUX_VERSIONS)
  SearchMoment moment;
  const UpdateRoot* root;
#endif
};

// The plan of the root that a group searches from.
class SelectedPlan {
 public:
  explicit MOTIFLUX_DEVICE SelectedPlan(const ChangingPlans& all) : all_(all) {}

  struct Step {
    const SelectedPlan& selected;
    std::uint32_t level;

    MOTIFLUX_DEVICE const view::StepShape& shape() const { return selected.plan_->shapes[level]; }
    MOTIFLUX_DEVICE std::uint32_t renews() const { return selected.plan_->renewed[level]; }
    MOTIFLUX_DEVICE sets::Span allowed() const { return selected.plan_->allowed[level]; }
    MOTIFLUX_DEVICE SearchMoment moment() const { return selected.moment_; }
    MOTIFLUX_DEVICE ChangingSourceRows source(std::uint32_t i) const {
      const ChangingSource& source = selected.plan_->sources[shape().first_source + i];
      return {selected.all_.rows[source.rows],
              selected.all_.bitmaps + source.rows,
              source.level,
              source.hidden != 0,
#if defined(MOTIFLUX_VERSIONS)
              selected.moment_,
              selected.root_
#endif
      };
    }
  };

  template <class Use>
  MOTIFLUX_DEVICE auto at(std::uint32_t level, Use&& use) const {
    return use(Step{*this, level});
  }

  MOTIFLUX_DEVICE const UpdateRoot& root(std::uint32_t number) const { return all_.roots[number]; }
  MOTIFLUX_DEVICE std::uint32_t columns() const { return all_.columns; }
  MOTIFLUX_DEVICE Utilisation& utilisation() const { return *all_.utilisation; }
  MOTIFLUX_DEVICE std::uint32_t levels() const { return plan_->level_count; }
  // The levels from here on are counted in closed form.
  MOTIFLUX_DEVICE std::uint32_t tail_start() const { return plan_->tail_start; }
  // The levels from here on are not walked: those of the tail, or the last one.
  MOTIFLUX_DEVICE std::uint32_t counted_from() const {
    return plan_->tail_start < plan_->level_count ? plan_->tail_start : plan_->level_count - 1;
  }
  MOTIFLUX_DEVICE std::uint32_t parts() const { return plan_->part_count; }
  MOTIFLUX_DEVICE const TailPart& part(std::uint32_t number) const { return plan_->parts[number]; }
  MOTIFLUX_DEVICE const std::uint8_t* chains(const TailPart& part) const {
    return plan_->chains + part.first_chain;
  }
  // Of the root; valid once one was selected.
  MOTIFLUX_DEVICE std::uint32_t slot() const { return slot_; }
  MOTIFLUX_DEVICE std::uint64_t* total() const { return all_.totals + std::uint64_t{2} * slot_; }

  MOTIFLUX_DEVICE void select(std::uint32_t number) {
    const UpdateRoot& root = all_.roots[number];
    plan_ = all_.plan(root.plan);
    moment_ = root.moment;
    slot_ = root.slot;
#if defined(MOTIFLUX_VERSIONS)
    root_ = &root;
#endif
  }

  // Whether this level's candidates are roots.
  MOTIFLUX_DEVICE bool forks_at(std::uint32_t level) const {
    return plan_->is_shared != 0 && level == plan_->fork;
  }
  // Whether a level is one that is shared, or the fork, although a root's own plan is selected.
  MOTIFLUX_DEVICE bool left_fork(std::uint32_t level) const {
    return plan_->is_shared == 0 && level <= plan_->fork;
  }
  // Whether a level is searched by the root's own plan.
  MOTIFLUX_DEVICE bool is_beyond_fork(std::uint32_t level) const {
    return plan_->fork != 0 && level > plan_->fork;
  }
  MOTIFLUX_DEVICE std::uint32_t fork() const { return plan_->fork; }
  MOTIFLUX_DEVICE sets::Span sharing(std::uint32_t number) const {
    const SharingRoots roots = all_.sharing[number];
    return {all_.numbers + roots.first, all_.numbers + roots.first + roots.count};
  }
  // The own plan of a root that shares levels.
  MOTIFLUX_DEVICE const ChangingPlan& own(std::uint32_t number) const {
    return all_.plans[all_.roots[number].slot];
  }
  MOTIFLUX_DEVICE void select_own(std::uint32_t number) { plan_ = &own(number); }
  // The level of a query vertex that has this level in a plan without a fork.
  MOTIFLUX_DEVICE std::uint32_t with_fork(std::uint32_t level) const {
    return plan_->fork != 0 && level >= plan_->fork ? level + 1 : level;
  }

 protected:
  const ChangingPlans& all_;
  const ChangingPlan* plan_ = nullptr;
  SearchMoment moment_ = 0;
#if defined(MOTIFLUX_VERSIONS)
  const UpdateRoot* root_ = nullptr;
#endif
  std::uint32_t slot_ = ~std::uint32_t{0};
};

}  // namespace motiflux::match
