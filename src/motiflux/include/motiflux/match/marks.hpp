// Ids with marks: entries of a touched row that the run changes (changing/mark_rows.cuh).
#pragma once

#include "motiflux/rules/order.hpp"
#include "motiflux/sets/span.hpp"

namespace motiflux::match {

// No vertex has this bit: a graph with rows in two parts has at most as many vertices.
inline constexpr std::uint32_t kMark = std::uint32_t{1} << 31;

// The first id of [first, last) that is not less than `value`, with or without a mark.
MOTIFLUX_HOST_DEVICE inline const std::uint32_t* marked_bound(const std::uint32_t* first,
                                                              const std::uint32_t* last,
                                                              std::uint64_t value) {
  while (first < last) {
    const std::uint32_t* middle = first + (last - first) / 2;
    if ((*middle & ~kMark) < value)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

// As rules::clip.
MOTIFLUX_HOST_DEVICE inline sets::Span clip_marked(sets::Span set, const rules::Bounds& allowed) {
  if (allowed.first > 0) set.first = marked_bound(set.first, set.last, allowed.first);
  if (allowed.end <= 0xffffffffu) set.last = marked_bound(set.first, set.last, allowed.end);
  return set;
}

}  // namespace motiflux::match
