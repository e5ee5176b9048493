// Walking overlapping components (view/overlap.hpp): the walk of match/tail.cuh, with the choices of
// branches.
//
// The choices of a branch are written to the memory of the group, a word array each:
//
//   one level | vertices, ascending | ways, 64 bits each |
//   list      | vertices of each of three separators | ways | ways times a number, by mask of leaf levels |
//
// and in shared memory, behind what a tail has there:
//
//   | BranchState of each branch | totals: a Number per component | sizes | sums, ways: a Number per mask |
#pragma once

#include "motiflux/match/disjoint.cuh"
#include "motiflux/match/distinct_sums.cuh"
#include "motiflux/match/tail.cuh"

namespace motiflux::match {

template <class Plan, class Lanes, class Within>
class OverlapWalk {
 public:
  using Counting = TailCounting<Plan, Lanes, TailForm::kOverlaps, Within>;

  explicit MOTIFLUX_DEVICE OverlapWalk(Counting& counting)
      : counting_(counting),
        search_(counting.search_),
        tail_(counting.tail_),
        components_(counting.args_.overlaps),
        at_(components_, counting.key_ + view::kMostKeyWords + view::kMostKeyWords % 2) {}

  // The sum over the candidates of `top` of what belongs to each, levels below included; each lane gets a
  // share. False to break off.
  MOTIFLUX_DEVICE bool sum(std::uint32_t top, Cursor walk, Number& result) {
    level_ = top;
    walk_ = walk;
    sum_ = {0, 0};
    for (;;) {
      if (is_full()) {
        if (!empty_full_lists()) return false;
        continue;
      }
      if (counting_.at(level_).by_lane) {
        if (!sum_by_strips()) return false;
        if (walk_.next < walk_.end) continue;
      }
      Number product{1, 0};
      std::uint32_t child = 0;
      if (!counting_.next(level_, walk_)) {
        if (level_ == top) break;
        Number below = counting_.all_of(sum_);
        if (components_.begins[level_] != 0) {
          const After after = end_branch(below);
          if (after == After::kStopped) return false;
          if (after == After::kGoesOn) continue;
        }
        level_ = counting_.at(level_).parent;
        const TailFrame& frame = resume();
        product = frame.product;
        child = frame.child + 1;
        counting_.overflow_ |= multiply(product, below);
      } else {
        if (!counting_.tick(1)) return false;
        if (counting_.keeps(level_) && counting_.memo().find(counting_.at(level_), level_, product)) {
          add_candidate(product);
          continue;
        }
        counting_.multiply_together(level_, product);
      }
      if (!product.is_zero() && child < counting_.at(level_).children && !begin(level_below(child)))
        product = {0, 0};
      if (product.is_zero() || child == counting_.at(level_).children) {
        if (counting_.keeps(level_)) counting_.memo().keep(counting_.at(level_), level_, product);
        add_candidate(product);
        continue;
      }
      const std::uint32_t below = level_below(child);
      leave(product, child);
      start(below);
    }
    result = sum_;
    return true;
  }

 private:
  enum class After { kEnds, kGoesOn, kStopped };
  static constexpr std::uint32_t kNoBranch = 0xffu;

  MOTIFLUX_DEVICE const Lanes& lanes() const { return search_.lanes(); }
  MOTIFLUX_DEVICE std::uint32_t level_below(std::uint32_t child) const {
    return tail_.children[counting_.at(level_).first_child + child];
  }
  MOTIFLUX_DEVICE const view::OverlapComponent& component_of(const view::OverlapBranch& branch) const {
    return components_.all[branch.component];
  }
  MOTIFLUX_DEVICE Choices choices_of(const view::OverlapBranch& branch) const {
    return {search_.memory() + branch.at, branch.capacity, component_of(branch).lists != 0};
  }

  // The branch that ends with the current level, or kNoBranch.
  MOTIFLUX_DEVICE std::uint32_t ending() const { return components_.ends[level_] - 1u; }

