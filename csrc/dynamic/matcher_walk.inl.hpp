// Searches from a changed edge: the plans that it concerns, and the levels that plans share.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "dynamic/matcher.hpp"
#include "motiflux/bits.hpp"

namespace motiflux::dynamic {

template <class View>
Total Matcher<View>::count_part(std::size_t first, std::size_t last) {
  const sets::Span all = clipped(2);
  return count_over(2, {all.first + first, all.first + last});
}

template <class View>
void Matcher<View>::begin(const View& view, const Edge& edge, std::span<const Plan> plans) {
  view_ = &view;
  edge_ = edge;
  plans_ = plans;
  plan_ = nullptr;  // that of the last update may be gone
  spend(1);
  memory_.make_room();
  if (sets_.size() < all_sets_) sets_.resize(all_sets_);
  assign(0, edge.source);
  search_ = clock_;
  assign(1, edge.target);
}

template <class View>
void Matcher<View>::prefetch_around() const {
  const auto around = [&](const Rows& rows) {
    std::array<sets::Span, 2> near{rows.all(value_[0]), rows.all(value_[1])};
    for (sets::Span& some : near) some.last = std::min(some.last, some.first + kMostFetched);
    for (const sets::Span& some : near)
      for (Vertex vertex : some) rows.prefetch(vertex);
    for (const sets::Span& some : near)
      for (Vertex vertex : some) rows.prefetch_row(vertex);
  };
  around(view_->graph.rows(Way::kOut));
  if (view_->graph.directed()) around(view_->graph.rows(Way::kIn));
}

template <class View>
PlanBits Matcher<View>::concerned(const Forest& forest, PlanBits among) {
  among = forest.ends[0].met(*view_, value_[0], among);
  if (among != 0) among = forest.ends[1].met(*view_, value_[1], among);
  for_each_plan(among & forest.checked, [&](std::size_t number) {
    plan_ = &plans_[forest.plans[number]];
    if (!has_label_and_place(0) || !has_label_and_place(1) || !changes()) among &= ~(PlanBits{1} << number);
  });
  return among;
}

// Whether a plan may have matches with the edge.
template <class View>
bool Matcher<View>::fits(const Plan& plan) {
  plan_ = &plan;
  return view_->serves(value_[0], plan.needs[0]) && view_->serves(value_[1], plan.needs[1]) &&
         has_label_and_place(0) && has_label_and_place(1) && changes();
}

template <class View>
auto Matcher<View>::divide(const Forest& forest, PlanBits among) -> Division {
  if constexpr (!View::kHoles)
    if (pays_to_sum(forest, among & forest.summed))
      return {among & forest.summed, among & ~(forest.summed | forest.spared)};
  return {0, among};
}

// Prepares the sums of `among`, if there are any and they are likely to take less time than searches.
template <class View>
bool Matcher<View>::pays_to_sum(const Forest& forest, PlanBits among) {
  const int size = std::popcount(among);
  if (size == 0 || (size < kFewestSums && !forest.always_sums)) return false;
  const std::size_t most = forest.always_sums ? SIZE_MAX : static_cast<std::size_t>(size) * kMostSummed;
  return sums_.begin(*forest.quotients, *view_, value_[0], value_[1], most);
}

// Searches for the matches of `plans` with the vertices chosen up to the level of a branch.
template <class View>
template <class Found>
void Matcher<View>::walk(const Forest& forest, std::size_t at, PlanBits plans, Found& found) {
  const Branch& branch = forest.branches[at];
  PlanBits alone = plans & branch.own;
  const auto for_each_below = [&](auto&& visit) {
    for (std::size_t below = at + 1; below < branch.end; below = forest.branches[below].end)
      if (const PlanBits some = plans & ~alone & forest.branches[below].plans; some != 0) visit(below, some);
  };
  for_each_below([&](std::size_t below, PlanBits some) {
    if (forest.branches[below].grouped && std::has_single_bit(some)) alone |= some;
  });
  for_each_plan(alone, [&](std::size_t number) { walk_own(forest, number, branch.level, found); });
  for_each_below([&](std::size_t below, PlanBits some) {
    walk_over(forest, below, some, candidates_of(forest.branches[below]), found);
  });
}

// Searches for the matches of one plan.
template <class View>
template <class Found>
void Matcher<View>::walk_own(const Forest& forest, std::size_t number, int level, Found& found) {
  plan_ = &plans_[forest.plans[number]];
  latest_ = level;
  const bool all = level + 1 == plan_->levels();
  if ((forest.listed >> number & 1) == 0) {
    const int tallied = plan_->tallied_level();
    if (tallied > level) {
      const auto tally = [&](Vertex vertex, Total matches) { found.tally(number, vertex, matches); };
      found.count(number, tally_from(level + 1, tally));
      return;
    }
    const Total matches = all ? 1 : count_from(level + 1);
    found.count(number, matches);
    if (tallied != kNone) found.tally(number, value_[static_cast<std::size_t>(tallied)], matches);
    return;
  }
  const auto wrote = [&](std::size_t count) { found.wrote(number, count); };
  const Vertex last = value_[static_cast<std::size_t>(level)];
  if (all)
    write({&last, &last + 1}, found.rows(number), wrote);
  else
    list_from(level + 1, found.rows(number), wrote);
}

// The vertices of a branch.
template <class View>
sets::Span Matcher<View>::candidates_of(const Branch& branch) {
  plan_ = &plans_[branch.plan];
  return clipped(step(branch.level), branch.loop.set, branch.loop.after, branch.loop.before);
}

// The plans whose own order restrictions a vertex of a branch meets.
template <class View>
PlanBits Matcher<View>::within_bounds(const Branch& branch, PlanBits plans, Vertex vertex) const {
  for (const Bound& bound : branch.bounds) {
    const auto [first, end] = bounds(bound.after, bound.before);
    if (vertex < first || vertex >= end) plans &= ~bound.plans;
  }
  return plans;
}

// Takes some of the vertices of a branch one after another.
template <class View>
template <class Found>
void Matcher<View>::walk_over(const Forest& forest, std::size_t at, PlanBits plans, sets::Span candidates,
                              Found& found) {
  const Branch& branch = forest.branches[at];
  const Loop& loop = branch.loop;
  spend(1 + candidates.size());
  for (Vertex vertex : candidates) {
    PlanBits some = branch.required.met(*view_, vertex, plans);
    if (some == 0 || is_hole(loop.set, vertex) || is_taken(loop.distinct, vertex)) continue;
    if (!branch.bounds.empty()) [[unlikely]]
      if (some = within_bounds(branch, some, vertex); some == 0) continue;
    assign(branch.level, vertex);
    walk(forest, at, some, found);
  }
}

// Whether the two vertices satisfy all query edges between them only with the changed edge.
template <class View>
bool Matcher<View>::changes() const {
  if (plan_->negates) [[unlikely]]
    return changes_negated();
  if (plan_->pair.size() == 1 && view_->one_witness(plan_->pair[0].relation)) return true;
  bool without = true;
  for (const PairEdge& asked : plan_->pair) {
    if (!view_->witnessed(value_[0], value_[1], asked.way, asked.relation, nullptr)) return false;
    without = without && view_->witnessed(value_[0], value_[1], asked.way, asked.relation, &edge_);
  }
  return !without;
}

// The same where edges must not be there. Of an inverse plan, they satisfy all only without the changed edge.
// In a batch, matches that are there neither before it nor after it are left out: `admits`, too.
template <class View>
bool Matcher<View>::changes_negated() const {
  if (plan_->free_end != kNone) return changes_bare();
  for (int level : {0, 1}) {
    if (!has_few(level, value_[static_cast<std::size_t>(level)])) return false;
    for (const Bareness& one : step(level).bare)
      if (!is_bare(one, 1, value_[1], nullptr) || !is_bare_around(one, 1, value_[1])) return false;
  }
  const auto holds = [&](auto&& there) {
    return std::ranges::all_of(plan_->pair, there) && std::ranges::none_of(plan_->pair_absent, there);
  };
  const auto holds_but = [&](const Edge* ignored) {
    return holds([&](const PairEdge& asked) {
      return view_->witnessed(value_[0], value_[1], asked.way, asked.relation, ignored);
    });
  };
  const bool with = holds_but(nullptr);
  if (with == plan_->inverse || with == holds_but(&edge_)) return false;
  if (view_->one_change && !holds([&](const PairEdge& asked) {
        return view_->witnessed_around(value_[0], value_[1], asked.way, asked.relation, brings());
      }))
    return false;
  return !plan_->selects || plan_->levels() > 2 || is_reported(1, value_[1]);
}

// The same where the changed edge is one to any vertex: its other end has no such edge but this one.
template <class View>
bool Matcher<View>::changes_bare() const {
  const int level = 1 - plan_->free_end;
  if (!has_few(level, value_[static_cast<std::size_t>(level)])) return false;
  return std::ranges::all_of(step(level).bare,
                             [&](const Bareness& one) { return turns_bare(one, 1, value_[1]); });
}

// Whether a vertex has none of the neighbours that it must not have only without the changed edge.
template <class View>
bool Matcher<View>::turns_bare(const Bareness& one, int level, Vertex vertex) const {
  return is_bare(one, level, vertex, &edge_) && !is_bare(one, level, vertex, nullptr) &&
         is_bare_around(one, level, vertex);
}

// Whether it has none in a plan that starts from another edge.
template <class View>
bool Matcher<View>::stays_bare(const Bareness& one, int level, Vertex vertex) const {
  if (!is_bare(one, level, vertex, one.before_change ? &edge_ : nullptr)) return false;
  // If both ends of the changed edge lose their last such edge, the match is found from both: it is that of
  // the end with the smaller number.
  if (plan_->injective && plan_->free_end != kNone) {
    const Vertex end = value_at(one.level, level, vertex);
    if (end == value_[static_cast<std::size_t>(plan_->free_end)] &&
        end < value_[static_cast<std::size_t>(1 - plan_->free_end)] && !is_bare(one, level, vertex, nullptr))
      return false;
  }
  return is_bare_around(one, level, vertex);
}

// Whether a neighbour is one of those that must not be there, by the list of these.
template <class View>
bool Matcher<View>::may_be(const Bare& kind, Vertex neighbor) const {
  return kind.allowed == kNone ||
         std::ranges::binary_search(allowed_[static_cast<std::size_t>(kind.allowed)], neighbor);
}

// Whether a vertex has no neighbour that it must not have of which `there` says that an edge joins them.
template <class View>
template <class There>
bool Matcher<View>::none_there(const Bareness& one, int level, Vertex vertex, There&& there) const {
  const Vertex from = value_at(one.level, level, vertex);
  return std::ranges::none_of(one.kinds, [&](const Bare& kind) {
    return view_->graph.any_neighbor(from, kind.way, kind.target, [&](Vertex neighbor) {
      if (!may_be(kind, neighbor)) return false;
      bool besides = false;
      for_each_bit(kind.besides, [&](std::uint32_t at) {
        besides |= value_at(static_cast<int>(at), level, vertex) == neighbor;
      });
      return !besides && there(from, neighbor, kind);
    });
  });
}

// Whether a vertex has none of the neighbours that it must not have; `ignored`: an edge that is taken not to
// be there.
template <class View>
bool Matcher<View>::is_bare(const Bareness& one, int level, Vertex vertex, const Edge* ignored) const {
  return none_there(one, level, vertex, [&](Vertex from, Vertex to, const Bare& kind) {
    return view_->witnessed(from, to, kind.way, kind.relation, ignored);
  });
}

// The same, in a batch, after it for matches that it brings, else before it.
template <class View>
bool Matcher<View>::is_bare_around(const Bareness& one, int level, Vertex vertex) const {
  return !view_->one_change || none_there(one, level, vertex, [&](Vertex from, Vertex to, const Bare& kind) {
    return view_->witnessed_around(from, to, kind.way, kind.relation, brings());
  });
}

// Whether a vertex has at most as many of the neighbours that it must not have as levels may be among them.
template <class View>
bool Matcher<View>::has_few(int level, Vertex vertex) const {
  for (const Bareness& one : step(level).few) {
    const bool starts = plan_->free_end != kNone && level == 1 - plan_->free_end;
    const Edge* const ignored = starts || one.before_change ? &edge_ : nullptr;
    for (const Bare& kind : one.kinds) {
      std::array<Vertex, view::kMaxLevels> seen;
      const auto most = static_cast<std::size_t>(std::popcount(kind.besides));
      std::size_t found = 0;
      if (view_->graph.any_neighbor(vertex, kind.way, kind.target, [&](Vertex neighbor) {
            const auto end = seen.begin() + static_cast<std::ptrdiff_t>(found);
            if (!may_be(kind, neighbor) || std::find(seen.begin(), end, neighbor) != end ||
                !view_->witnessed(vertex, neighbor, kind.way, kind.relation, ignored))
              return false;
            if (found == most) return true;
            seen[found++] = neighbor;
            return false;
          }))
        return false;
    }
  }
  return true;
}

// Whether a match is reported by this plan: of rows that stand for one another it is the one, and no other
// case holds on the other side of the change.
template <class View>
bool Matcher<View>::is_reported(int level, Vertex vertex) const {
  for (const auto& [first, second] : plan_->ascending)
    if (value_at(first, level, vertex) > value_at(second, level, vertex)) return false;
  return plan_->others.empty() || !holds_otherwise(level, vertex);
}

// Whether another case holds before the change of a match that comes, or after that of one that goes.
template <class View>
bool Matcher<View>::holds_otherwise(int level, Vertex vertex) const {
  const auto there = [&](Vertex from, Vertex to, const auto& edge) {
    if (view_->one_change) return view_->witnessed_around(from, to, edge.way, edge.relation, !brings());
    return view_->witnessed(from, to, edge.way, edge.relation, plan_->inverse ? nullptr : &edge_);
  };
  const auto joined = [&](const Joined& one) {
    return there(value_at(one.first, level, vertex), value_at(one.second, level, vertex), one);
  };
  return std::ranges::any_of(plan_->others,
                             [&](const OtherCase& one) {
                               return std::ranges::all_of(one.there, joined) &&
                                      std::ranges::none_of(one.absent, joined);
                             }) &&
         std::ranges::all_of(plan_->steps, [&](const Step& step) {
           return std::ranges::all_of(
               step.bare, [&](const Bareness& one) { return none_there(one, level, vertex, there); });
         });
}

// Whether a vertex has none of the edges that must not be there, to earlier levels and to any vertex.
template <class View>
bool Matcher<View>::admits(int level, Vertex vertex) const {
  const Step& step = this->step(level);
  const auto value = [&](int other) { return value_[static_cast<std::size_t>(other)]; };
  for (const Absent& one : step.absent)
    if (view_->witnessed(value(one.level), vertex, one.way, one.relation,
                         one.before_change ? &edge_ : nullptr))
      return false;
  if (!step.bare.empty() || !step.few.empty()) [[unlikely]]
    if (!admits_neighbors(level, vertex)) return false;
  if (view_->one_change) {
    const auto around = [&](const auto& one) {
      return view_->witnessed_around(value(one.level), vertex, one.way, one.relation, brings());
    };
    if (!std::ranges::all_of(step.sources, around) || !std::ranges::none_of(step.absent, around))
      return false;
  }
  if (plan_->selects && level + 1 == plan_->levels()) [[unlikely]]
    return is_reported(level, vertex);
  return true;
}

// Whether the vertices that are known with that of a level have no neighbours that they must not have.
template <class View>
bool Matcher<View>::admits_neighbors(int level, Vertex vertex) const {
  if (!has_few(level, vertex)) return false;
  return std::ranges::all_of(step(level).bare, [&](const Bareness& one) {
    const bool starts = plan_->free_end != kNone && one.level == 1 - plan_->free_end;
    return starts ? turns_bare(one, level, vertex) : stays_bare(one, level, vertex);
  });
}

template <class View>
bool Matcher<View>::has_label_and_place(int level) const {
  const Step& step = plan_->steps[static_cast<std::size_t>(level)];
  const Vertex vertex = value_[static_cast<std::size_t>(level)];
  if (step.allowed != kNone) {
    const auto& list = allowed_[static_cast<std::size_t>(step.allowed)];
    if (!std::binary_search(list.begin(), list.end(), vertex)) return false;
  }
  return true;
}

}  // namespace motiflux::dynamic
