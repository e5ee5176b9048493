// The neighbours of one label in a row that is in the order of labels, found by all lanes of a group.
//
//   row            7 12 40 | 3 9 | 8 11 23 30
//   their labels   0  0  0 | 2 2 | 5  5  5  5
#pragma once

#include "motiflux/lanes/group.hpp"
#include "motiflux/sets/span.hpp"

namespace motiflux::view {

// The first place of a row with a label of at least `label`, or its end. Lanes probe different places, so
// that a row of as many entries as lanes takes one round of loads.
template <std::uint32_t Lanes>
MOTIFLUX_DEVICE const std::uint32_t* first_of_label(const lanes::Group<Lanes>& group, sets::Span row,
                                                    const std::uint32_t* labels, std::uint32_t label) {
  const std::uint32_t* first = row.first;  // labels before it are less
  std::size_t left = row.size();           // behind so many entries, none is
  while (left > 0) {
    const std::size_t stride = (left + Lanes - 1) / Lanes;
    const std::size_t probe = stride * (group.lane() + 1) - 1;
    const bool less = probe < left && labels[first[probe]] < label;
    const std::size_t passed = stride * count_bits(group.ballot(less));
    const std::size_t reach = left - passed;
    first += passed;
    left = reach < stride ? reach : stride - 1;
  }
  return first;
}

template <std::uint32_t Lanes>
MOTIFLUX_DEVICE sets::Span label_group(const lanes::Group<Lanes>& group, sets::Span row,
                                       const std::uint32_t* labels, std::uint32_t label) {
  const std::uint32_t* first = first_of_label(group, row, labels, label);
  return {first, first_of_label(group, sets::Span{first, row.last}, labels, label + 1)};
}

}  // namespace motiflux::view
