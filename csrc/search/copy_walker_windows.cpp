// Windows of a search from copy to copy: the copies of a vertex whose main values are within bounds.
#include <algorithm>
#include <bit>
#include <limits>

#include "copies/places.hpp"
#include "search/copy_walker.hpp"

namespace motiflux::search {
namespace {

using copies::behind;
using copies::bisect;
using copies::bisect_briefly;
using copies::bisect_row;
using copies::less;
using copies::shifted;

// Windows of at most this many copies are read before the other end of a root copy is looked at.
constexpr std::size_t kRead = 64;

// Copies of a window among which its end is found without a look at others.
constexpr std::size_t kNear = 8;

// Rows of at most this many copies are fetched as a whole.
constexpr std::size_t kShort = 2 * copies::CopyIndex::kSampled;

// What finding a window far from the last one takes.
constexpr std::size_t kWindowWork = 3;

}  // namespace

// Whether another edge at the vertex of the root copies has no copy, by differences of main values alone:
// half of the root copies may end here. Root copies ascend, and so do the ends of windows.
bool CopyWalker::misses_near(Place root) {
  const std::int64_t value = walk_.root_rows().row_columns[0][root];
  for (Near& near : near_) {
    if (!near.whole) continue;
    copies::Interval bounds = copies::kAllIntegers;
    if (near.differences.low != bounds.low) bounds.low = shifted(value, near.differences.low);
    if (near.differences.high != bounds.high) bounds.high = shifted(value, near.differences.high);
    const std::int64_t* values = rows(near.variable, near.side).row_columns[0];
    near.bounds = bounds;
    near.window.first =
        behind(near.window.first, near.row.last, [&](Place place) { return values[place] < bounds.low; });
    near.window.last = behind(std::max<Place>(near.window.first, near.window.last), near.row.last,
                              [&](Place place) { return values[place] <= bounds.high; });
    if (near.window.size() == 0) return true;
  }
  return false;
}

// The copies of such an edge within bounds.
CopyWalker::Slot CopyWalker::window_near(const Near& near, copies::Interval bounds) const {
  Slot found = near.window;
  if (!near.whole || near.bounds.low != bounds.low || near.bounds.high != bounds.high) {
    const copies::CopyIndex& of = rows(near.variable, near.side);
    const std::int64_t* values = of.row_columns[0];
    const auto is_below = [&](std::int64_t one) { return less(!near.whole, one, bounds.low); };
    const auto below = [&](Place place) { return is_below(values[place]); };
    const auto not_above = [&](Place place) { return !less(!near.whole, bounds.high, values[place]); };
    const copies::Range all = near.whole ? copies::Range{found.first, found.last} : near.row;
    found.first = bisect_row(of, all, is_below, below);
    found.last = behind(found.first, all.last, not_above);
  }
  found.kind = Slot::kWindow;
  found.edges = 1;
  return found;
}

// Whether each other edge at the vertex of the root copies has a copy within bounds. This is asked before the
// other end of the root copy is looked at, which is far away.
bool CopyWalker::has_near(State state) {
  for (const Near& near : near_) {
    if (!narrow(state, near.variable)) return false;
    Window found{near.variable, near.side, false, false, window_near(near, bounds_of(near.variable)[0])};
    const std::size_t size = found.slot.size();
    state.slot(static_cast<std::size_t>(near.variable), static_cast<std::size_t>(near.side)) = found.slot;
    if (size <= kCounted ? number_of(state, found) == 0 : size <= kRead && !any_fits(found)) return false;
  }
  return true;
}

// Whether a copy of a window is within the bounds on other columns than the main one.
bool CopyWalker::any_fits(const Window& window) {
  const Filters& filters = filters_of(window.variable, window.side);
  Place place = window.slot.first;
  while (place < window.slot.last && !filters.fit(place)) ++place;
  return place < window.slot.last;
}

// Sets the bounds on the values of an edge; false if they exclude each other.
bool CopyWalker::narrow(State state, int variable) {
  copies::Interval* bounds = bounds_of(variable);
  const copies::Interval* all = all_of(variable);
  for (std::size_t column = 0; column < most_columns_; ++column) bounds[column] = all[column];
  for (std::uint64_t rest = state.head().variables; rest != 0; rest &= rest - 1) {
    const int source = std::countr_zero(rest);
    reach_.narrow(variable, source, state.values(static_cast<std::size_t>(source)), bounds);
  }
  return !less(reach_.floats(variable, 0), bounds[0].high, bounds[0].low);
}

// Looks for the rows of the edges that begin at the vertex that was matched last, and fetches what a
// bisection in them reads.
void CopyWalker::open_rows(State state) {
  const int newest = state.head().newest;
  if (newest < 0) return;
  for (const EdgeAt& one : at_[static_cast<std::size_t>(newest)])
    if (!state.has_variable(one.variable) && !state.has_level(one.other))
      open_row(state, one.variable, one.side);
}

void CopyWalker::open_row(State state, int variable, int side) {
  const copies::CopyIndex& of = rows(variable, side);
  const copies::Range row = of.row(vertex_at(state, variable, side));
  Slot& slot = state.slot(static_cast<std::size_t>(variable), static_cast<std::size_t>(side));
  slot.first = row.first;
  slot.last = row.last;
  slot.kind = Slot::kRow;
  if (row.size() <= kShort)
    fetch(of, row.first, row.last);
  else
    __builtin_prefetch(of.row_samples + (row.first + row.last) / 2 / copies::CopyIndex::kSampled);
}

// Leaves of long rows the copies between two samples, and fetches those.
void CopyWalker::shorten_rows(State state) {
  const int newest = state.head().newest;
  if (newest < 0) return;
  constexpr Place kSampled = copies::CopyIndex::kSampled;
  for (const EdgeAt& one : at_[static_cast<std::size_t>(newest)]) {
    if (state.has_variable(one.variable) || state.has_level(one.other)) continue;
    Slot& slot = state.slot(static_cast<std::size_t>(one.variable), static_cast<std::size_t>(one.side));
    if (slot.size() <= kShort) continue;
    if (!narrow(state, one.variable)) return;  // `choose` finds the same
    const copies::CopyIndex& of = rows(one.variable, one.side);
    const bool floats = reach_.floats(one.variable, 0);
    const copies::Interval bounds = bounds_of(one.variable)[0];
    const Place begin = (slot.first + kSampled - 1) / kSampled, end = (slot.last - 1) / kSampled + 1;
    const Place low =
        bisect(begin, end, [&](Place at) { return less(floats, of.row_samples[at], bounds.low); });
    const Place high =
        behind(low, end, [&](Place at) { return !less(floats, bounds.high, of.row_samples[at]); });
    if (low > begin) slot.first = (low - 1) * kSampled + 1;
    if (high < end) slot.last = high * kSampled;
    fetch(of, slot.first, std::min<Place>(slot.last, slot.first + kShort));
  }
}

// Fetches copies into caches.
void CopyWalker::fetch(const copies::CopyIndex& rows, Place first, Place last) {
  constexpr Place kLine = 8;  // values
  for (Place place = first; place < last; place += kLine)
    for (const std::int64_t* column : rows.row_columns) __builtin_prefetch(column + place);
  for (Place place = first; place < last; place += 2 * kLine) __builtin_prefetch(rows.row_others + place);
}

// The copies of an edge at a matched vertex whose main values are within the bounds set.
CopyWalker::Slot CopyWalker::window(State state, int variable, int side) {
  const copies::CopyIndex& of = rows(variable, side);
  const bool floats = reach_.floats(variable, 0);
  const copies::Interval bounds = bounds_of(variable)[0];
  const std::int64_t* value = of.row_columns[0];
  const auto less_than_low = [&](std::int64_t one) { return less(floats, one, bounds.low); };
  const auto below = [&](Place place) { return less_than_low(value[place]); };
  const auto not_above = [&](Place place) { return !less(floats, bounds.high, value[place]); };
  Slot& slot = state.slot(static_cast<std::size_t>(variable), static_cast<std::size_t>(side));
  const Place last = slot.last;
  if (slot.kind == Slot::kWindow) {
    slot.first = behind(slot.first, last, below);
  } else {
    budget_ -= kWindowWork;
    slot.first = slot.size() <= kShort ? bisect_briefly(slot.first, last, below)
                                       : bisect_row(of, {slot.first, last}, less_than_low, below);
    slot.kind = Slot::kWindow;
  }
  const Place near = std::min<Place>(last, slot.first + kNear);
  slot.last = bisect_briefly(slot.first, near, not_above);
  if (slot.last == near) slot.last = behind(near, last, not_above);
  slot.edges = state.head().edges;
  return slot;
}

// The bounds set on other columns than the main one.
const CopyWalker::Filters& CopyWalker::filters_of(int variable, int side) {
  Filters& found = filters_;
  found.size = 0;
  const copies::Interval* bounds = bounds_of(variable);
  const copies::Interval* all = all_of(variable);
  const copies::CopyIndex& of = rows(variable, side);
  for (std::size_t column = 1; column < of.row_columns.size() && found.size < kMostFilters; ++column)
    if (bounds[column].low != all[column].low || bounds[column].high != all[column].high)
      found.columns[found.size++] = {of.row_columns[column], bounds[column],
                                     reach_.floats(variable, static_cast<int>(column))};
  return found;
}

}  // namespace motiflux::search
