#include "search/root_walk.hpp"

namespace motiflux::search {

bool RootWalk::look_up() {
  spent_ += static_cast<std::uint64_t>(native_plan_.check_every - budget_);
  budget_ = native_plan_.check_every;
  if (pool_ && may_share_ && pool_->wants_work(work()) && last_ - next_ > 1) {
    // One stays where all are handed back: so each item makes progress.
    const std::uint64_t kept = pool_->hands_back() ? 1 : (last_ - next_) / 2;
    const std::uint64_t middle = next_ + kept, given = last_ - middle;
    arcs_done_ -= given;
    pool_->add({.level = 0, .from = middle, .to = last_, .arcs = given});
    last_ = middle;
  }
  return visitor_.keep_going();
}

}  // namespace motiflux::search
