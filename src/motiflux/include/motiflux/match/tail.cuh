// Counting where the last levels are a tail (view/tail.hpp): they are not enumerated.
//
// A component belongs to the last level that it depends on. The numbers of a level's components are computed
// when its vertex is known, and multiplied from level to level: `weights[l]` is the product for the levels up
// to l. Where it is zero, nothing below is searched. At the last enumerated level, each lane takes a
// candidate and counts alone, if it can; else the group takes the candidates one after another.
//
// The child block of a level of the tail is a sum over its candidates, each counted in the same way: by a
// separate walk, which keeps its position in shared memory.
//
//   | spans | levels | weights: a Number for each level | frames: one for each level | sizes: kMostSizes |
//   | key: kMostKeyWords |
#pragma once

#include "motiflux/device/total.hpp"
#include "motiflux/match/number.cuh"
#include "motiflux/match/search.hpp"
#include "motiflux/match/tail_memo.hpp"
#include "motiflux/match/tail_sets.hpp"

namespace motiflux::match {

enum class TailForm { kRoots, kFlat, kNested };

// The longest row that a lane walks alone to count for its candidate.
inline constexpr std::uint64_t kShortWalk = 24;

template <class Plan, class Lanes, TailForm kForm, class Within>
class TailCounting {
 public:
  static constexpr bool kEnters = true;
  static constexpr bool kCountsTails = false;  // those of this header are in the argument
  static constexpr bool kSharesLast = true;
  static constexpr bool kWalks = kForm == TailForm::kNested;
  using Args = TailArgs<Plan>;
  using Searching = Search<Plan, Lanes, Within>;

  MOTIFLUX_DEVICE TailCounting(Searching& search, const Args& args)
      : search_(search),
        args_(args),
        tail_(args.tail),
        weights_(reinterpret_cast<Number*>(search.shared().staged)),
        frames_(reinterpret_cast<TailFrame*>(weights_ + search.plan().levels())),
        sizes_(reinterpret_cast<std::uint64_t*>(frames_ + search.plan().levels())),
        key_(reinterpret_cast<std::uint32_t*>(sizes_ + view::kMostSizes)) {}

  // A level before the last enumerated one has a new vertex. False if the vertex has no embeddings.
  MOTIFLUX_DEVICE bool enter(Searching&, std::uint32_t level) {
    if constexpr (kWalks) {
      known_ = level < known_ ? level : known_;
      return true;
    }
    if ((tail_.early & bits_below(level + 1)) == 0) return true;
    Number weight = weight_before(level);
    multiply_together(level, weight);
    if (weight.is_zero()) return false;
    lanes().sync();  // weights_ was read
    if (lanes().leads()) weights_[level] = weight;
    lanes().sync();
    return true;
  }

  MOTIFLUX_DEVICE bool skip_last(Searching&) { return false; }

  MOTIFLUX_DEVICE bool take_last(Searching&, sets::Span) { return false; }

  MOTIFLUX_DEVICE bool take_strip(Searching&) { return false; }

  MOTIFLUX_DEVICE bool walk_last(Searching& search) {
    Cursor& walk = search.cursor();
    const std::uint32_t end = walk.end - walk.next > Lanes::kLanes ? walk.next + Lanes::kLanes : walk.end;
    take({walk.base, walk.next, end, 0});
    walk.next = end;
    return !stopped_;
  }

  // Whether the search was stopped in the middle of a tail.
  MOTIFLUX_DEVICE bool stopped() const { return stopped_; }

  MOTIFLUX_DEVICE void report(Searching&) { report(); }

