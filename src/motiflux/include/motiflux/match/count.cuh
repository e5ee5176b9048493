// Counting: the last level is counted when it is reached, and not walked if its size suffices.
#pragma once

#include "motiflux/device/total.hpp"
#include "motiflux/match/flattened_levels.hpp"
#include "motiflux/match/search.hpp"

namespace motiflux::match {

template <class Lanes>
class Counting : public EveryLevel {
 public:
  // If the last level's set would be used only once, it is counted during the intersection.
  template <class Search>
  MOTIFLUX_DEVICE bool skip_last(Search& search) {
    return search.plan().at(search.last(), [&](const auto& step) {
      const view::StepShape shape = step.shape();
      const bool serves_once = static_cast<std::uint32_t>(shape.anchor) + 1 == search.last();
      const bool one = shape.source_count + (shape.reuse != view::kNoReuse) == 1;
      if (!serves_once || (one && !Search::kChanging)) return false;
      const auto sets = search.gathered(step, search.bounds(shape.after, shape.before));
      if (Search::kChanging && sets.is_set()) return false;
      search.spend(sets.shortest().size() / Lanes::kLanes);
      found_ += count_common(search.lanes(), sets,
                             [&](std::uint32_t candidate) { return search.accepts(step, candidate); });
      return true;
    });
  }

  template <class Search>
  MOTIFLUX_DEVICE bool take_last(Search& search, sets::Span candidates) {
    search.plan().at(search.last(), [&](const auto& step) {
      const view::StepShape shape = step.shape();
      if (Search::kChanging || (shape.not_out | shape.not_in) == 0)
        count_distinct(search, shape.distinct, candidates);
      else
        count_each(search, candidates,
                   [&](std::uint32_t candidate) { return search.accepts(step, candidate); });
    });
    return true;
  }

  template <class Search>
  MOTIFLUX_DEVICE bool take_strip(Search& search) {
    if constexpr (Search::kChanging) {
      return false;
    } else {
      if (search.task().flatten_last == 0) return false;
      const std::uint32_t passed = search.cursor().waiting;
      return search.plan().at(search.last(),
                              [&](const auto& step) { return Strip(search, step, passed).count(found_); });
    }
  }

  // Only for plans of two levels, whose last level is a slice of a row.
  template <class Search>
  MOTIFLUX_DEVICE bool walk_last(Search& search) {
    if constexpr (!Search::kChanging) {
      Cursor& walk = search.cursor();
      count_each(search, {walk.base, walk.base + walk.end}, [&](std::uint32_t candidate) {
        return search.plan().at(1, [&](const auto& step) { return search.accepts_first(step, candidate); });
      });
      walk.next = walk.end;
    }
    return true;
  }

  template <class Search>
  MOTIFLUX_DEVICE void report(const Search& search) {
    const std::uint64_t found = search.lanes().sum(found_);
    found_ = 0;
    if (found == 0 || !search.lanes().leads()) return;
    if constexpr (Search::kChanging) {
      device::add_128(search.plan().total(), found);
    } else {
      device::add_128(search.task().control->found, found);
      search.check_limit();
    }
  }

 private:
  // The size of the list minus its vertices that are matched already: one lookup per matched vertex.
  template <class Search>
  MOTIFLUX_DEVICE void count_distinct(const Search& search, std::uint32_t levels, sets::Span candidates) {
    if (search.lanes().leads()) found_ += candidates.size();
    std::uint32_t turn = 0;
    for_each_bit(levels, [&](std::uint32_t level) {
      if (turn++ % Lanes::kLanes == search.lanes().lane())
        found_ -= sets::contains(candidates, search.vertex(level)) &&
                  rules::is_first(levels, level, [&](std::uint32_t l) { return search.vertex(l); });
    });
  }

  template <class Search, class Accepts>
  MOTIFLUX_DEVICE void count_each(Search& search, sets::Span candidates, Accepts&& accepts) {
    search.spend(candidates.size() / Lanes::kLanes);
    for (std::uint64_t mine = search.lanes().lane(); mine < candidates.size(); mine += Lanes::kLanes)
      found_ += accepts(candidates.first[mine]);
  }

  // This lane's share. It may be negative: the lanes are summed modulo 2^64.
  std::uint64_t found_ = 0;
};

// The body of a counting kernel.
template <class Plan, std::uint32_t Lanes, class Within = NoStealing>
MOTIFLUX_DEVICE void count(const SearchArgs<Plan>& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  Search<Plan, lanes::Group<Lanes>, Within> search(args.plan, args.task, shared_memory);
  Counting<lanes::Group<Lanes>> goal;
  search.run(goal);
}

}  // namespace motiflux::match
