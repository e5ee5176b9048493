#include "search/copy_walker.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "copies/places.hpp"
#include "motiflux/bits.hpp"

namespace motiflux::search {
namespace {

// Of a window of at most this many copies to a matched vertex, none is sought at that vertex.
constexpr std::size_t kFew = 4;

// Copies of a window among which those to one vertex are found in the time for one copy of another window.
constexpr std::size_t kClosedAtOnce = 8;

// Copies of a window that are read in the time in which a window is found.
constexpr std::size_t kReadAtOnce = 16;

// States that are continued together at first; more, up to the plan's number, while this takes less work than
// kMostWork: then other threads soon get a part, and matches are passed on soon.
constexpr std::size_t kTogetherFirst = 8;
constexpr std::uint64_t kMostWork = 1 << 15;

std::size_t most_columns(const copies::Network& network) {
  std::size_t most = 1;
  for (const copies::Variable& variable : network.variables) most = std::max(most, variable.columns.size());
  return most;
}

std::size_t edges_of(const copies::Network& network) {
  return static_cast<std::size_t>(std::count_if(network.variables.begin(), network.variables.end(),
                                                [](const auto& variable) { return !variable.is_vertex; }));
}

}  // namespace

CopyWalker::CopyWalker(const NativePlan& native_plan, Visitor& visitor, bool counting)
    : RootWalk(native_plan, visitor),
      compared_(*native_plan.compared),
      walk_(*native_plan.copy_walk),
      counting_(counting),
      levels_(static_cast<int>(native_plan.plan.shape.levels)),
      variables_(static_cast<int>(compared_.network.variables.size())),
      reach_(compared_.network),
      ranges_(compared_, levels_),
      most_columns_(most_columns(compared_.network)),
      layout_(compared_.network.variables.size(), most_columns_, static_cast<std::size_t>(levels_)),
      states_(layout_, edges_of(compared_.network) + 1, walk_.together),
      together_(std::min(kTogetherFirst, walk_.together)) {
  const auto size = static_cast<std::size_t>(variables_);
  vertices_.resize(static_cast<std::size_t>(levels_));
  at_.resize(static_cast<std::size_t>(levels_));
  checks_.resize(size);
  for (int v = 0; v < variables_; ++v) {
    if (compared_.network.variables[static_cast<std::size_t>(v)].is_vertex) {
      edges_only_ = false;
      vertices_[static_cast<std::size_t>(compared_.ends[static_cast<std::size_t>(v)].from)].push_back(v);
      continue;
    }
    edges_.push_back(v);
    for (int side = 0; side < 2; ++side)
      at_[static_cast<std::size_t>(edge(v).ends[side])].push_back({v, side, edge(v).ends[1 - side]});
  }
  for (std::size_t c = 0; c < compared_.network.comparisons.size(); ++c) {
    const copies::Comparison& one = compared_.network.comparisons[c];
    checks_[static_cast<std::size_t>(one.left)].push_back({static_cast<int>(c), one.right});
    if (one.left != one.right)
      checks_[static_cast<std::size_t>(one.right)].push_back({static_cast<int>(c), one.left});
  }
  for (std::size_t level = 0; level < static_cast<std::size_t>(levels_); ++level) {
    const view::StepShape& step = native_plan.plan.shape.steps[level];
    const std::uint32_t own = std::uint32_t{1} << level;
    distinct_[level] |= step.distinct;
    smaller_[level] |= step.after;
    greater_[level] |= step.before;
    for_each_bit(step.distinct, [&](std::size_t other) { distinct_[other] |= own; });
    for_each_bit(step.after, [&](std::size_t other) { greater_[other] |= own; });
    for_each_bit(step.before, [&](std::size_t other) { smaller_[other] |= own; });
  }
  bounds_.resize(size * most_columns_);
  all_.resize(size * most_columns_);
  for (int v = 0; v < variables_; ++v)
    for (std::size_t column = 0;
         column < compared_.network.variables[static_cast<std::size_t>(v)].columns.size(); ++column)
      all_[static_cast<std::size_t>(v) * most_columns_ + column] = reach_.all(v, static_cast<int>(column));
  for (const EdgeAt& one : at_[static_cast<std::size_t>(edge(walk_.root).ends[walk_.side])]) {
    if (one.variable == walk_.root) continue;
    Near near;
    near.variable = one.variable;
    near.side = one.side;
    near.whole = !reach_.floats(one.variable, 0);
    near.differences = reach_.differences(one.variable, walk_.root);
    near_.push_back(near);
  }
  ranges_.watch([this](std::size_t comparisons) { return spend(comparisons / 8); });
}

bool CopyWalker::search(const WorkItem& item) {
  begin_item(item);
  states_.clear();
  const copies::CopyIndex& rows = walk_.root_rows();
  auto vertex = static_cast<Vertex>(copies::bisect(
      0, native_plan_.vertices, [&](Place v) { return rows.row(static_cast<Vertex>(v)).last <= next_; }));
  while (next_ < last_) {
    const copies::Range row = rows.row(vertex);
    if (row.last > next_ && !search_roots(vertex, {next_, row.last})) return false;
    ++vertex;
  }
  for (std::size_t depth = 1; depth < edges_.size(); ++depth)
    if (!go_on(depth)) return false;
  return true;
}

// Searches from the copies of a vertex, as far as they are in the item.
bool CopyWalker::search_roots(Vertex vertex, Slot copies) {
  states_.clear(0);
  const State state = states_.add(0);
  state.clear();
  bool more = spend(1);
  if (!more || !match_vertex(state, edge(walk_.root).ends[walk_.side], vertex)) {
    next_ = std::min<Place>(last_, copies.last);
    return more;
  }
  for (Near& near : near_) {
    near.row = rows(near.variable, near.side).row(vertex);
    near.window.first = near.window.last = near.row.first;
  }
  while (more && next_ < std::min<Place>(last_, copies.last)) {
    const Place place = next_++;
    more = misses_near(place) || add_root(state, place);
    more = more && spend(1);
  }
  return more;
}

// Goes on with a root copy; false when stopped.
bool CopyWalker::add_root(State state, Place place) {
  const State::Head before = state.head();
  const int other_level = edge(walk_.root).ends[1 - walk_.side];
  const bool fits = match_edge(state, walk_.root, walk_.side, place) && has_near(state) &&
                    match_vertex(state, other_level, walk_.root_rows().row_others[place]);
  const bool more = !fits || add(1, state, other_level);
  state.head() = before;
  return more;
}

// Keeps a state, whose vertex of the level `newest` was matched last, until others are continued; false when
// stopped.
bool CopyWalker::add(std::size_t depth, State state, int newest) {
  if (depth == edges_.size()) return found(state);
  state.head().newest = newest;
  const State kept = states_.add(depth);
  kept.copy(state);
  if (newest >= 0)
    for (const EdgeAt& one : at_[static_cast<std::size_t>(newest)])
      if (!state.has_variable(one.variable) && !state.has_level(one.other))
        __builtin_prefetch(rows(one.variable, one.side).row_starts + state.vertices()[newest]);
  return states_.size(depth) < together_ || go_on(depth);
}

// Continues all states with a number of edges; false when stopped.
bool CopyWalker::go_on(std::size_t depth) {
  const std::size_t size = states_.size(depth);
  if (size == 0) return true;
  const std::uint64_t before = work();
  for (std::size_t at = 0; at < size; ++at) open_rows(states_.at(depth, at));
  for (std::size_t at = 0; at < size; ++at) shorten_rows(states_.at(depth, at));
  for (std::size_t at = 0; at < size; ++at) {
    Window best;
    const State state = states_.at(depth, at);
    if (choose(state, best) && !scan(state, best)) return false;
    if (!spend(1)) return false;
  }
  states_.clear(depth);
  if (depth == 1) {
    const bool is_long = work() - before >= kMostWork;
    together_ = is_long ? std::max<std::size_t>(together_ / 2, 1) : std::min(2 * together_, walk_.together);
  }
  return true;
}

// Finds the edge with the smallest window; false if some edge has none.
bool CopyWalker::choose(State state, Window& best) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  // Edges between matched vertices first, then those whose windows are known, then those with other rows.
  for (const int v : edges_)
    if (!state.has_variable(v) && state.has_level(edge(v).ends[0]) && state.has_level(edge(v).ends[1])) {
      if (!narrow(state, v) || !close(state, v, best, least)) return false;
      if (least <= 1) return true;
    }
  for (const Slot::Kind kind : {Slot::kWindow, Slot::kRow})
    for (const int v : edges_) {
      if (state.has_variable(v)) continue;
      const bool there[2] = {state.has_level(edge(v).ends[0]), state.has_level(edge(v).ends[1])};
      if (there[0] == there[1]) continue;
      const int side = there[0] ? 0 : 1;
      const Slot slot = state.slot(static_cast<std::size_t>(v), static_cast<std::size_t>(side));
      if (slot.kind != kind) continue;
      Window found{v, side, false, is_current(state, slot), slot};
      std::size_t size = slot.size();
      if (!found.is_old) {
        if (!narrow(state, v)) return false;
        found.slot = window(state, v, side);
        size = number_of(state, found);
      }
      if (size == 0) return false;
      if (size < least) {
        least = size;
        best = found;
      }
    }
  return true;
}