  // A tail from level 1 on: only the roots are enumerated, `task.arcs` of them.
  MOTIFLUX_DEVICE void count_roots() {
    const Task& task = search_.task();
    while (!search_.stopped()) {
      std::uint64_t first = 0;
      if (search_.lanes().leads())
        first = device::device_wide(task.control->taken)
                    .fetch_add(std::uint64_t{task.chunk}, device::Order::kRelaxed);
      first = search_.lanes().broadcast(first);
      if (first >= task.arcs) return;
      const std::uint64_t end = first + task.chunk < task.arcs ? first + task.chunk : task.arcs;
      const std::uint64_t begin = first * task.stride + std::uint64_t{task.first} * task.chunk;
      take({nullptr, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin + end - first), 0});
      if (stopped_) return;
      report();
      if (search_.lanes().leads())
        device::device_wide(task.control->done).fetch_add(end - first, device::Order::kRelaxed);
    }
  }

 private:
  MOTIFLUX_DEVICE const Lanes& lanes() const { return search_.lanes(); }
  MOTIFLUX_DEVICE const view::TailLevel& at(std::uint32_t level) const { return tail_.levels[level]; }
  MOTIFLUX_DEVICE std::uint32_t last() const { return tail_.start - 1; }

  // The product of the numbers of the levels before.
  MOTIFLUX_DEVICE Number weight_before(std::uint32_t level) const {
    const bool none = kWalks ? level == 0 : (tail_.early & bits_below(level)) == 0;
    return none ? Number{1, 0} : weights_[level - 1];
  }

  // Adds the sum over a walk of the last enumerated level.
  MOTIFLUX_DEVICE void take(const Cursor& walk) {
    if constexpr (kWalks) {
      take_nested(walk);
    } else {
      Number sum{0, 0};
      stopped_ = !sum_by_strips(last(), walk, sum);
      if (!stopped_) add_weighted(sum);
    }
  }

  MOTIFLUX_DEVICE void add_weighted(Number sum) {
    if (sum.is_zero()) return;
    overflow_ |= multiply(sum, weight_before(last()));
    overflow_ |= add(found_, sum);
  }

  // The same for a nested tail. The numbers of the levels before are computed now, if their vertices have
  // changed: each by a walk over the level's one vertex.
  MOTIFLUX_DEVICE void take_nested(const Cursor& walk) {
    for (std::uint32_t level = known_; level <= last(); ++level) {
      if (weight_before(level).is_zero()) return;
      const bool at_last = level == last();
      const Cursor own{&search_.shared().levels[level].vertex, 0, 1, 0};
      Number sum{0, 0};
      stopped_ = !sum_by_walk(level, at_last ? walk : own, sum);
      if (stopped_) return;
      if (at_last) return add_weighted(sum);
      Number weight = all_of(sum);
      overflow_ |= multiply(weight, weight_before(level));
      lanes().sync();  // weights_ was read
      if (lanes().leads()) weights_[level] = weight;
      lanes().sync();
      known_ = level + 1;
    }
  }

  MOTIFLUX_DEVICE bool tick(std::uint64_t steps) {
    search_.spend(steps);
    if (!search_.exhausted()) return true;
    report();
    return !search_.stopped();
  }

  MOTIFLUX_DEVICE std::uint32_t candidate_of(const Cursor& walk, std::uint32_t place) const {
    return walk.base == nullptr ? place : walk.base[place];
  }

  MOTIFLUX_DEVICE bool accepts(std::uint32_t level, std::uint32_t candidate) const {
    if (level < last()) return true;  // its vertex
    if (level > last())
      return rules::is_distinct(tail_.sets[at(level).set].apart, candidate, search_.vertices());
    return search_.plan().at(level,
                             [&](const auto& step) { return search_.accepts_at(level, step, candidate); });
  }

  // The vertices as they are with the calling lane's candidate at `level`.
  MOTIFLUX_DEVICE VerticesWith vertices_with(std::uint32_t level, std::uint32_t candidate) const {
    return {search_.shared().levels, level, candidate};
  }

  MOTIFLUX_DEVICE void assign(std::uint32_t level, std::uint32_t vertex) const {
    lanes().sync();  // no lane reads the old vertex any more
    if (lanes().leads()) search_.shared().levels[level].vertex = vertex;
    lanes().sync();
  }

