#include "search/pool.hpp"

namespace motiflux::search {

Pool::Worker::Worker(Pool& pool) : pool_(pool) {
  std::lock_guard lock(pool_.mutex_);
  ++pool_.busy_;
}

Pool::Worker::~Worker() {
  if (!busy_) return;
  std::lock_guard lock(pool_.mutex_);
  pool_.end_busy();
}

Pool::Pool(Control& control, const Portion& portion)
    : control_(control),
      items_(portion.items.begin(), portion.items.end()),
      portion_(true),
      most_work_(portion.work.value_or(UINT64_MAX)) {
  constexpr double kForever = 1e9;  // seconds; beyond it the clock's integer would overflow
  if (portion.seconds && *portion.seconds < kForever)
    until_ = Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*portion.seconds));
}

std::vector<WorkItem> Pool::left() const {
  std::vector<WorkItem> all = left_;
  all.insert(all.end(), items_.begin(), items_.end());
  return all;
}

bool Pool::is_over(std::uint64_t worked) {
  if (!portion_) return false;
  if (hands_back()) return true;
  if (worked < most_work_ && !(until_ && Clock::now() >= *until_)) return false;
  hand_back();
  return true;
}

void Pool::hand_back() {
  std::lock_guard lock(mutex_);
  hands_back_.store(true, std::memory_order_relaxed);
  changed_.notify_all();
}

std::optional<WorkItem> Pool::Worker::take() {
  if (const auto range = pool_.control_.take())
    return WorkItem{.level = 0, .from = range->first, .to = range->last, .arcs = range->last - range->first};
  return std::nullopt;
}

std::optional<WorkItem> Pool::Worker::wait() {
  std::unique_lock lock(pool_.mutex_);
  busy_ = false;
  pool_.end_busy();
  ++pool_.waiting_;
  pool_.update_wanting();
  pool_.changed_.wait(lock, [&] { return !pool_.items_.empty() || pool_.busy_ == 0 || pool_.hands_back(); });
  --pool_.waiting_;
  std::optional<WorkItem> item;
  if (!pool_.items_.empty() && !pool_.hands_back()) {
    item = pool_.items_.front();
    pool_.items_.pop_front();
    busy_ = true;
    ++pool_.busy_;
  }
  pool_.update_wanting();
  return item;
}

void Pool::add(const WorkItem& item) {
  std::lock_guard lock(mutex_);
  if (hands_back()) {
    left_.push_back(item);
    return;
  }
  items_.push_back(item);
  update_wanting();
  changed_.notify_one();
}

void Pool::update_wanting() {
  wanting_.store(waiting_ - static_cast<int>(items_.size()), std::memory_order_relaxed);
}

void Pool::end_busy() {
  if (--busy_ == 0) changed_.notify_all();
}

}  // namespace motiflux::search
