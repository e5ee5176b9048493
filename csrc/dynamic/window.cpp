#include "dynamic/window.hpp"

#include <algorithm>
#include <new>

namespace motiflux::dynamic {
namespace {

// Updates and copies whose counts are prefetched.
constexpr std::size_t kAhead = 8;

}  // namespace

void Window::fill(std::span<const Copy> copies, std::int64_t came) {
  queue_.insert(queue_.end(), copies.begin(), copies.end());
  if (knows_counts_)
    for (const Copy& copy : copies) ++counts_[copy.edge].live;
  if (!count_copies_) others_ -= copies.size();
  came_ = came;
  begin();
}

Expanded Window::expand(std::span<const Update> updates, std::span<const std::int64_t> moments,
                        const Graph& graph) {
  begin();
  Expanded out;
  const std::size_t passed = timed_ || knows_counts_ ? 0 : pass_insertions(updates, out);
  out.updates.reserve(2 * updates.size());  // as many, if each makes one edge leave
  out.origins.reserve(2 * updates.size());
  for (std::size_t at = passed; at < updates.size(); ++at) {
    const auto& [edge, inserts] = updates[at];
    const auto origin = static_cast<std::int64_t>(at);
    if (knows_counts_) prefetch(updates, at, graph);
    if (timed_) expire(moments[at], origin, out);
    if (!inserts)
      erase(edge);
    else if (count_copies_ || is_new(edge, graph))
      insert(edge, timed_ ? moments[at] : 0, origin, out);
    out.updates.push_back(updates[at]);
    out.origins.push_back(origin);
  }
  return out;
}

// Expands the insertions before the first deletion, for a window of copies of which no numbers are asked; the
// number of updates to write is known beforehand. Returns how many it expanded.
std::size_t Window::pass_insertions(std::span<const Update> updates, Expanded& out) {
  const auto first_deletion = std::ranges::find(updates, false, &Update::inserts);
  const auto count = static_cast<std::size_t>(first_deletion - updates.begin());
  const std::size_t before = queue_.size();
  if (count >= kMost - before) throw std::bad_alloc();
  queue_.resize(before + count);
  for (std::size_t at = 0; at < count; ++at)
    queue_[before + at] = {updates[at].edge, came_ + 1 + static_cast<std::int64_t>(at)};
  const std::int64_t now = came_ + static_cast<std::int64_t>(count);
  const auto leaving = std::partition_point(queue_.begin() + static_cast<std::ptrdiff_t>(head_), queue_.end(),
                                            [&](const Copy& copy) { return copy.since <= now - span_; });
  const auto until = static_cast<std::size_t>(leaving - queue_.begin());
  out.expired += until - head_;
  out.updates.resize(count + (until - head_));
  out.origins.resize(out.updates.size());
  Update* update = out.updates.data();
  std::int64_t* origin = out.origins.data();
  for (std::size_t at = 0; at < count; ++at) {
    ++came_;
    for (; head_ < until && queue_[head_].since <= came_ - span_; ++head_) {
      *update++ = {queue_[head_].edge, false};
      *origin++ = static_cast<std::int64_t>(at);
    }
    *update++ = updates[at];
    *origin++ = static_cast<std::int64_t>(at);
  }
  return count;
}

void Window::prefetch(std::span<const Update> updates, std::size_t at, const Graph& graph) const {
  if (head_ + kAhead < queue_.size()) counts_.prefetch(queue_[head_ + kAhead].edge);
  if (at + kAhead < updates.size()) {
    counts_.prefetch(updates[at + kAhead].edge);
    if (others_ > 0) graph.prefetch(updates[at + kAhead].edge);
  }
  if (others_ > 0 && at + kAhead / 2 < updates.size()) graph.prefetch_rows(updates[at + kAhead / 2].edge);
}

Expanded Window::advance(std::int64_t now) {
  begin();
  Expanded out;
  expire(timed_ ? now : came_, 0, out);
  return out;
}

// Whether an edge is in neither the window nor the graph.
bool Window::is_new(const Edge& edge, const Graph& graph) const {
  const CopyCounts now = counts_of(edge);
  return now.live == 0 && (now.absent != 0 || others_ == 0 || !graph.has(edge));
}

void Window::insert(const Edge& edge, std::int64_t moment, std::int64_t origin, Expanded& out) {
  if (!timed_) expire(moment = ++came_, origin, out);
  if (queue_.size() >= kMost) throw std::bad_alloc();
  queue_.push_back({edge, moment});
  if (!knows_counts_) return;
  change(edge, [](CopyCounts& now) {
    ++now.live;
    now.absent = 0;
  });
}

// A deletion by the user: of the oldest copy in the window, if there is one.
void Window::erase(const Edge& edge) {
  if (!knows_counts_) count_queue();
  change(edge, [&](CopyCounts& now) {
    if (now.live > 0) {
      --now.live;
      ++now.deleted;
    }
    now.absent = !count_copies_ && others_ > 0;
  });
}

void Window::expire(std::int64_t now, std::int64_t origin, Expanded& out) {
  for (; head_ < queue_.size() && queue_[head_].since <= now - span_; ++head_) {
    const Edge& edge = queue_[head_].edge;
    bool leaves = true;
    if (knows_counts_)
      change(edge, [&](CopyCounts& left) {
        leaves = left.deleted == 0;
        if (!leaves) {
          --left.deleted;
          return;
        }
        --left.live;
        left.absent = !count_copies_ && others_ > 0;
      });
    if (!leaves) continue;
    ++out.expired;
    out.updates.push_back({edge, false});
    out.origins.push_back(origin);
  }
}

void Window::count_queue() {
  knows_counts_ = true;
  for (std::size_t at = head_; at < queue_.size(); ++at) {
    if (at + kAhead < queue_.size()) counts_.prefetch(queue_[at + kAhead].edge);
    ++counts_[queue_[at].edge].live;
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
  knew_counts_ = knows_counts_;
}

void Window::undo() {
  if (!knew_counts_) {
    counts_.clear();
    log_.clear();
    knows_counts_ = false;
  }
  for (; !log_.empty(); log_.pop_back()) write(log_.back().edge, log_.back().counts);
  queue_.resize(size_before_);
  head_ = head_before_;
  came_ = came_before_;
}

void Window::forget_absent() {
  std::vector<Edge> absent;
  counts_.for_each([&](const Edge& edge, const CopyCounts& counts) {
    if (counts.absent != 0) absent.push_back(edge);
  });
  for (const Edge& edge : absent) {
    CopyCounts left = counts_of(edge);
    left.absent = 0;
    write(edge, left);
  }
}

Window::CopyCounts Window::counts_of(const Edge& edge) const {
  const CopyCounts* known = counts_.find(edge);
  return known == nullptr ? CopyCounts{} : *known;
}

// Notes the counts for undo(), and changes them by change(counts).
template <class Change>
void Window::change(const Edge& edge, Change&& change) {
  CopyCounts& now = counts_[edge];
  log_.push_back({edge, now});
  absent_ -= now.absent;
  change(now);
  absent_ += now.absent;
  if (now == CopyCounts{}) counts_.erase(edge);
}

void Window::write(const Edge& edge, const CopyCounts& counts) {
  if (counts == CopyCounts{}) {
    absent_ -= counts_of(edge).absent;
    counts_.erase(edge);
    return;
  }
  CopyCounts& now = counts_[edge];
  absent_ += counts.absent;
  absent_ -= now.absent;
  now = counts;
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
