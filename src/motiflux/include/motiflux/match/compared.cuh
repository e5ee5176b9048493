// Counting and listing by plans that compare attributes (match/compared_levels.hpp).
#pragma once

#include "motiflux/device/total.hpp"
#include "motiflux/match/compared_levels.hpp"
#include "motiflux/match/search.hpp"
#include "motiflux/match/store.cuh"

namespace motiflux::match {

// Counts candidates of the last level, a strip at each turn.
template <class Lanes>
class ComparedCounting : public EveryLevel {
 public:
  static constexpr bool kEnters = true;
  static constexpr bool kSharesLast = true;

  template <class Search>
  MOTIFLUX_DEVICE bool enter(Search& search, std::uint32_t level) const {
    return search.enter_level(level);
  }

  template <class Search>
  MOTIFLUX_DEVICE bool skip_last(Search&) const {
    return false;
  }

  template <class Search>
  MOTIFLUX_DEVICE bool take_last(Search&, sets::Span) const {
    return false;
  }

  template <class Search>
  MOTIFLUX_DEVICE bool take_strip(Search&) const {
    return false;
  }

  template <class Search>
  MOTIFLUX_DEVICE bool walk_last(Search& search) {
    search.spend_strip();
    Cursor& walk = search.cursor();
    found_ += count_bits(search.judge(search.last(), walk, walk.next));
    walk.next = walk.end - walk.next > Lanes::kLanes ? walk.next + Lanes::kLanes : walk.end;
    return true;
  }

  template <class Search>
  MOTIFLUX_DEVICE void report(const Search& search) {
    if (found_ > 0 && search.lanes().leads()) {
      device::add_128(search.task().control->found, found_);
      search.check_limit();
    }
    found_ = 0;
  }

 private:
  std::uint64_t found_ = 0;  // equal in all lanes
};

// Lists as other searches do, with the ranges of each level.
template <class Lanes>
class ComparedListing : public Listing<Lanes> {
 public:
  static constexpr bool kEnters = true;

  template <class Search>
  MOTIFLUX_DEVICE bool enter(Search& search, std::uint32_t level) const {
    return search.enter_level(level);
  }

  template <class Search>
  MOTIFLUX_DEVICE bool walk_last(Search& search) {
    search.spend_strip();
    return Listing<Lanes>::walk_last(search);
  }
};

template <class Plan, std::uint32_t Lanes>
MOTIFLUX_DEVICE void count_compared(const ComparedArgs<Plan>& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  Search<Compared<Plan>, lanes::Group<Lanes>> search({args.plan, args.network}, args.task, shared_memory);
  ComparedCounting<lanes::Group<Lanes>> goal;
  search.run(goal);
}

template <class Plan, std::uint32_t Lanes>
MOTIFLUX_DEVICE void store_compared(const ComparedArgs<Plan>& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  Search<Compared<Plan>, lanes::Group<Lanes>> search({args.plan, args.network}, args.task, shared_memory);
  ComparedListing<lanes::Group<Lanes>> goal;
  unsigned char* mine = args.task.saved + search.lanes().in_grid() * args.task.group_bytes;
  auto& header = *reinterpret_cast<Saved*>(mine);
  auto* levels = reinterpret_cast<LevelState*>(mine + sizeof(Saved));
  if (args.task.resume) {
    search.restore(header, levels);
    search.enter_matched();
  }
  search.run(goal);
  goal.report(search);
  search.lanes().sync();  // every lane has read the state to be overwritten
  if (goal.parked() || search.paused())
    search.save(header, levels);
  else if (search.lanes().leads())
    header = {};
}

}  // namespace motiflux::match
