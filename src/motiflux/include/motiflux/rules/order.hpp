// Symmetry breaking: a candidate is between vertices that are matched already.
#pragma once

#include "motiflux/bits.hpp"
#include "motiflux/sets/span.hpp"

namespace motiflux::rules {

// The candidates with first <= vertex < end.
struct Bounds {
  std::uint64_t first = 0;
  std::uint64_t end = std::uint64_t{1} << 32;
};

// The bounds by the order restrictions to the levels in `after` (the candidate is greater) and `before` (it
// is less). vertex(level) is the vertex matched at a level.
template <class VertexOf>
MOTIFLUX_HOST_DEVICE inline Bounds bounds(std::uint32_t after, std::uint32_t before, VertexOf&& vertex) {
  Bounds result;
  for_each_bit(after, [&](std::uint32_t level) {
    const std::uint64_t first = std::uint64_t{vertex(level)} + 1;
    if (first > result.first) result.first = first;
  });
  for_each_bit(before, [&](std::uint32_t level) {
    const std::uint64_t end = vertex(level);
    if (end < result.end) result.end = end;
  });
  return result;
}

// The part of `set` within the bounds. Often the whole set is: a test of the first element is enough to see
// it.
MOTIFLUX_HOST_DEVICE inline sets::Span clip(sets::Span set, const Bounds& allowed) {
  if (allowed.first > 0 && set.first != set.last && *set.first < allowed.first)
    set.first = sets::lower_bound(set.first, set.last, allowed.first);
  if (allowed.end <= 0xffffffffu) set.last = sets::lower_bound(set.first, set.last, allowed.end);
  return set;
}

}  // namespace motiflux::rules
