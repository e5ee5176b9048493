// Counting: the last level is counted when it is reached, and not walked if its size suffices.
#pragma once

#include "motiflux/device/total.hpp"
#include "motiflux/match/flattened_levels.hpp"
#include "motiflux/match/number.cuh"
#include "motiflux/match/search.hpp"

namespace motiflux::match {

// Not inlined: with it, kernels that look candidates up in bitmaps spill three times as much.
MOTIFLUX_DEVICE_CALL void add_seldom(std::uint64_t* total, std::uint64_t found, Control& control) {
  if (device::add_128(total, found, 0))
    device::device_wide(control.overflow).store(1u, device::Order::kRelaxed);
}

template <class Lanes>
class Counting : public EveryLevel {
 public:
  static constexpr bool kCountsTails = true;

  // Of searches from updates: each lane has a waiting candidate of the last level that is walked, and counts
  // the later levels alone. Returns the candidates that are done: those whose sets are short, or single rows.
  template <class Search>
  MOTIFLUX_DEVICE std::uint32_t count_alone(Search& search, std::uint32_t level) {
    const auto& plan = search.plan();
    const Lanes& lanes = search.lanes();
    const Cursor& walk = search.cursor();
    const bool waits = (walk.waiting >> lanes.lane() & 1) != 0;
    const std::uint32_t mine = waits ? walk.base[walk.next - Lanes::kLanes + lanes.lane()] : 0;
    const VerticesWith vertex{search.shared().levels, level, mine};
    const std::uint32_t matched = bits_below(level + 1);
    const bool has_tail = plan.tail_start() == level + 1;
    const std::uint32_t parts = has_tail ? plan.parts() : 1;
    const Number weight = weight_in(search);
    std::uint64_t product = weight.low;
    bool done = waits && weight.high == 0;
    for (std::uint32_t number = 0; done && product != 0 && number < parts; ++number) {
      const TailPart part =
          has_tail ? plan.part(number) : TailPart{static_cast<std::uint8_t>(level + 1), 1, 0, 0};
      const std::uint64_t size = plan.at(part.level, [&](const auto& step) {
        return size_alone<Search::Plans::kInBits>(step, search.shared().levels, vertex,
                                                  step.shape().distinct & matched);
      });
      if (size == kTooLong) {
        done = false;
      } else if (part.levels == 1 || size < part.levels) {
        done = high_product(product, size) == 0;
        product = size < part.levels ? 0 : product * size;
      } else {
        const Ways ways = falling_factorial(size, part.levels, plan.chains(part), part.chains);
        done = !ways.overflow && ways.number.high == 0 && high_product(product, ways.number.low) == 0;
        product *= ways.number.low;
      }
      done = done && product <= kMostAlone;
    }
    if (done) found_ += product;
    lanes.sync();
    search.spend(parts);
    return lanes.ballot(done);
  }

  // Of searches from updates: all levels before the tail are matched. The product of the numbers of ways to
  // take the levels of each part.
  template <class Search>
  MOTIFLUX_DEVICE void count_tail(Search& search) {
    const auto& plan = search.plan();
    const std::uint32_t matched = bits_below(plan.tail_start());
    Number product = weight_in(search);
    bool overflow = false;
    for (std::uint32_t number = 0; number < plan.parts(); ++number) {
      const TailPart part = plan.part(number);
      const std::uint64_t size = plan.at(part.level, [&](const auto& step) {
        const view::StepShape& shape = step.shape();
        const auto sets = search.gathered(step, search.bounds(shape.after, shape.before));
        return size_of(search, sets, shape.distinct & matched);
      });
      if (size < part.levels) return;
      if (part.levels == 1) {
        overflow |= multiply(product, {size, 0});
      } else {
        const Ways ways = falling_factorial(size, part.levels, plan.chains(part), part.chains);
        overflow |= ways.overflow;
        overflow |= multiply(product, ways.number);
      }
    }
    if (search.lanes().leads()) add(search, product, overflow);
  }

