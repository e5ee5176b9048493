// Taking a different vertex for each of up to six levels, each vertex with the ways for its child block: by
// inclusion and exclusion over partitions, as csrc/search/partitions.hpp has it.
//
//   sums[mask]   the sum over the vertices that all levels of a mask may take of the product of their ways
//   ways[mask]   ways for the levels of a mask; those of all are what is sought
#pragma once

#include "motiflux/match/number.cuh"
#include "motiflux/match/overlap_memory.hpp"
#include "motiflux/match/tail_sets.hpp"

namespace motiflux::match {

template <class Searching>
class DistinctSums {
 public:
  using Lanes = typename Searching::Group;

  MOTIFLUX_DEVICE DistinctSums(Searching& search, const view::Tail& tail,
                               const view::OverlapComponents& components,
                               const view::OverlapComponent& component, const OverlapMemory& at)
      : search_(search),
        tail_(tail),
        branches_(components.branch + component.first_branch),
        states_(at.branches + component.first_branch),
        component_(component),
        sizes_(at.sizes + component.sizes),
        sums_(at.sums),
        ways_(at.ways) {}

  // Fills in the sums. False to break off, as tick(steps) says, which is asked every so many choices of a
  // long walk too. Adds to `beyond` whether what is sought may pass 128 bits: it is no more than the product
  // of the sums of single levels.
  template <class Tick>
  MOTIFLUX_DEVICE_CALL bool fill(bool& overflow, Tick&& tick) const {
    lanes().sync();  // the sums were read
    Number most{1, 0};
    for (std::uint32_t mask = 1; mask < masks(); ++mask) {
      const std::uint32_t length = walked_for(mask);
      Number share{0, 0};  // each lane's
      std::uint32_t begin = 0;
      do {
        const std::uint32_t end = length - begin < kAtOnce ? length : begin + kAtOnce;
        if (length != 0) add_common(mask, begin, end, share);  // a mask without branches has none to walk
        if (!tick(1 + (end - begin) / Lanes::kLanes * count_bits(mask))) return false;
        begin = end;
      } while (begin < length);
      bool wrapped = false;
      const Number found = length == 0 ? known_sum(mask) : sum_over(lanes(), share, wrapped);
      if (lanes().leads()) sums_[mask] = found;
      lanes().sync();
      if ((mask & (mask - 1)) == 0) overflow |= multiply(most, found);
    }
    return true;
  }

  // By masks of one level, of two, and so on: each is made up of smaller ones.
  MOTIFLUX_DEVICE_CALL Number ways() const {
    for (std::uint32_t mask = 1 + lanes().lane(); mask < masks(); mask += Lanes::kLanes)
      for (std::uint32_t factor = 2; factor < count_bits(mask); ++factor) multiply(sums_[mask], {factor, 0});
    if (lanes().leads()) ways_[0] = {1, 0};
    for (std::uint32_t levels = 1; levels <= level_count(); ++levels) {
      lanes().sync();
      for (std::uint32_t mask = 1 + lanes().lane(); mask < masks(); mask += Lanes::kLanes)
        if (count_bits(mask) == levels) ways_[mask] = ways_for(mask);
    }
    lanes().sync();
    Number found = ways_[masks() - 1];
    if (component_.divisor > 1) divide(found, component_.divisor);
    return found;
  }

 private:
  // Choices of a walk between two checks whether to break off: each takes some searches in long lists.
  static constexpr std::uint32_t kAtOnce = 64 * Lanes::kLanes;

  MOTIFLUX_DEVICE const Lanes& lanes() const { return search_.lanes(); }
  MOTIFLUX_DEVICE std::uint32_t level_count() const {
    return std::uint32_t{component_.leaf_levels} + component_.branches;
  }
  MOTIFLUX_DEVICE std::uint32_t masks() const { return 1u << level_count(); }
  // Leaf levels come first in masks.
  MOTIFLUX_DEVICE std::uint32_t leaf_levels_of(std::uint32_t mask) const {
    return mask & bits_below(component_.leaf_levels);
  }
  MOTIFLUX_DEVICE Choices choices_of(std::uint32_t branch) const {
    return {search_.memory() + branches_[branch].at, branches_[branch].capacity, false};
  }

