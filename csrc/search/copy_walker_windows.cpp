// Windows of a search from copy to copy: the copies of a vertex whose main values are within bounds.
#include <algorithm>
#include <limits>

#include "copies/places.hpp"
#include "search/copy_walker.hpp"

namespace motiflux::search {
namespace {

using copies::behind;
using copies::bisect;
using copies::bisect_row;
using copies::less;

// Windows of at most this many copies are read before the other end of a root copy is looked at.
constexpr std::size_t kRead = 64;

// What finding a window far from the last one takes.
constexpr std::size_t kWindowWork = 3;

std::int64_t shifted(std::int64_t value, std::int64_t shift) {
  std::int64_t sum;
  if (!__builtin_add_overflow(value, shift, &sum)) return sum;
  return shift < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

// Whether another edge at the vertex of the root copies has no copy, by differences of main values alone:
// half of the root copies may end here.
bool CopyWalker::misses_near(Place root) {
  const std::int64_t value = walk_.root_rows().row_columns[0][root];
  for (std::size_t at = 0; at < near_.size(); ++at) {
    if (near_[at].variable == walk_.root || reach_.floats(near_[at].variable, 0)) continue;
    const copies::Interval differences = near_differences_[at];
    copies::Interval bounds = all_[static_cast<std::size_t>(near_[at].variable) * most_columns_];
    if (differences.low != bounds.low) bounds.low = shifted(value, differences.low);
    if (differences.high != bounds.high) bounds.high = shifted(value, differences.high);
    if (move_on(near_[at], bounds).size() == 0) return true;
  }
  return false;
}

// The copies of an edge at the vertex of the root copies within bounds; found near those of the last root
// copy, as root copies ascend.
CopyWalker::Slot CopyWalker::move_on(const Window& near, copies::Interval bounds) {
  const CopyWalk::Edge& edge = walk_.edges[static_cast<std::size_t>(near.variable)];
  const copies::CopyIndex& rows = *edge.rows[near.side];
  const std::int64_t* value = rows.row_columns[0];
  const bool floats = reach_.floats(near.variable, 0);
  const auto below = [&](Place place) { return less(floats, value[place], bounds.low); };
  const auto not_above = [&](Place place) { return !less(floats, bounds.high, value[place]); };
  const copies::Range row = rows.row(value_[static_cast<std::size_t>(edge.ends[near.side])]);
  Slot& hint = hints_[static_cast<std::size_t>(2 * near.variable + near.side)];
  Slot found;
  const bool before = hint.first > row.first && !below(hint.first - 1);
  found.first = before ? bisect(row.first, hint.first, below) : behind(hint.first, row.last, below);
  const Place from = std::max(found.first, hint.last);
  const bool too_far = from > found.first && !not_above(from - 1);
  found.last = too_far ? bisect(found.first, from, not_above) : behind(from, row.last, not_above);
  hint = found;
  return found;
}

// Whether each other edge at the vertex of the root copies has a copy within bounds. This is asked before the
// other end of the root copy is looked at, which is far away.
bool CopyWalker::has_near() {
  for (const Window& near : near_) {
    if (near.variable == walk_.root) continue;
    if (!narrow(near.variable)) return false;
    const Slot slot = window(near.variable, near.side);
    if (slot.size() == 0) return false;
    if (slot.size() <= kRead && !any_fits({near.variable, near.side, false, slot})) return false;
  }
  return true;
}

// Whether a copy of a window is within the bounds on other columns than the main one.
bool CopyWalker::any_fits(const Window& window) {
  const Filters filters = filters_of(window.variable, window.side);
  Place place = window.slot.first;
  while (place < window.slot.last && !filters.fit(place)) ++place;
  return place < window.slot.last;
}

void CopyWalker::forget_windows(std::size_t changed) {
  for (; changed_.size() > changed; changed_.pop_back())
    slot_depth_[changed_.back().slot] = changed_.back().depth;
}

// Whether the window of an edge at a matched vertex is a part of one that was read before.
bool CopyWalker::is_near(int variable, int side) const {
  const CopyWalk::Edge& edge = walk_.edges[static_cast<std::size_t>(variable)];
  return slot_depth_[static_cast<std::size_t>(2 * variable + side)] > 0 ||
         edge.ends[side] == walk_.edges[static_cast<std::size_t>(walk_.root)].ends[walk_.side];
}

// Sets the bounds on the values of an edge; false if they exclude each other.
bool CopyWalker::narrow(int variable) {
  copies::Interval* bounds = bounds_of(variable);
  std::copy_n(all_.data() + static_cast<std::size_t>(variable) * most_columns_, most_columns_, bounds);
  for (const int source : order_) reach_.narrow(variable, source, values(source), bounds);
  return !less(reach_.floats(variable, 0), bounds[0].high, bounds[0].low);
}

// The copies of an edge at a matched vertex whose main values are within the bounds set.
CopyWalker::Slot CopyWalker::window(int variable, int side) {
  const auto key = static_cast<std::size_t>(2 * variable + side);
  const CopyWalk::Edge& edge = walk_.edges[static_cast<std::size_t>(variable)];
  const copies::CopyIndex& rows = *edge.rows[side];
  const bool floats = reach_.floats(variable, 0);
  const copies::Interval bounds = bounds_of(variable)[0];
  const std::int64_t* value = rows.row_columns[0];
  const auto less_than_low = [&](std::int64_t one) { return less(floats, one, bounds.low); };
  const auto at_most_high = [&](std::int64_t one) { return !less(floats, bounds.high, one); };
  const auto below = [&](Place place) { return less_than_low(value[place]); };
  const auto not_above = [&](Place place) { return at_most_high(value[place]); };
  Slot found;
  if (const std::uint8_t depth = slot_depth_[key]; depth > 0) {
    const Slot known = slots_[(depth - std::size_t{1}) * slot_depth_.size() + key];
    found.first = behind(known.first, known.last, below);
    found.last = behind(found.first, known.last, not_above);
  } else {
    const copies::Range row = rows.row(value_[static_cast<std::size_t>(edge.ends[side])]);
    if (edges_matched_ == 1 && is_near(variable, side)) {
      found = move_on({variable, side, false, {}}, bounds);
    } else {
      budget_ -= kWindowWork;
      found.first = bisect_row(rows, {row.first, row.last}, less_than_low, below);
      found.last = bisect_row(rows, {found.first, row.last}, at_most_high, not_above);
    }
  }
  changed_.push_back({static_cast<std::uint32_t>(key), slot_depth_[key]});
  slot_depth_[key] = static_cast<std::uint8_t>(edges_matched_ + 1);
  slots_[edges_matched_ * slot_depth_.size() + key] = found;
  return found;
}

bool CopyWalker::Filters::fit(Place place) const {
  for (std::size_t f = 0; f < size; ++f) {
    const std::int64_t value = columns[f].values[place];
    if (less(columns[f].floats, value, columns[f].bounds.low) ||
        less(columns[f].floats, columns[f].bounds.high, value))
      return false;
  }
  return true;
}

// The bounds set on other columns than the main one.
CopyWalker::Filters CopyWalker::filters_of(int variable, int side) {
  Filters found;
  const copies::Interval* bounds = bounds_of(variable);
  const copies::Interval* all = all_.data() + static_cast<std::size_t>(variable) * most_columns_;
  const copies::CopyIndex& rows = *walk_.edges[static_cast<std::size_t>(variable)].rows[side];
  for (std::size_t column = 1; column < rows.row_columns.size() && found.size < kMostFilters; ++column)
    if (bounds[column].low != all[column].low || bounds[column].high != all[column].high)
      found.columns[found.size++] = {rows.row_columns[column], bounds[column],
                                     reach_.floats(variable, static_cast<int>(column))};
  return found;
}

}  // namespace motiflux::search
