// The candidates of a level: gathering the sets of a step, and intersecting them with the lanes of a group.
//
// The shortest set is walked, one candidate per lane, and each candidate is looked up in the other sets: one
// pass for any number of sets, and counting writes nothing.
#pragma once

#include "motiflux/match/plan_policy.hpp"
#include "motiflux/match/state.hpp"
#include "motiflux/rules/candidate.hpp"
#include "motiflux/rules/order.hpp"

namespace motiflux::match {

// Sets to intersect, in shared memory; `driver` is the shortest.
struct Gathered {
  sets::Span* spans;
  std::uint32_t count;
  std::uint32_t driver;

  MOTIFLUX_DEVICE sets::Span shortest() const { return spans[driver]; }
  // Whether the intersection is the shortest set itself.
  MOTIFLUX_DEVICE bool is_set() const { return count <= 1; }

  // Whether all sets have an entry of the shortest one.
  MOTIFLUX_DEVICE bool have(std::uint64_t, std::uint32_t candidate) const {
    for (std::uint32_t s = 0; s < count; ++s)
      if (s != driver && !sets::contains(spans[s], candidate)) return false;
    return true;
  }
};

// Looks up the sets of a step, clipped to `allowed`, one set per lane.
template <class Lanes, class Step>
MOTIFLUX_DEVICE Gathered gather(const Lanes& lanes, const SharedState& shared, const Step& step,
                                const rules::Bounds& allowed) {
  const view::StepShape shape = step.shape();
  const std::uint32_t reuses = shape.reuse != view::kNoReuse;
  const std::uint32_t count = shape.source_count + reuses;
  lanes.sync();  // the last reader of the spans is done
  for (std::uint32_t s = lanes.lane(); s < count; s += Lanes::kLanes) {
    sets::Span set;
    if (s < shape.source_count) {
      const SourceRows source = step.source(s);
      const std::uint32_t vertex = shared.levels[source.level].vertex;
      set = {source.rows.begin(vertex), source.rows.end(vertex)};
    } else {
      const LevelState& reused = shared.levels[shape.reuse];
      set = {reused.base, reused.base + reused.base_size};
    }
    shared.spans[s] = rules::clip(set, allowed);
  }
  lanes.sync();
  std::uint32_t driver = 0;
  for (std::uint32_t s = 1; s < count; ++s)
    if (shared.spans[s].size() < shared.spans[driver].size()) driver = s;
  return {shared.spans, count, driver};
}

// Writes the intersection to `out`, which has room for the shortest set; returns its size.
template <class Lanes, class Sets>
MOTIFLUX_DEVICE std::uint32_t intersect(const Lanes& lanes, const Sets& gathered, std::uint32_t* out) {
  const sets::Span walked = gathered.shortest();
  std::uint32_t written = 0;
  for (std::uint64_t strip = 0; strip < walked.size(); strip += Lanes::kLanes) {
    const std::uint64_t mine = strip + lanes.lane();
    const std::uint32_t candidate = mine < walked.size() ? walked.first[mine] : 0;
    const bool kept = mine < walked.size() && gathered.have(mine, candidate);
    const std::uint32_t keeping = lanes.ballot(kept);
    if (kept) out[written + count_bits(keeping & bits_below(lanes.lane()))] = candidate;
    written += count_bits(keeping);
  }
  lanes.sync();
  return written;
}

// Counts this lane's candidates of the intersection for which accepts() is true.
template <class Lanes, class Sets, class Accepts>
MOTIFLUX_DEVICE std::uint64_t count_common(const Lanes& lanes, const Sets& gathered, Accepts&& accepts) {
  const sets::Span walked = gathered.shortest();
  std::uint64_t found = 0;
  for (std::uint64_t mine = lanes.lane(); mine < walked.size(); mine += Lanes::kLanes) {
    const std::uint32_t candidate = walked.first[mine];
    found += gathered.have(mine, candidate) && accepts(candidate);
  }
  return found;
}

}  // namespace motiflux::match
