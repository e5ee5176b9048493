#include "dynamic/rows_at_moment.hpp"

#include <algorithm>

namespace motiflux::dynamic {

void RowsAtMoment::start() {
  copies_.assign(lifetimes_.most_groups(), {});
  lifetimes_.for_each_group([&](std::uint32_t number, const Lifetimes::Group& group) {
    copies_[number].of = group.of();
    copies_[number].last = group.last;
  });
  used_ = 0;
}

// Makes the row of a moment; false if there is no room for it.
bool RowsAtMoment::renew(std::uint32_t number, Moment moment, sets::Span all) {
  Copy& copy = copies_[number];
  const std::span<const End> ends = lifetimes_.group(number).ends();
  Moment since = 0, until = Lifetimes::kForever;
  absent_.clear();
  changes_.clear();
  for (std::size_t at = 0; at < ends.size();) {
    const Vertex neighbor = ends[at].neighbor;
    bool was = false, is = false;
    for (; at < ends.size() && ends[at].neighbor == neighbor; ++at) {
      const auto& [vertex, of, unused, first, last] = ends[at];
      was |= ends[at].has(copy.made);
      is |= ends[at].has(moment);
      if (first > moment)
        until = std::min(until, first);
      else
        since = std::max(since, first);
      if (last < moment)
        since = std::max(since, last + 1);
      else if (last != Lifetimes::kForever)
        until = std::min(until, last + 1);
    }
    if (!is) absent_.push_back(neighbor);
    if (was != is) changes_.push_back({neighbor, is});
  }
  if (!absent_.empty()) {
    if (copy.own == nullptr) {
      if (words_ == nullptr) words_ = std::make_unique_for_overwrite<Vertex[]>(most_);
      if (used_ + all.size() > most_) {
        copy.until = copy.since;  // valid at no moment
        return false;
      }
      copy.own = words_.get() + used_;
      used_ += all.size();
      copy.own_size = static_cast<std::uint32_t>(write(all, copy.own));
    } else if (changes_.size() > kFewChanges) {
      copy.own_size = static_cast<std::uint32_t>(write(all, copy.own));
    } else {
      for (const Change& one : changes_) change(copy, one);
    }
    copy.made = moment;
  }
  copy.neighbors = absent_.empty() ? all.first : copy.own;
  copy.size = absent_.empty() ? static_cast<std::uint32_t>(all.size()) : copy.own_size;
  copy.since = since;
  copy.until = until;
  return true;
}

void RowsAtMoment::change(Copy& copy, const Change& one) {
  Vertex* const last = copy.own + copy.own_size;
  Vertex* const at = std::lower_bound(copy.own, last, one.neighbor);
  if (one.comes) {
    std::copy_backward(at, last, last + 1);
    *at = one.neighbor;
    ++copy.own_size;
  } else {
    std::copy(at + 1, last, at);
    --copy.own_size;
  }
}

// Writes a row without those absent, and returns its size.
std::size_t RowsAtMoment::write(sets::Span all, Vertex* to) const {
  Vertex* const begin = to;
  const Vertex* from = all.first;
  for (const Vertex absent : absent_) {
    const Vertex* const hole = std::lower_bound(from, all.last, absent);
    to = std::copy(from, hole, to);
    from = hole + 1;
  }
  return static_cast<std::size_t>(std::copy(from, all.last, to) - begin);
}

// The row that has just been renewed in vain, in the memory of the caller.
RowsAtMoment::Row RowsAtMoment::written(sets::Span all, Moment moment, std::vector<Vertex>& scratch) const {
  scratch.resize(all.size());
  return {{scratch.data(), scratch.data() + write(all, scratch.data())}, moment};
}

}  // namespace motiflux::dynamic
