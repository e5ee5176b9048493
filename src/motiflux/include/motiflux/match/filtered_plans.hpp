// Plans of searches that start from updates, with candidates tested by a table: a bit for each data vertex
// and query vertex (GAMMA, section IV-B; csrc/dynamic/candidate_table.hpp).
//
//   vertex v:   [ 7 6 5 4 3 2 1 0 | 15 14 ... ]   candidate_bytes bytes; the bit of a column, 8 to a byte
#pragma once

#include "motiflux/match/changing_plan.hpp"

namespace motiflux::match {

class FilteredPlan;

struct FilteredPlans : ChangingPlans {
  static constexpr bool kFiltered = true;
  using Held = FilteredPlan;
};

class FilteredPlan : public SelectedPlan {
 public:
  explicit MOTIFLUX_DEVICE FilteredPlan(const FilteredPlans& all) : SelectedPlan(all) {}

  struct Step : SelectedPlan::Step {
    const FilteredPlan& filtered;

    MOTIFLUX_DEVICE bool has_candidate(std::uint32_t vertex) const {
      const std::uint32_t column = filtered.plan_->candidate_columns[level];
      if (column == kNoColumn) return true;
      const std::uint8_t* bits =
          filtered.all_.candidates + std::uint64_t{vertex} * filtered.all_.candidate_bytes;
      return (bits[column / 8] >> column % 8 & 1) != 0;
    }
  };

  template <class Use>
  MOTIFLUX_DEVICE auto at(std::uint32_t level, Use&& use) const {
    return use(Step{{*this, level}, *this});
  }
};

}  // namespace motiflux::match
