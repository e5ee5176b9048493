#include "common/team.hpp"

#include <algorithm>

namespace motiflux {

void Team::run() {
  guarded(0);
  for (std::thread& other : others_) other.join();
  if (first_error_) std::rethrow_exception(first_error_);
}

void Team::start_others() {
  if (reinforced_) return;
  reinforced_ = true;
  try {
    others_.reserve(static_cast<std::size_t>(std::max(threads_ - 1, 0)));
    for (int index = 1; index < threads_; ++index) others_.emplace_back([this, index] { guarded(index); });
  } catch (...) {
    // Fewer threads than requested: the work is shared dynamically, so the started threads do all of it.
  }
}

void Team::guarded(int index) {
  try {
    body_(index);
  } catch (...) {
    std::lock_guard lock(error_mutex_);
    if (!first_error_) first_error_ = std::current_exception();
  }
}

}  // namespace motiflux