  MOTIFLUX_DEVICE void leave(const Number& product, std::uint32_t child) {
    const Number so_far = counting_.all_of(sum_);
    lanes().sync();  // the frame was read
    if (lanes().leads()) counting_.frames_[level_] = {so_far, product, walk_, child, 0};
  }

  MOTIFLUX_DEVICE const TailFrame& resume() {
    const TailFrame& frame = counting_.frames_[level_];
    walk_ = frame.walk;
    sum_ = lanes().leads() ? frame.sum : Number{0, 0};
    return frame;
  }

  // Goes on with the first candidate of another level.
  MOTIFLUX_DEVICE void start(std::uint32_t level) {
    level_ = level;
    const std::uint32_t branch = components_.begins[level];
    if (branch != 0) {
      lanes().sync();  // the branch's state was read
      if (lanes().leads()) at_.branches[branch - 1] = {{0, 0}, 0, 0};
    }
    walk_ = counting_.open(level);
    lanes().sync();
    sum_ = {0, 0};
  }

  // Prepares the component that begins with a level, if one does. False if its number is 0.
  MOTIFLUX_DEVICE bool begin(std::uint32_t level) {
    const std::uint32_t number = components_.begins[level];
    if (number == 0) return true;
    const std::uint32_t which = components_.branch[number - 1].component;
    const view::OverlapComponent& component = components_.all[which];
    std::uint64_t* const sizes = at_.sizes + component.sizes;
    bool some = true;
    lanes().sync();  // the sizes were read
    for (std::uint32_t mask = 1; some && mask >> component.leaf_levels == 0; ++mask) {
      std::uint32_t known = 1;
      while (component.common[known] != component.common[mask]) ++known;
      std::uint64_t size = 0;
      if (known < mask) {
        size = sizes[known - 1];
      } else {
        const Measured found =
            size_together(lanes(), search_.shared(), search_.plan(), tail_, component.common[mask]);
        search_.spend(found.steps);
        size = found.size;
      }
      if (lanes().leads()) sizes[mask - 1] = size;
      lanes().sync();
      some = size != 0 || (mask & (mask - 1)) != 0;
    }
    if (lanes().leads()) at_.totals[which] = {0, 0};
    lanes().sync();
    return some;
  }

  // Adds the ways for the current candidate of the current level.
  MOTIFLUX_DEVICE void add_candidate(const Number& ways) {
    if (lanes().leads()) counting_.overflow_ |= add(sum_, ways);
    if (ending() < kNoBranch) {
      const bool mine = lanes().leads();
      append_choices(search_.vertex(level_), mine ? ways : Number{0, 0});
    }
  }

  // Appends the lanes' choices whose ways are not zero.
  MOTIFLUX_DEVICE void append_choices(std::uint32_t candidate, const Number& ways) {
    const view::OverlapBranch& branch = components_.branch[ending()];
    BranchState& state = at_.branches[ending()];
    counting_.overflow_ |= ways.high != 0;
    const std::uint32_t writing = lanes().ballot(!ways.is_zero());
    const std::uint32_t length = state.length;
    const std::uint32_t place = length + count_bits(writing & bits_below(lanes().lane()));
    if (!ways.is_zero()) {
      const Choices choices = choices_of(branch);
      choices.ways()[place] = ways.low;
      for (std::uint32_t separator = 0; separator < branch.separators; ++separator) {
        const std::uint32_t level = branch.separator[separator];
        choices.vertices(separator)[place] = level == branch.last ? candidate : search_.vertex(level);
      }
    }
    lanes().sync();  // the length was read
    if (lanes().leads()) state.length = length + count_bits(writing);
    lanes().sync();
  }