  // Sums over candidates strip by strip, one per lane, or one after another where a lane cannot count alone.
  // Each lane gets a share of the sum. False to break off.
  MOTIFLUX_DEVICE bool sum_by_strips(std::uint32_t level, const Cursor& walk, Number& sum) {
    for (std::uint32_t strip = walk.next; strip < walk.end; strip += Lanes::kLanes) {
      const std::uint32_t place = strip + lanes().lane();
      const std::uint32_t candidate = place < walk.end ? candidate_of(walk, place) : 0;
      const bool accepted = place < walk.end && accepts(level, candidate);
      const bool alone =
          accepted && at(level).by_lane && (!at(level).walks || takes_short_walks(level, candidate));
      if (alone) {
        const Number ways = count_alone(level, candidate);
        overflow_ |= add(sum, ways);
      }
      std::uint32_t rest = at(level).by_lane && !at(level).walks ? 0 : lanes().ballot(accepted && !alone);
      for (; rest != 0; rest &= rest - 1) {
        assign(level, lanes().broadcast(candidate, lowest_bit(rest)));
        Number ways{1, 0};
        multiply_together(level, ways);
        if (lanes().leads()) overflow_ |= add(sum, ways);
        search_.spend(1);
      }
      if (!tick(1)) return false;
    }
    return true;
  }

  // Computes the sizes of a component and returns its number, unless it is a sum of terms. size(i) is the
  // i-th size; the sizes of levels come first.
  template <class SizeOf>
  MOTIFLUX_DEVICE Number ways_of(const view::TailComponent& component, SizeOf&& size) {
    const std::uint32_t b = component.size_of[1], both = component.size_of[2];
    std::uint64_t found[3] = {0, 0, 0};
    for (std::uint32_t i = 0; i < component.sizes; ++i) {
      const std::uint64_t one = size(i);
      if (one == 0 && i <= b && component.kind != view::TailKind::kMixed) return {0, 0};
      if (i == 0) found[0] = one;
      if (i == 1) found[1] = one;
      if (i == 2) found[2] = one;
    }
    if (component.kind == view::TailKind::kOne) return {found[0], 0};
    if (component.kind == view::TailKind::kSame) {
      const Ways ways = falling_factorial(found[0], component.levels, tail_.chains + component.first_chain,
                                          component.chains);
      overflow_ |= ways.overflow;
      return ways.number;
    }
    const std::uint64_t second = b == 0 ? found[0] : found[1];
    Number ways{found[0] * second, high_product(found[0], second)};
    subtract(ways, {both == 0 ? found[0] : both == 1 ? found[1] : found[2], 0});
    return ways;
  }

  MOTIFLUX_DEVICE Number count_alone(std::uint32_t level, std::uint32_t candidate) {
    Number ways{1, 0};
    const view::TailLevel own = at(level);
    for (std::uint32_t c = own.first_component; c < own.first_component + own.components; ++c) {
      const view::TailComponent& component = tail_.components[c];
      // A separate statement: NVRTC reads the left side of `|=` before it calls the right side, which sets
      // overflow_ too.
      const Number found = ways_of(component, [&](std::uint32_t i) {
        return size_alone(search_.plan(), tail_, component.first_set + i, vertices_with(level, candidate));
      });
      overflow_ |= multiply(ways, found);
      if (ways.is_zero()) break;
    }
    return ways;
  }

  MOTIFLUX_DEVICE bool takes_short_walks(std::uint32_t level, std::uint32_t candidate) const {
    const view::TailLevel own = at(level);
    for (std::uint32_t c = own.first_component; c < own.first_component + own.components; ++c)
      for (std::uint32_t i = 0; i < tail_.components[c].sizes; ++i) {
        const auto spans = spans_of(search_.plan(), tail_, tail_.components[c].first_set + i,
                                    vertices_with(level, candidate));
        std::uint32_t which = 0;
        if (spans.count() > 1 && spans.shortest(which).size() > kShortWalk) return false;
      }
    return true;
  }

