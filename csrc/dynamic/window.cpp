#include "dynamic/window.hpp"

#include <algorithm>

namespace motiflux::dynamic {

void Window::fill(std::span<const Copy> copies, std::int64_t came) {
  for (const Copy& copy : copies) {
    ++counts_[copy.edge].live;
    queue_.push_back(copy);
  }
  came_ = came;
  begin();
}

Expanded Window::expand(std::span<const Update> updates, std::span<const std::int64_t> moments,
                        const Graph& graph) {
  begin();
  Expanded out;
  out.updates.reserve(updates.size());
  out.origins.reserve(updates.size());
  // Where copies are not counted: edges that this call has deleted, though `graph` still has them.
  FlatMap<Edge, bool> taken;
  std::size_t looked_at = 0;
  for (std::size_t at = 0; at < updates.size(); ++at) {
    const auto& [edge, inserts] = updates[at];
    const auto origin = static_cast<std::int64_t>(at);
    if (timed_) expire(moments[at], origin, out);
    for (; !count_copies_ && looked_at < out.updates.size(); ++looked_at)
      if (!out.updates[looked_at].inserts) taken[out.updates[looked_at].edge] = true;
    if (inserts &&
        (count_copies_ || (counts_of(edge).live == 0 && (taken.find(edge) != nullptr || !graph.has(edge))))) {
      insert(edge, timed_ ? moments[at] : 0, origin, out);
    } else if (CopyCounts now = counts_of(edge); !inserts && now.live > 0) {
      --now.live;
      ++now.deleted;
      set(edge, now);
    }
    out.updates.push_back(updates[at]);
    out.origins.push_back(origin);
  }
  return out;
}

Expanded Window::advance(std::int64_t now) {
  begin();
  Expanded out;
  expire(timed_ ? now : came_, 0, out);
  return out;
}

void Window::insert(const Edge& edge, std::int64_t moment, std::int64_t origin, Expanded& out) {
  if (!timed_) expire(moment = ++came_, origin, out);
  CopyCounts now = counts_of(edge);
  ++now.live;
  set(edge, now);
  queue_.push_back({edge, moment});
}

void Window::expire(std::int64_t now, std::int64_t origin, Expanded& out) {
  for (; head_ < queue_.size() && queue_[head_].since <= now - span_; ++head_) {
    const Edge& edge = queue_[head_].edge;
    CopyCounts left = counts_of(edge);
    if (left.deleted > 0) {
      --left.deleted;
    } else {
      --left.live;
      ++out.expired;
      out.updates.push_back({edge, false});
      out.origins.push_back(origin);
    }
    set(edge, left);
  }
}

void Window::begin() {
  if (2 * head_ >= queue_.size()) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  log_.clear();
  head_before_ = head_;
  size_before_ = queue_.size();
  came_before_ = came_;
}

void Window::undo() {
  for (; !log_.empty(); log_.pop_back()) write(log_.back().edge, log_.back().counts);
  queue_.resize(size_before_);
  head_ = head_before_;
  came_ = came_before_;
}

Window::CopyCounts Window::counts_of(const Edge& edge) const {
  const CopyCounts* known = counts_.find(edge);
  return known == nullptr ? CopyCounts{} : *known;
}

void Window::set(const Edge& edge, const CopyCounts& counts) {
  log_.push_back({edge, this->counts_of(edge)});
  write(edge, counts);
}

void Window::write(const Edge& edge, const CopyCounts& counts) {
  if (counts.live == 0 && counts.deleted == 0)
    counts_.erase(edge);
  else
    counts_[edge] = counts;
}

std::vector<Window::Copy> Window::copies() const {
  std::vector<Copy> found;
  FlatMap<Edge, std::uint64_t> passed;
  for (std::size_t at = head_; at < queue_.size(); ++at) {
    const Copy& copy = queue_[at];
    if (const std::uint64_t deleted = counts_of(copy.edge).deleted;
        deleted > 0 && passed[copy.edge] < deleted)
      ++passed[copy.edge];
    else
      found.push_back(copy);
  }
  return found;
}

}  // namespace motiflux::dynamic