// The same for an edge between matched vertices.
bool CopyWalker::close(State state, int variable, Window& best, std::size_t& least) {
  const auto at = static_cast<std::size_t>(variable);
  const int known = state.slot(at, 1).kind > state.slot(at, 0).kind ? 1 : 0;
  for (const int side : {known, 1 - known}) {
    if (state.slot(at, static_cast<std::size_t>(side)).kind == Slot::kNone) open_row(state, variable, side);
    Window found{variable, side, true, false, window(state, variable, side)};
    const bool is_few = found.slot.size() <= kFew;
    const std::size_t size = number_of(state, found);
    if (size == 0) return false;
    if (size < least) {
      least = size;
      best = found;
    }
    if (is_few) break;
  }
  return true;
}

// Calls `use` with a test of places. Mostly, there is one column besides the main one.
template <class Use>
auto CopyWalker::with_filter(const Filters& filters, Use&& use) {
  if (filters.size != 1) return use([&](Place place) { return filters.fit(place); });
  const Filters::Column& one = filters.columns[0];
  const std::int64_t* values = one.values;
  const auto within = [values](auto low, auto high) {
    return [=](Place place) {
      const auto value = std::bit_cast<decltype(low)>(values[place]);
      return static_cast<bool>(static_cast<int>(low <= value) & static_cast<int>(value <= high));
    };
  };
  if (!one.floats) return use(within(one.bounds.low, one.bounds.high));
  return use(within(std::bit_cast<double>(one.bounds.low), std::bit_cast<double>(one.bounds.high)));
}