  // Multiplies by the components that belong to a level, all lanes together.
  MOTIFLUX_DEVICE void multiply_together(std::uint32_t level, Number& ways) {
    const view::TailLevel own = at(level);
    for (std::uint32_t c = own.first_component; c < own.first_component + own.components; ++c) {
      if (ways.is_zero()) return;
      const view::TailComponent& component = tail_.components[c];
      const auto size = [&](std::uint32_t i) {
        const Measured found =
            size_together(lanes(), search_.shared(), search_.plan(), tail_, component.first_set + i);
        search_.spend(found.steps);
        return found.size;
      };
      lanes().sync();  // the last reader of the sizes is done
      Number found = ways_of(component, [&](std::uint32_t i) {
        const std::uint64_t one = size(i);
        if (lanes().leads()) sizes_[i] = one;
        return one;
      });
      if (component.kind == view::TailKind::kMixed) found = mixed(component);
      overflow_ |= multiply(ways, found);
    }
  }

  // Inclusion and exclusion, one term per lane. The sum is right modulo 2^128 for any terms; it is less than
  // the product of the sizes.
  MOTIFLUX_DEVICE Number mixed(const view::TailComponent& component) {
    lanes().sync();
    Number most{1, 0};
    for (std::uint32_t l = 0; l < component.levels; ++l) {
      const std::uint64_t found = sizes_[component.size_of[l]];
      if (found == 0) return {0, 0};
      overflow_ |= multiply(most, {found, 0});
    }
    Number sum{0, 0};
    for (std::uint32_t t = lanes().lane(); t < component.terms; t += Lanes::kLanes) {
      const view::TailTerm& term = tail_.terms[component.first_term + t];
      const bool negative = term.coefficient < 0;
      Number product{static_cast<std::uint64_t>(negative ? -term.coefficient : term.coefficient), 0};
      for (std::uint32_t f = 0; f < term.factors; ++f) multiply(product, {sizes_[term.size[f]], 0});
      if (negative)
        subtract(sum, product);
      else
        add(sum, product);
    }
    Number ways = sum_over(lanes(), sum).number;
    if (component.divisor > 1) ways = quotient(ways, component.divisor);
    return ways;
  }

  MOTIFLUX_DEVICE bool keeps(std::uint32_t level) const {
    return args_.kept_mask != 0 && at(level).key_words != 0;
  }

  MOTIFLUX_DEVICE TailMemo<Lanes> memo() const {
    return {lanes(), args_.kept, args_.kept_mask, search_.shared().levels, key_};
  }

  // The sum of the lanes' shares, in all lanes.
  MOTIFLUX_DEVICE Number all_of(const Number& share) {
    const Wrapped sum = sum_over(lanes(), share);
    overflow_ |= sum.overflow;
    return sum.number;
  }

  // The candidates of a walked level of the tail, matched vertices not yet excluded.
  MOTIFLUX_DEVICE Cursor open(std::uint32_t level) {
    const Gathered gathered = gather(lanes(), search_.shared(), search_.plan(), tail_, at(level).set);
    const sets::Span shortest = gathered.shortest();
    if (gathered.count == 1) return {shortest.first, 0, static_cast<std::uint32_t>(shortest.size()), 0};
    std::uint32_t* buffer = search_.buffer(level);
    search_.spend(shortest.size() / Lanes::kLanes);
    return {buffer, 0, intersect(lanes(), gathered, buffer), 0};
  }

