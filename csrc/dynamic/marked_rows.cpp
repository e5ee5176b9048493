#include "dynamic/marked_rows.hpp"

#include <algorithm>

#include "dynamic/lifetimes.hpp"

namespace motiflux::dynamic {

void MarkedRow::make(Vertex vertex, std::uint32_t of, sets::Span all, std::span<const End> ends,
                     std::uint32_t vertices) {
  made_ = false;
  changes_.clear();
  for (const End& end : ends) {
    changes_.push_back({2 * std::uint64_t{end.first} + 1, end.neighbor});
    if (end.last != Lifetimes::kForever)
      changes_.push_back({2 * (std::uint64_t{end.last} + 1), end.neighbor});
  }
  std::ranges::sort(changes_, {}, &Change::when);
  marks_.mark(0, all, vertices);
  vertex_ = vertex;
  of_ = of;
  rewind();
  made_ = true;
}

// To before the first moment, when no edge is there that has a lifetime.
void MarkedRow::rewind() {
  for (const Change& one : changes_) marks_.put(one.neighbor, false);
  next_ = 0;
  moment_ = 0;
}

void MarkedRow::move_to(Moment moment) {
  if (moment < moment_) rewind();
  moment_ = moment;
  for (; next_ < changes_.size() && changes_[next_].when / 2 <= moment; ++next_)
    marks_.put(changes_[next_].neighbor, changes_[next_].comes());
}

void MarkedRows::make(Vertex vertex, std::uint32_t of, sets::Span all, std::uint32_t vertices) {
  const bool forward = (of & End::kBack) == 0;
  rows_[last_].make(vertex, of, all, lifetimes_.ends_of(vertex, forward, of & ~End::kBack), vertices);
}

}  // namespace motiflux::dynamic
