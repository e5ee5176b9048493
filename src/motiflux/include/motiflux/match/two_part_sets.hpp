// Intersections with rows in two parts: the old part and the appended one are walked one after the other, and
// what was found in both is merged, since all sets of a search are ascending.
#pragma once

#if !defined(MOTIFLUX_TWO_PARTS)
#define MOTIFLUX_TWO_PARTS
#endif
#include "motiflux/lanes/group.hpp"
#include "motiflux/match/extend.hpp"
#include "motiflux/match/timed_sets.hpp"

namespace motiflux::match {

// Writes those of the walked entries [first, end) that all sets have; returns their number.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t intersect_part(const Lanes& lanes, const TimedSets& sets, std::uint64_t first,
                                             std::uint64_t end, std::uint32_t* out) {
  const TimedSpan& walked = sets.spans[sets.driver];
  std::uint32_t written = 0;
  for (std::uint64_t strip = first; strip < end; strip += Lanes::kLanes) {
    const std::uint64_t mine = strip + lanes.lane();
    const std::uint32_t candidate = mine < end ? walked.id(mine) : 0;
    const bool kept = mine < end && sets.have(mine, candidate);
    const std::uint32_t keeping = lanes.ballot(kept);
    if (kept) out[written + count_bits(keeping & bits_below(lanes.lane()))] = candidate;
    written += count_bits(keeping);
  }
  lanes.sync();
  return written;
}

// Of the first k ids of two ascending lists together, how many are of the second.
MOTIFLUX_DEVICE std::uint32_t of_second(const std::uint32_t* first, std::uint32_t first_size,
                                        const std::uint32_t* second, std::uint32_t second_size,
                                        std::uint32_t k) {
  std::uint32_t least = k > first_size ? k - first_size : 0, most = k < second_size ? k : second_size;
  while (least < most) {
    const std::uint32_t middle = least + (most - least) / 2;
    if (second[middle] < first[k - middle - 1])
      least = middle + 1;
    else
      most = middle;
  }
  return least;
}

// Merges `more` into the list `out`, which has room behind it; both are ascending, without common ids. From
// the end on, a strip at a time: an id of `out` moves to the right, so it is read before its place is
// written.
template <class Lanes>
MOTIFLUX_DEVICE void merge_into(const Lanes& lanes, std::uint32_t* out, std::uint32_t size,
                                const std::uint32_t* more, std::uint32_t more_size) {
  if (more_size == 0) return;
  const std::uint32_t total = size + more_size;
  for (std::uint32_t left = total; left > 0;) {
    const std::uint32_t strip = (left - 1) / Lanes::kLanes * Lanes::kLanes, k = strip + lanes.lane();
    std::uint32_t value = 0, of_more = 0;
    if (k < total) {
      of_more = of_second(out, size, more, more_size, k);
      const std::uint32_t at = k - of_more;
      value = of_more < more_size && (at >= size || more[of_more] < out[at]) ? more[of_more] : out[at];
    }
    lanes.sync();  // all have read
    if (k < total) out[k] = value;
    lanes.sync();
    if (lanes.broadcast(of_more) == 0) return;  // ids before the strip stay where they are
    left = strip;
  }
}

// As of other sets.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t intersect(const Lanes& lanes, const TimedSets& sets, std::uint32_t* out) {
  const TimedSpan& walked = sets.spans[sets.driver];
  const std::uint32_t old = intersect_part(lanes, sets, 0, walked.ids.size(), out);
  const std::uint32_t appended = intersect_part(lanes, sets, walked.ids.size(), walked.count(), sets.spare);
  merge_into(lanes, out, old, sets.spare, appended);
  return old + appended;
}

template <class Lanes, class Accepts>
MOTIFLUX_DEVICE std::uint64_t count_common(const Lanes& lanes, const TimedSets& sets, Accepts&& accepts) {
  const TimedSpan& walked = sets.spans[sets.driver];
  std::uint64_t found = 0;
  for (std::uint64_t mine = lanes.lane(); mine < walked.count(); mine += Lanes::kLanes) {
    const std::uint32_t candidate = walked.id(mine);
    found += sets.have(mine, candidate) && accepts(candidate);
  }
  return found;
}

}  // namespace motiflux::match