  // The sum, over the candidates of `top`, of the products of the numbers of this level and the levels below;
  // each lane gets a share. False to break off.
  MOTIFLUX_DEVICE bool sum_by_walk(std::uint32_t top, Cursor walk, Number& result) {
    std::uint32_t level = top;
    Number sum{0, 0};  // each lane's share
    for (;;) {
      if (at(level).by_lane) {
        if (!sum_by_strips(level, walk, sum)) return false;
        walk.next = walk.end;
        walk.waiting = 0;
      }
      Number product{1, 0};
      std::uint32_t child = 0;
      if (!next(level, walk)) {
        if (level == top) break;
        const Number below = all_of(sum);
        level = at(level).parent;
        const TailFrame& frame = frames_[level];
        walk = frame.walk;
        sum = lanes().leads() ? frame.sum : Number{0, 0};
        product = frame.product;
        child = frame.child + 1;
        overflow_ |= multiply(product, below);
      } else {
        if (!tick(1)) return false;
        if (keeps(level) && memo().find(at(level), level, product)) {
          if (lanes().leads()) overflow_ |= add(sum, product);
          continue;
        }
        multiply_together(level, product);
      }
      if (product.is_zero() || child == at(level).children) {
        if (keeps(level)) memo().keep(at(level), level, product);
        if (lanes().leads()) overflow_ |= add(sum, product);
        continue;
      }
      const Number so_far = all_of(sum);
      lanes().sync();  // the frame was read
      if (lanes().leads()) frames_[level] = {so_far, product, walk, child, 0};
      level = tail_.children[at(level).first_child + child];
      walk = open(level);
      sum = {0, 0};
    }
    result = sum;
    return true;
  }

  // Matches a level to its next candidate; false if there is none.
  MOTIFLUX_DEVICE bool next(std::uint32_t level, Cursor& walk) {
    while (walk.waiting == 0) {
      if (walk.next >= walk.end) return false;
      const std::uint32_t place = walk.next + lanes().lane();
      walk.waiting = lanes().ballot(place < walk.end && accepts(level, candidate_of(walk, place)));
      walk.next += Lanes::kLanes;
    }
    const std::uint32_t chosen = lowest_bit(walk.waiting);
    walk.waiting &= walk.waiting - 1;
    assign(level, candidate_of(walk, walk.next - Lanes::kLanes + chosen));
    return true;
  }

  MOTIFLUX_DEVICE void report() {
    const Number found = all_of(found_);
    found_ = {0, 0};
    const bool overflow = lanes().ballot(overflow_) != 0;
    if (!lanes().leads() || (found.is_zero() && !overflow)) return;
    Control& control = *search_.task().control;
    if (overflow || device::add_128(control.found, found.low, found.high)) {
      device::device_wide(control.overflow).store(1u, device::Order::kRelaxed);
      search_.stop(Stop::kLimit);
    }
    search_.check_limit();
  }

  Searching& search_;
  const Args& args_;
  const view::Tail& tail_;
  Number* weights_;
  TailFrame* frames_;
  std::uint64_t* sizes_;
  std::uint32_t* key_;
  Number found_{0, 0};       // this lane's share
  std::uint32_t known_ = 0;  // kWalks: the levels before it have valid weights
  bool overflow_ = false;
  bool stopped_ = false;
};

template <TailForm kForm, class Plan, std::uint32_t Lanes, class Within = NoStealing>
MOTIFLUX_DEVICE void count_tails(const TailArgs<Plan>& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  using Group = lanes::Group<Lanes>;
  Search<Plan, Group, Within> search(args.plan, args.task, shared_memory, args.tail.start - 1);
  TailCounting<Plan, Group, kForm, Within> goal(search, args);
  if constexpr (kForm == TailForm::kRoots)
    goal.count_roots();
  else
    search.run(goal);
}

// The bodies of kernels: a tail from level 1 on, a tail from a later level on, a nested tail.
template <class Plan, std::uint32_t Lanes>
MOTIFLUX_DEVICE void stars(const TailArgs<Plan>& args) {
  count_tails<TailForm::kRoots, Plan, Lanes>(args);
}

template <class Plan, std::uint32_t Lanes, class Within = NoStealing>
MOTIFLUX_DEVICE void tail(const TailArgs<Plan>& args) {
  count_tails<TailForm::kFlat, Plan, Lanes, Within>(args);
}

template <class Plan, std::uint32_t Lanes, class Within = NoStealing>
MOTIFLUX_DEVICE void nested(const TailArgs<Plan>& args) {
  count_tails<TailForm::kNested, Plan, Lanes, Within>(args);
}

}  // namespace motiflux::match