// The number of copies in a window that are within bounds, or an estimate of what a long one takes. A short
// window begins and ends at copies that are within bounds afterwards.
std::size_t CopyWalker::number_of(State state, Window& window) {
  const std::size_t size = window.slot.size();
  if (size > kCounted) return window.closes ? (size + kClosedAtOnce - 1) / kClosedAtOnce : size;
  const copies::CopyIndex& of = rows(window.variable, window.side);
  const Filters& filters = filters_of(window.variable, window.side);
  if (filters.size == 0 && !window.closes) return size;
  const Vertex target = window.closes ? vertex_at(state, window.variable, 1 - window.side) : 0;
  const bool closes = window.closes;
  const std::uint32_t* others = of.row_others;
  Slot& slot = window.slot;
  const std::size_t number = with_filter(filters, [&](auto&& fits) {
    std::size_t found = 0;
    Place first = slot.last, last = slot.last;
    for (Place place = slot.first; place < slot.last; ++place) {
      const bool fit = (!closes || others[place] == target) && fits(place);
      first = fit && found == 0 ? place : first;
      last = fit ? place + 1 : last;
      found += static_cast<std::size_t>(fit);
    }
    slot.first = first;
    slot.last = last;
    return found;
  });
  if (!window.closes)
    state.slot(static_cast<std::size_t>(window.variable), static_cast<std::size_t>(window.side)) =
        window.slot;
  return number;
}

// Goes on with each copy of a window.
bool CopyWalker::scan(State state, const Window& window) {
  const copies::CopyIndex& of = rows(window.variable, window.side);
  const int other_level = edge(window.variable).ends[1 - window.side];
  if (window.is_old) narrow(state, window.variable);
  const Filters filters = filters_of(window.variable, window.side);  // a copy: states that are added use them
  const Vertex target = window.closes ? state.vertices()[other_level] : 0;
  const State::Head before = state.head();
  const std::size_t depth = before.edges + std::size_t{1};
  // Of the last edge, later copies between the same vertices are no first choice.
  const bool one_only = window.closes && depth == edges_.size() && !(counting_ && compared_.count_choices);
  budget_ -= static_cast<std::int64_t>(window.slot.size() / kReadAtOnce);
  for (Place place = window.slot.first; place < window.slot.last; ++place) {
    if (window.closes && of.row_others[place] != target) continue;
    if (!filters.fit(place)) continue;
    const bool matches = (window.closes || match_vertex(state, other_level, of.row_others[place])) &&
                         match_edge(state, window.variable, window.side, place);
    const bool more = !matches || add(depth, state, window.closes ? -1 : other_level);
    state.head() = before;
    if (!more) return false;
    if (matches && one_only) break;
  }
  return true;
}

}  // namespace motiflux::search
