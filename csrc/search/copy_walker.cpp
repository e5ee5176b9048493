#include "search/copy_walker.hpp"

#include <algorithm>
#include <limits>

#include "copies/places.hpp"
#include "motiflux/bits.hpp"

namespace motiflux::search {
namespace {

// A window of at most this many copies is searched without looking for a smaller one.
constexpr std::size_t kFew = 4;

// Copies of a window among which those to one vertex are found in the time for one copy of another window.
constexpr std::size_t kClosedAtOnce = 8;

// Copies of a window that are read in the time in which a window is found.
constexpr std::size_t kReadAtOnce = 16;

}  // namespace

CopyWalker::CopyWalker(const NativePlan& native_plan, Visitor& visitor, bool counting)
    : native_plan_(native_plan),
      compared_(*native_plan.compared),
      walk_(*native_plan.copy_walk),
      visitor_(visitor),
      counting_(counting),
      levels_(static_cast<int>(native_plan.plan.shape.levels)),
      variables_(static_cast<int>(compared_.network.variables.size())),
      reach_(compared_.network),
      ranges_(compared_, levels_),
      budget_(native_plan.check_every) {
  const auto size = static_cast<std::size_t>(variables_);
  vertices_.resize(static_cast<std::size_t>(levels_));
  checks_.resize(size);
  for (int v = 0; v < variables_; ++v) {
    const copies::Variable& variable = compared_.network.variables[static_cast<std::size_t>(v)];
    most_columns_ = std::max(most_columns_, variable.columns.size());
    if (variable.is_vertex)
      vertices_[static_cast<std::size_t>(compared_.ends[static_cast<std::size_t>(v)].from)].push_back(v);
    else
      edges_.push_back(v);
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
  matched_.assign(size, 0);
  place_.assign(size, 0);
  side_.assign(size, 0);
  values_.assign(size * most_columns_, 0);
  const std::size_t depths = edges_.size() + 1;
  bounds_.resize(depths * size * most_columns_);
  slots_.resize(depths * size * 2);
  slot_depth_.assign(size * 2, 0);
  hints_.resize(size * 2);
  all_.resize(size * most_columns_);
  for (int v = 0; v < variables_; ++v)
    for (std::size_t column = 0;
         column < compared_.network.variables[static_cast<std::size_t>(v)].columns.size(); ++column)
      all_[static_cast<std::size_t>(v) * most_columns_ + column] = reach_.all(v, static_cast<int>(column));
  const int root_level = walk_.edges[static_cast<std::size_t>(walk_.root)].ends[walk_.side];
  for (const int v : edges_)
    for (int side = 0; side < 2; ++side)
      if (walk_.edges[static_cast<std::size_t>(v)].ends[side] == root_level) {
        near_.push_back({v, side, false, {}});
        near_differences_.push_back(reach_.differences(v, walk_.root));
        break;
      }
  ranges_.watch([this](std::size_t comparisons) { return spend(comparisons / 8); });
}

bool CopyWalker::search(const WorkItem& item) {
  arcs_done_ = item.arcs;
  next_ = item.from;
  last_ = item.to;
  const copies::CopyIndex& rows = walk_.root_rows();
  auto vertex = static_cast<Vertex>(copies::bisect(
      0, native_plan_.vertices, [&](Place v) { return rows.row(static_cast<Vertex>(v)).last <= next_; }));
  while (next_ < last_) {
    const copies::Range row = rows.row(vertex);
    if (row.last > next_ && !search_roots(vertex, {next_, row.last})) return false;
    ++vertex;
  }
  return true;
}

// Searches from the copies of a vertex, as far as they are in the item.
bool CopyWalker::search_roots(Vertex vertex, Slot copies) {
  const CopyWalk::Edge& edge = walk_.edges[static_cast<std::size_t>(walk_.root)];
  const int level = edge.ends[walk_.side], other_level = edge.ends[1 - walk_.side];
  const copies::CopyIndex& rows = walk_.root_rows();
  bool more = spend(1);
  if (more && match_vertex(level, vertex)) {
    for (const Window& near : near_) {
      const CopyWalk::Edge& of = walk_.edges[static_cast<std::size_t>(near.variable)];
      const copies::Range row = of.rows[near.side]->row(vertex);
      hints_[static_cast<std::size_t>(2 * near.variable + near.side)] = {row.first, row.first};
    }
    const std::size_t variables = order_.size();
    const std::uint32_t levels = levels_matched_;
    while (more && next_ < std::min(last_, copies.last)) {
      const Place place = next_++;
      if (misses_near(place)) {
        more = spend(1);
        continue;
      }
      const std::size_t changed = changed_.size();
      if (match_edge(walk_.root, walk_.side, place) && has_near() &&
          match_vertex(other_level, rows.row_others[place]))
        more = descend();
      forget_windows(changed);
      unmatch(variables, levels);
      more = more && spend(1);
    }
  } else {
    next_ = std::min(last_, copies.last);
  }
  unmatch(0, 0);
  return more;
}

// Searches the choices that have the copies matched so far; false when stopped.
bool CopyWalker::descend() {
  if (edges_matched_ == edges_.size()) return found();
  const std::size_t changed = changed_.size();
  Window best;
  const bool more = !choose(best) || scan(best);
  forget_windows(changed);
  return more && spend(1);
}

// Finds the edge with the smallest window; false if some edge has none.
bool CopyWalker::choose(Window& best) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  const auto look_at = [&](int v, int side, bool closes) {
    const Slot slot = window(v, side);
    const std::size_t size = closes ? (slot.size() + kClosedAtOnce - 1) / kClosedAtOnce : slot.size();
    if (size < least) {
      least = size;
      best = {v, side, closes, slot};
    }
    return slot.size() > 0;
  };
  // Edges between matched vertices first, then those whose windows are known from before or near.
  for (int turn = 0; turn < 3 && least > kFew; ++turn) {
    for (const int v : edges_) {
      if (matched_[static_cast<std::size_t>(v)]) continue;
      const CopyWalk::Edge& edge = walk_.edges[static_cast<std::size_t>(v)];
      const bool there[2] = {is_matched(edge.ends[0]), is_matched(edge.ends[1])};
      if (!there[0] && !there[1]) continue;
      const bool closes = there[0] && there[1];
      if (closes != (turn == 0)) continue;
      const int side = there[0] ? 0 : 1;
      if (!closes && is_near(v, side) != (turn == 1)) continue;
      if (!narrow(v) || !look_at(v, side, closes)) return false;
      if (closes && best.slot.size() > kFew && !look_at(v, 1, closes)) return false;
      if (least <= kFew) return true;
    }
  }
  return true;
}

// Goes on with each copy of a window.
bool CopyWalker::scan(const Window& window) {
  const CopyWalk::Edge& edge = walk_.edges[static_cast<std::size_t>(window.variable)];
  const copies::CopyIndex& rows = *edge.rows[window.side];
  const int other_level = edge.ends[1 - window.side];
  const Filters filters = filters_of(window.variable, window.side);
  const Vertex target = window.closes ? value_[static_cast<std::size_t>(other_level)] : 0;
  // Of the last edge, later copies between the same vertices are no first choice.
  const bool one_only =
      window.closes && edges_matched_ + 1 == edges_.size() && !(counting_ && compared_.count_choices);
  const std::size_t variables = order_.size();
  const std::uint32_t levels = levels_matched_;
  budget_ -= static_cast<std::int64_t>(window.slot.size() / kReadAtOnce);
  for (Place place = window.slot.first; place < window.slot.last; ++place) {
    if (window.closes && rows.row_others[place] != target) continue;
    if (!filters.fit(place)) continue;
    const Vertex other = rows.row_others[place];
    const bool matches = (window.closes || match_vertex(other_level, other)) &&
                         match_edge(window.variable, window.side, place);
    const bool more = !matches || descend();
    unmatch(variables, levels);
    if (!more) return false;
    if (matches && one_only) break;
  }
  return true;
}

bool CopyWalker::spend(std::size_t work) {
  budget_ -= static_cast<std::int64_t>(work);
  if (budget_ > 0) return true;
  spent_ += static_cast<std::uint64_t>(native_plan_.check_every - budget_);
  budget_ = native_plan_.check_every;
  if (pool_ && pool_->wants_work(this->work()) && last_ - next_ > 1) {
    // One stays where all are handed back: so each item makes progress.
    const std::uint64_t kept = pool_->hands_back() ? 1 : (last_ - next_) / 2;
    const std::uint64_t middle = next_ + kept, given = last_ - middle;
    arcs_done_ -= given;
    pool_->add({.level = 0, .from = middle, .to = last_, .arcs = given});
    last_ = middle;
  }
  return visitor_.keep_going();
}

}  // namespace motiflux::search
