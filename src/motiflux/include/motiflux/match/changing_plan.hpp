// Plans of searches that start from updates: a table in device memory, so that one launch serves all patterns
// and places of a run. The policy reads the plan of the root that a group is at.
#pragma once

#include "motiflux/match/plan_policy.hpp"
#include "motiflux/sets/span.hpp"
#include "motiflux/view/changing.hpp"

namespace motiflux::match {

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

struct ChangingPlan {
  std::uint32_t level_count;
  std::uint32_t tail_start;  // the first level of the tail, or level_count
  std::uint32_t part_count;
  TailPart parts[view::kMaxLevels];
  std::uint8_t chains[view::kMaxLevels];
  view::StepShape shapes[view::kMaxLevels];
  std::uint32_t renewed[view::kMaxLevels];
  sets::Span allowed[view::kMaxLevels];  // the ids of a level's candidates; null: all
  ChangingSource sources[kMaxSources];
};

// An update and the place where a plan matches it.
struct UpdateRoot {
  std::uint32_t plan;
  std::uint32_t vertices[2];  // of levels 0 and 1
  std::uint32_t moment;
  std::uint32_t slot;  // of the total that its matches are added to
};

class SelectedPlan;

struct ChangingPlans {
  static constexpr bool kChanging = true;
  static constexpr bool kInBits = false;
  using Held = SelectedPlan;

  const ChangingPlan* plans;
  const view::ChangingRows* rows;
  const UpdateRoot* roots;
  std::uint64_t* totals;            // 128 bits each, by slot
  const view::RowBitmaps* bitmaps;  // of each of `rows`; for ChangingPlansInBits only
  std::uint32_t most_levels;        // of any plan
  std::uint32_t columns;            // of a row that is listed: the root's number, then vertices by level

  MOTIFLUX_DEVICE std::uint32_t levels() const { return most_levels; }
};

// The same where candidates are looked up in bitmaps of rows.
struct ChangingPlansInBits : ChangingPlans {
  static constexpr bool kInBits = true;
};

struct ChangingSourceRows {
  view::ChangingRows rows;
  const view::RowBitmaps* bitmaps;
  std::uint32_t level;
  bool hidden;
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
    MOTIFLUX_DEVICE std::uint32_t moment() const { return selected.moment_; }
    MOTIFLUX_DEVICE ChangingSourceRows source(std::uint32_t i) const {
      const ChangingSource& source = selected.plan_->sources[shape().first_source + i];
      return {selected.all_.rows[source.rows], selected.all_.bitmaps + source.rows, source.level,
              source.hidden != 0};
    }
  };

  template <class Use>
  MOTIFLUX_DEVICE auto at(std::uint32_t level, Use&& use) const {
    return use(Step{*this, level});
  }

  MOTIFLUX_DEVICE const UpdateRoot& root(std::uint32_t number) const { return all_.roots[number]; }
  MOTIFLUX_DEVICE std::uint32_t columns() const { return all_.columns; }
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
    plan_ = all_.plans + root.plan;
    moment_ = root.moment;
    slot_ = root.slot;
  }

 private:
  const ChangingPlans& all_;
  const ChangingPlan* plan_ = nullptr;
  std::uint32_t moment_ = 0;
  std::uint32_t slot_ = ~std::uint32_t{0};
};

}  // namespace motiflux::match