  // The branch with the fewest choices, of those with a bit in `branches`.
  MOTIFLUX_DEVICE std::uint32_t shortest_of(std::uint32_t branches) const {
    std::uint32_t shortest = lowest_bit(branches);
    for_each_bit(branches, [&](std::uint32_t branch) {
      if (states_[branch].length < states_[shortest].length) shortest = branch;
    });
    return shortest;
  }

  // Choices to walk for the sum of a mask; none where it is known.
  MOTIFLUX_DEVICE std::uint32_t walked_for(std::uint32_t mask) const {
    const std::uint32_t branches = mask >> component_.leaf_levels, fewer = mask & (mask - 1);
    if (branches == 0 || fewer == 0) return 0;
    if (sums_[fewer].is_zero() || sums_[mask ^ fewer].is_zero()) return 0;
    return states_[shortest_of(branches)].length;
  }

  MOTIFLUX_DEVICE Number known_sum(std::uint32_t mask) const {
    const std::uint32_t branches = mask >> component_.leaf_levels;
    if (branches == 0) return {sizes_[mask - 1], 0};
    if ((mask & (mask - 1)) == 0) return states_[lowest_bit(branches)].sum;
    return {0, 0};
  }

  // Adds the vertices that several levels may take, at least one of which is of a branch: of `begin` to `end`
  // of the choices of the shortest branch, a share in each lane.
  MOTIFLUX_DEVICE void add_common(std::uint32_t mask, std::uint32_t begin, std::uint32_t end,
                                  Number& share) const {
    const std::uint32_t leaf_levels = leaf_levels_of(mask), branches = mask >> component_.leaf_levels;
    const std::uint32_t shortest = shortest_of(branches);
    const Choices walked = choices_of(shortest);
    for (std::uint32_t place = begin + lanes().lane(); place < end; place += Lanes::kLanes) {
      const std::uint32_t vertex = walked.vertices(0)[place];
      Number product{walked.ways()[place], 0};
      for (std::uint32_t rest = branches & ~(1u << shortest); rest != 0 && !product.is_zero();
           rest &= rest - 1) {
        const std::uint32_t branch = lowest_bit(rest);
        const Choices other = choices_of(branch);
        const std::uint32_t* const first = other.vertices(0);
        const std::uint32_t* const last = first + states_[branch].length;
        const std::uint32_t* const met = sets::lower_bound(first, last, vertex);
        multiply(product, {met != last && *met == vertex ? other.ways()[met - first] : 0, 0});
      }
      if (leaf_levels != 0 && !product.is_zero() &&
          !holds(search_.plan(), tail_, component_.common[leaf_levels],
                 {search_.shared().levels, kNoLevel, 0}, vertex))
        continue;
      add(share, product);
    }
  }

  MOTIFLUX_DEVICE Number ways_for(std::uint32_t chosen) const {
    const std::uint32_t lowest = chosen & (~chosen + 1), rest = chosen ^ lowest;
    Number total{0, 0};
    for (std::uint32_t others = rest;; others = (others - 1) & rest) {
      Number term = sums_[lowest | others];
      multiply(term, ways_[rest ^ others]);
      if (count_bits(others) % 2 == 0)
        add(total, term);
      else
        subtract(total, term);
      if (others == 0) return total;
    }
  }

  Searching& search_;
  const view::Tail& tail_;
  const view::OverlapBranch* branches_;
  const BranchState* states_;
  const view::OverlapComponent& component_;
  const std::uint64_t* sizes_;
  Number* sums_;
  Number* ways_;
};

}  // namespace motiflux::match