  // If the last level's set would be used only once, it is counted during the intersection.
  template <class Search>
  MOTIFLUX_DEVICE bool skip_last(Search& search) {
    return search.plan().at(search.last(), [&](const auto& step) {
      const view::StepShape shape = step.shape();
      const bool serves_once = static_cast<std::uint32_t>(shape.anchor) + 1 == search.last();
      const bool one = shape.source_count + (shape.reuse != view::kNoReuse) == 1;
      if (!serves_once || (one && !Search::kChanging)) return false;
      const auto sets = search.gathered(step, search.bounds(shape.after, shape.before));
      if constexpr (Search::kChanging) {
        if (sets.has_size()) {
          const std::uint64_t size = size_of(search, sets, shape.distinct & bits_below(search.last()));
          if (search.lanes().leads()) add_times(search, size);
          return true;
        }
      }
      if constexpr (Search::kPools) {
        const std::uint64_t size = size_of(search, sets, shape.distinct & bits_below(search.last()));
        if (search.lanes().leads()) add_times(search, size);
        return true;
      }
      search.spend(sets.shortest().size() / Lanes::kLanes);
      found_ += count_common(search.lanes(), sets,
                             [&](std::uint32_t candidate) { return search.accepts(step, candidate); });
      return true;
    });
  }

  template <class Search>
  MOTIFLUX_DEVICE bool take_last(Search& search, sets::Span candidates) {
    if constexpr (Search::kPools) {
      take_last_times(search, candidates);
      return true;
    }
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

  // What all lanes found since the last report, which leaves it out then.
  template <class Search>
  MOTIFLUX_DEVICE std::uint64_t take_found(const Search& search) {
    const std::uint64_t found = search.lanes().sum(found_);
    found_ = 0;
    return found;
  }

  template <class Search>
  MOTIFLUX_DEVICE void report(const Search& search) {
    const std::uint64_t found = take_found(search);
    if (found == 0 || !search.lanes().leads()) return;
    if constexpr (Search::kChanging) {  // where larger numbers are added, too: the total may be near 2^128
      add_seldom(search.plan().total(), found, *search.task().control);
    } else {
      device::add_128(search.task().control->found, found);
      search.check_limit();
    }
  }

 private:
  // The number of partial matches that the root stands for.
  template <class Search>
  static MOTIFLUX_DEVICE Number weight_in(const Search& search) {
    if constexpr (Search::kPools)
      return search.plan().weight();
    else
      return {1, 0};
  }

  // Adds a number of matches; called by the leading lane.
  template <class Search>
  MOTIFLUX_DEVICE void add(Search& search, const Number& number, bool overflow) {
    if (number.high == 0 && number.low <= 0xffffffffu && !overflow)
      found_ += number.low;  // 2^32 of these fit
    else if (device::add_128(search.total(), number.low, number.high) || overflow)
      note_overflow(search);
  }

  template <class Search>
  static MOTIFLUX_DEVICE void note_overflow(const Search& search) {
    device::device_wide(search.task().control->overflow).store(1u, device::Order::kRelaxed);
  }

  // Adds a number of completions of the root; called by the leading lane.
  template <class Search>
  MOTIFLUX_DEVICE void add_times(Search& search, std::uint64_t size) {
    if constexpr (Search::kPools) {
      Number number = search.plan().weight();
      const bool overflow = multiply(number, {size, 0});
      add(search, number, overflow);
    } else {
      found_ += size;
    }
  }

  // Adds the size of the last level's set, without the vertices that are matched already.
  template <class Search>
  MOTIFLUX_DEVICE void take_last_times(Search& search, sets::Span candidates) {
    const std::uint64_t before = found_;
    found_ = 0;
    count_distinct(search,
                   search.plan().at(search.last(), [](const auto& step) { return step.shape().distinct; }),
                   candidates);
    const std::uint64_t size = search.lanes().sum(found_);
    found_ = before;
    if (search.lanes().leads()) add_times(search, size);
  }

  // The lanes' numbers are summed up before there are 2^24 of them.
  static constexpr std::uint64_t kMostAlone = std::uint64_t{1} << 40;

  // The number of vertices in sets that differ from those of the levels `distinct`, in all lanes.
  template <class Search, class Sets>
  MOTIFLUX_DEVICE std::uint64_t size_of(Search& search, const Sets& sets, std::uint32_t distinct) {
    if (!sets.has_size()) {
      search.spend(sets.shortest().size() / Lanes::kLanes);
      return search.lanes().sum(count_common(search.lanes(), sets, [&](std::uint32_t candidate) {
        return rules::is_distinct(distinct, candidate, search.vertices());
      }));
    }
    const std::uint64_t size = sets.spans[0].size_at(sets.moment);
    if (distinct == 0 || size == 0) return size;
    std::uint64_t taken = 0;
    std::uint32_t turn = 0;
    for_each_bit(distinct, [&](std::uint32_t level) {
      if (turn++ % Lanes::kLanes == search.lanes().lane())
        taken += sets.spans[0].contains(search.vertex(level), sets.moment) &&
                 rules::is_first(distinct, level, search.vertices());
    });
    return size - search.lanes().sum(taken);
  }

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
