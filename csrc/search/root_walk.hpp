// What searches that begin with the copies, or the pairs, of one root edge have in common: the units of an
// item that are left, and how much work was done (search/copy_walker.hpp, pair_walker.hpp, wedge_walker.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "search/native_plan.hpp"
#include "search/pool.hpp"
#include "search/visitor.hpp"

namespace motiflux::search {

class RootWalk {
 public:
  std::uint64_t arcs_done() const { return arcs_done_; }
  void share(Pool& pool) { pool_ = &pool; }

  // In units of what a Walker does for a candidate.
  std::uint64_t work() const {
    return spent_ + static_cast<std::uint64_t>(native_plan_.check_every - budget_);
  }

 protected:
  RootWalk(const NativePlan& native_plan, Visitor& visitor)
      : native_plan_(native_plan), visitor_(visitor), budget_(native_plan.check_every) {}

  void begin_item(const WorkItem& item) {
    arcs_done_ = item.arcs;
    next_ = item.from;
    last_ = item.to;
  }

  // Notes some work; false when stopped. Every few thousand units, asks whether to go on, and gives half of
  // the units left to other threads that wait.
  bool spend(std::size_t work) {
    budget_ -= static_cast<std::int64_t>(work);
    return budget_ > 0 || look_up();
  }

  const NativePlan& native_plan_;
  Visitor& visitor_;
  std::uint64_t next_ = 0;  // units left of the item
  std::uint64_t last_ = 0;
  bool may_share_ = true;  // whether the units left may be searched by another thread
  std::int64_t budget_;

 private:
  bool look_up();

  std::uint64_t arcs_done_ = 0;
  std::uint64_t spent_ = 0;
  Pool* pool_ = nullptr;
};

}  // namespace motiflux::search
