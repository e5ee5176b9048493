#include "search/pool.hpp"

namespace motiflux::search {

Pool::Seat::Seat(Pool& pool) : pool_(pool) {
  std::lock_guard lock(pool_.mutex_);
  ++pool_.busy_;
}

Pool::Seat::~Seat() {
  if (!busy_) return;
  std::lock_guard lock(pool_.mutex_);
  pool_.rest();
}

std::optional<Part> Pool::Seat::take() {
  if (const auto range = pool_.control_.take())
    return Part{.level = 0, .from = range->first, .to = range->last, .arcs = range->last - range->first};
  return std::nullopt;
}

std::optional<Part> Pool::Seat::wait() {
  std::unique_lock lock(pool_.mutex_);
  busy_ = false;
  pool_.rest();
  ++pool_.waiting_;
  pool_.tell();
  pool_.changed_.wait(lock, [&] { return !pool_.parts_.empty() || pool_.busy_ == 0; });
  --pool_.waiting_;
  std::optional<Part> part;
  if (!pool_.parts_.empty()) {
    part = pool_.parts_.front();
    pool_.parts_.pop_front();
    busy_ = true;
    ++pool_.busy_;
  }
  pool_.tell();
  return part;
}

void Pool::give(const Part& part) {
  std::lock_guard lock(mutex_);
  parts_.push_back(part);
  tell();
  changed_.notify_one();
}

void Pool::tell() {
  hungry_.store(waiting_ - static_cast<int>(parts_.size()), std::memory_order_relaxed);
}

void Pool::rest() {
  if (--busy_ == 0) changed_.notify_all();
}

}  // namespace motiflux::search