  // Candidates by strips, as TailCounting has them, as many as there is room for. False to break off.
  MOTIFLUX_DEVICE bool sum_by_strips() {
    const view::TailLevel& own = counting_.at(level_);
    while (walk_.next < walk_.end && !is_full()) {
      const std::uint32_t place = walk_.next + lanes().lane();
      const std::uint32_t candidate = place < walk_.end ? counting_.candidate_of(walk_, place) : 0;
      const bool accepted = place < walk_.end && counting_.accepts(level_, candidate);
      const bool alone = accepted && (!own.walks || counting_.takes_short_walks(level_, candidate));
      Number ways{0, 0};
      if (alone) ways = counting_.count_alone(level_, candidate);
      std::uint32_t rest = own.walks ? lanes().ballot(accepted && !alone) : 0;
      for (; rest != 0; rest &= rest - 1) {
        counting_.assign(level_, lanes().broadcast(candidate, lowest_bit(rest)));
        Number found{1, 0};
        counting_.multiply_together(level_, found);
        if (lanes().lane() == lowest_bit(rest)) ways = found;
        search_.spend(1);
      }
      counting_.overflow_ |= add(sum_, ways);
      if (ending() < kNoBranch) append_choices(candidate, ways);
      walk_.next = walk_.end - walk_.next > Lanes::kLanes ? walk_.next + Lanes::kLanes : walk_.end;
      if (!counting_.tick(1)) return false;
    }
    walk_.waiting = 0;
    return true;
  }

  // Whether the current level ends a list that is too full for the next strip.
  MOTIFLUX_DEVICE bool is_full() const {
    if (ending() >= kNoBranch) return false;
    const view::OverlapBranch& branch = components_.branch[ending()];
    return component_of(branch).lists && branch.capacity - at_.branches[ending()].length < Lanes::kLanes;
  }

  // Pairs up the entries that the lists hold, and empties the list that is full. False to break off.
  MOTIFLUX_DEVICE bool empty_full_lists() {
    const std::uint32_t number = ending();
    if (is_inner(number)) {
      if (!pair_up(number)) return false;
      clear_list(number);
      return true;
    }
    leave({1, 0}, 0);
    walk_inner_list(number, true);
    return true;
  }

  MOTIFLUX_DEVICE bool is_inner(std::uint32_t number) const {
    const view::OverlapComponent& component = component_of(components_.branch[number]);
    return number + 1 == component.first_branch + component.branches;
  }

  MOTIFLUX_DEVICE void clear_list(std::uint32_t number) {
    lanes().sync();
    if (lanes().leads()) at_.branches[number].length = 0;
    lanes().sync();
  }

  // Walks the inner list for the entries that the outer one holds.
  MOTIFLUX_DEVICE void walk_inner_list(std::uint32_t outer, bool comes_back) {
    const view::OverlapComponent& component = component_of(components_.branch[outer]);
    lanes().sync();
    if (lanes().leads()) at_.branches[outer].resumes = comes_back;
    counting_.overflow_ |= weigh(lanes(), entries_of(outer), component.leaf_levels,
                                 [&](std::uint32_t vertex) { return having(component, vertex); });
    start(components_.branch[outer + 1].first);
  }

  MOTIFLUX_DEVICE Outer entries_of(std::uint32_t number) const {
    const view::OverlapBranch& branch = components_.branch[number];
    return {choices_of(branch), at_.branches[number].length, branch.separators, true};
  }

  // A bit for each leaf level's set that has a vertex.
  MOTIFLUX_DEVICE std::uint32_t having(const view::OverlapComponent& component, std::uint32_t vertex) const {
    std::uint32_t bits = 0;
    for (std::uint32_t set = 0; set < component.leaf_levels; ++set) {
      const std::uint32_t number = component.common[1u << set];
      bits |= static_cast<std::uint32_t>(
                  holds(search_.plan(), tail_, number, {search_.shared().levels, kNoLevel, 0}, vertex))
              << set;
    }
    return bits;
  }

