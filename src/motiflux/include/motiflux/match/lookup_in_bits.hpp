// Intersections with long rows that have bitmaps: each lane looks several candidates up at once.
//
// A lookup is one load, which no other depends on, so a group that has one under way for each lane waits for
// memory most of the time. Sets without bitmaps are bisected, one candidate of a lane after the other.
#pragma once

#include "motiflux/lanes/group.hpp"
#include "motiflux/match/extend.hpp"
#include "motiflux/match/timed_sets.hpp"

namespace motiflux::match {

// Candidates that a lane looks up at once: a bit for each in masks.
inline constexpr std::uint32_t kAtOnce = 4;

// Entries of the walked set, `stride` apart.
struct Walked {
  const TimedSpan& set;
  std::uint64_t first;
  std::uint32_t stride;

  MOTIFLUX_DEVICE std::uint64_t entry(std::uint32_t number) const {
    return first + std::uint64_t{number} * stride;
  }
  MOTIFLUX_DEVICE std::uint32_t id(std::uint32_t number) const { return set.ids.first[entry(number)]; }
};

// Which entries there are, and count at a moment.
MOTIFLUX_DEVICE std::uint32_t taken(const Walked& walked, std::uint32_t moment) {
  const TimedSpan& set = walked.set;
  std::uint32_t found = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < kAtOnce; ++i)
    if (walked.entry(i) < set.ids.size() && set.lives_at(set.ids.first + walked.entry(i), moment))
      found |= std::uint32_t{1} << i;
  // Else equal ids are lifetimes of one edge, which do not overlap.
  if (set.repeats)
    for_each_bit(found, [&](std::uint32_t i) {
      if (!set.takes(walked.entry(i), moment)) found &= ~(std::uint32_t{1} << i);
    });
  return found;
}

// Which of the `wanted` ids are in a set with a bitmap.
MOTIFLUX_DEVICE std::uint32_t found_in_bits(const Walked& walked, const std::uint32_t (&ids)[kAtOnce],
                                            std::uint32_t wanted, const TimedSpan& set,
                                            std::uint32_t moment) {
  using Bitmaps = view::RowBitmaps;
  std::uint32_t words[kAtOnce];
#pragma unroll
  for (std::uint32_t i = 0; i < kAtOnce; ++i)
    words[i] = (wanted >> i & 1) != 0 ? set.bits[Bitmaps::word_of(ids[i])] : 0;
  std::uint32_t found = 0, timed = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < kAtOnce; ++i) {
    const std::uint32_t bits = words[i] >> Bitmaps::shift_of(ids[i]);
    found |= (bits & Bitmaps::kHasEntry) << i;
    timed |= (bits / Bitmaps::kHasLifetime & 1) << i;
  }
  for_each_bit(timed, [&](std::uint32_t i) {
    if (!set.contains_timed(walked.id(i), moment)) found &= ~(std::uint32_t{1} << i);
  });
  return found;
}

// Which of this lane's entries of the next strips are in all sets.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t common(const Lanes& lanes, const TimedSets& sets, std::uint64_t strip) {
  const Walked walked{sets.spans[sets.driver], strip + lanes.lane(), Lanes::kLanes};
  std::uint32_t ids[kAtOnce];
#pragma unroll
  for (std::uint32_t i = 0; i < kAtOnce; ++i)
    ids[i] = walked.entry(i) < walked.set.ids.size() ? walked.id(i) : 0;
  std::uint32_t kept = taken(walked, sets.moment);
  for (std::uint32_t s = 0; s < sets.count; ++s) {
    const TimedSpan& set = sets.spans[s];
    if (s == sets.driver || kept == 0) continue;
    if (set.bits != nullptr) {
      kept = found_in_bits(walked, ids, kept, set, sets.moment);
      continue;
    }
    for (std::uint32_t i = 0; i < kAtOnce; ++i)
      if ((kept >> i & 1) != 0 && !set.contains(walked.id(i), sets.moment)) kept &= ~(std::uint32_t{1} << i);
  }
  return kept;
}

template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t intersect_in_bits(const Lanes& lanes, const TimedSets& sets,
                                                std::uint32_t* out) {
  const sets::Span walked = sets.shortest();
  std::uint32_t written = 0;
  for (std::uint64_t strip = 0; strip < walked.size(); strip += kAtOnce * Lanes::kLanes) {
    const std::uint32_t kept = common(lanes, sets, strip);
    for (std::uint32_t i = 0; i < kAtOnce; ++i) {
      const bool mine = (kept >> i & 1) != 0;
      const std::uint32_t keeping = lanes.ballot(mine);
      if (mine)
        out[written + count_bits(keeping & bits_below(lanes.lane()))] =
            walked.first[strip + i * Lanes::kLanes + lanes.lane()];
      written += count_bits(keeping);
    }
  }
  lanes.sync();
  return written;
}

// As of other sets.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t intersect(const Lanes& lanes, const TimedSets& sets, std::uint32_t* out) {
  if (sets.has_bits) return intersect_in_bits(lanes, sets, out);
  return intersect<Lanes, TimedSets>(lanes, sets, out);
}

template <class Lanes, class Accepts>
MOTIFLUX_DEVICE std::uint64_t count_common(const Lanes& lanes, const TimedSets& sets, Accepts&& accepts) {
  if (!sets.has_bits)
    return count_common<Lanes, TimedSets, Accepts>(lanes, sets, static_cast<Accepts&&>(accepts));
  const sets::Span walked = sets.shortest();
  std::uint64_t found = 0;
  for (std::uint64_t strip = 0; strip < walked.size(); strip += kAtOnce * Lanes::kLanes)
    for_each_bit(common(lanes, sets, strip), [&](std::uint32_t i) {
      found += accepts(walked.first[strip + i * Lanes::kLanes + lanes.lane()]);
    });
  return found;
}

}  // namespace motiflux::match