  // The walk over the branch that begins with the current level has ended. `below` is the sum of its ways,
  // and becomes the number of the component.
  MOTIFLUX_DEVICE After end_branch(Number& below) {
    const std::uint32_t number = components_.begins[level_] - 1u;
    const view::OverlapBranch& branch = components_.branch[number];
    const view::OverlapComponent& component = component_of(branch);
    lanes().sync();
    if (lanes().leads()) at_.branches[number].sum = below;
    lanes().sync();
    if (component.lists) return end_list(number, below);
    if (below.is_zero()) return After::kEnds;
    if (number + 1 < std::uint32_t{component.first_branch} + component.branches) {
      start(components_.branch[number + 1].first);
      return After::kGoesOn;
    }
    const DistinctSums<typename Counting::Searching> sums(search_, tail_, components_, component, at_);
    bool overflow = false;
    const bool goes_on = sums.fill(overflow, [&](std::uint64_t steps) { return counting_.tick(steps); });
    counting_.overflow_ |= overflow;
    if (!goes_on) return After::kStopped;
    below = sums.ways();
    return After::kEnds;
  }

  MOTIFLUX_DEVICE After end_list(std::uint32_t number, Number& below) {
    const view::OverlapComponent& component = component_of(components_.branch[number]);
    if (!is_inner(number)) {
      if (below.is_zero()) return After::kEnds;
      walk_inner_list(number, false);
      return After::kGoesOn;
    }
    if (at_.branches[number].length != 0 && !pair_up(number)) return After::kStopped;
    if (component.branches > 1 && at_.branches[number - 1].resumes && !below.is_zero()) {
      clear_list(number - 1);
      level_ = components_.branch[number - 1].last;
      resume();
      return After::kGoesOn;
    }
    const std::uint32_t which = components_.branch[number].component;
    Number most = below;  // no less than the number of the component
    if (component.branches > 1) {
      level_ = components_.branch[number - 1].first;
      counting_.overflow_ |= !below.is_zero() && multiply(most, at_.branches[number - 1].sum);
    }
    for (std::uint32_t set = 0; set < component.leaf_levels; ++set)
      counting_.overflow_ |= multiply(most, {at_.sizes[component.sizes + (1u << set) - 1], 0});
    below = at_.totals[which];
    if (component.divisor > 1) divide(below, component.divisor);
    return After::kEnds;
  }

  // Adds the number for the entries that the lists hold. False to break off.
  MOTIFLUX_DEVICE bool pair_up(std::uint32_t inner) {
    const view::OverlapBranch& branch = components_.branch[inner];
    const view::OverlapComponent& component = component_of(branch);
    const Outer outer = component.branches > 1 ? entries_of(inner - 1) : Outer{};
    const Choices mine = choices_of(branch);
    const std::uint32_t length = at_.branches[inner].length;
    Number share{0, 0};
    for (std::uint32_t strip = 0; strip < length; strip += Lanes::kLanes) {
      const std::uint32_t place = strip + lanes().lane();
      if (place < length)
        add(share, ways_with_levels_beside(mine.entry(place, branch.separators, kNoInnerSeparator),
                                           branch.separators, outer, at_.sizes + component.sizes,
                                           component.leaf_levels,
                                           [&](std::uint32_t vertex) { return having(component, vertex); }));
      if (!counting_.tick(1 + outer.length / 4)) return false;
    }
    bool wrapped = false;
    const Number found = sum_over(lanes(), share, wrapped);
    if (lanes().leads()) add(at_.totals[branch.component], found);
    lanes().sync();
    return true;
  }

  Counting& counting_;
  typename Counting::Searching& search_;
  const view::Tail& tail_;
  const view::OverlapComponents& components_;
  OverlapMemory at_;
  std::uint32_t level_ = 0;
  Cursor walk_{};
  Number sum_{0, 0};  // each lane's share
};

// The body of a kernel: a tail with overlapping components.
template <class Plan, std::uint32_t Lanes, class Within = NoStealing>
MOTIFLUX_DEVICE void overlaps(const OverlapArgs<Plan>& args) {
  count_tails<TailForm::kOverlaps, Plan, Lanes, Within>(args);
}

}  // namespace motiflux::match
