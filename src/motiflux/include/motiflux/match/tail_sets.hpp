// The sets of a tail: looked up and measured by all lanes of a group together, or by one lane alone.
//
// One lane alone suffices if sets are single rows, whose sizes are differences, or if lists are too short to
// occupy a group.
#pragma once

#include "motiflux/match/extend.hpp"
#include "motiflux/view/tail.hpp"

namespace motiflux::match {

// A set as an intersection of rows.
template <class VertexOf>
struct TailSpans {
  const view::TailSet& set;
  const view::TailSource* sources;
  const view::Adjacency* rows;
  const LevelState* levels;
  VertexOf vertex;

  MOTIFLUX_DEVICE std::uint32_t count() const { return set.source_count + (set.reuse != view::kNoReuse); }

  MOTIFLUX_DEVICE sets::Span at(std::uint32_t i) const {
    if (i == set.source_count) {
      const LevelState& reused = levels[set.reuse];
      return {reused.base, reused.base + reused.base_size};
    }
    const view::TailSource source = sources[set.first_source + i];
    const view::Adjacency& of = rows[source.place];
    const std::uint32_t from = vertex(source.level);
    return {of.begin(from), of.end(from)};
  }

  // The shortest row, within the order restrictions.
  MOTIFLUX_DEVICE sets::Span shortest(std::uint32_t& which) const {
    const rules::Bounds allowed = rules::bounds(set.after, set.before, vertex);
    sets::Span found = rules::clip(at(0), allowed);
    which = 0;
    for (std::uint32_t i = 1; i < count(); ++i) {
      const sets::Span other = rules::clip(at(i), allowed);
      if (other.size() >= found.size()) continue;
      found = other;
      which = i;
    }
    return found;
  }

  // Whether the vertex of `level` is in the row and no lower level has the same vertex.
  MOTIFLUX_DEVICE bool is_taken(std::uint32_t level, sets::Span row) const {
    return sets::contains(row, vertex(level)) && rules::is_first(set.apart, level, vertex);
  }
};

// For VerticesWith without an extra vertex.
inline constexpr std::uint32_t kNoLevel = view::kMaxLevels;

template <class Plan>
MOTIFLUX_DEVICE TailSpans<VerticesWith> spans_of(const Plan& plan, const view::Tail& tail,
                                                 std::uint32_t number, const VerticesWith& vertex) {
  return {tail.sets[number], tail.sources, plan.rows, vertex.levels, vertex};
}

// Whether a set contains a vertex, computed by the calling lane alone.
template <class Plan>
MOTIFLUX_DEVICE_CALL bool holds(const Plan& plan, const view::Tail& tail, std::uint32_t number,
                                VerticesWith vertex, std::uint32_t candidate) {
  const auto spans = spans_of(plan, tail, number, vertex);
  const rules::Bounds allowed = rules::bounds(spans.set.after, spans.set.before, vertex);
  if (candidate < allowed.first || candidate >= allowed.end) return false;
  bool held = rules::is_distinct(spans.set.apart, candidate, vertex);
  for (std::uint32_t i = 0; held && i < spans.count(); ++i) held = sets::contains(spans.at(i), candidate);
  return held;
}

// The size of a set, computed by the calling lane alone.
template <class Plan>
MOTIFLUX_DEVICE_CALL std::uint64_t size_alone(const Plan& plan, const view::Tail& tail, std::uint32_t number,
                                              VerticesWith vertex) {
  const auto spans = spans_of(plan, tail, number, vertex);
  std::uint32_t which = 0;
  const sets::Span walked = spans.shortest(which);
  std::uint64_t found = 0;
  if (spans.count() == 1) {
    found = walked.size();
    for_each_bit(spans.set.apart, [&](std::uint32_t level) { found -= spans.is_taken(level, walked); });
    return found;
  }
  for (const std::uint32_t* at = walked.first; at != walked.last; ++at) {
    bool kept = rules::is_distinct(spans.set.apart, *at, vertex);
    for (std::uint32_t i = 0; kept && i < spans.count(); ++i)
      kept = i == which || sets::contains(spans.at(i), *at);
    found += kept;
  }
  return found;
}

// Writes the set's rows, within its order restrictions, to shared memory.
template <class Lanes, class Plan>
MOTIFLUX_DEVICE Gathered gather(const Lanes& lanes, const SharedState& shared, const Plan& plan,
                                const view::Tail& tail, std::uint32_t number) {
  const auto spans = spans_of(plan, tail, number, {shared.levels, kNoLevel, 0});
  const rules::Bounds allowed = rules::bounds(spans.set.after, spans.set.before, spans.vertex);
  const std::uint32_t count = spans.count();
  lanes.sync();  // the last reader of the spans is done
  for (std::uint32_t i = lanes.lane(); i < count; i += Lanes::kLanes)
    shared.spans[i] = rules::clip(spans.at(i), allowed);
  lanes.sync();
  std::uint32_t driver = 0;
  for (std::uint32_t i = 1; i < count; ++i)
    if (shared.spans[i].size() < shared.spans[driver].size()) driver = i;
  return {shared.spans, count, driver};
}

struct Measured {
  std::uint64_t size;
  std::uint64_t steps;  // strips of candidates that were looked up
};

// The size of a set, computed by all lanes together.
template <class Lanes, class Plan>
MOTIFLUX_DEVICE_CALL Measured size_together(Lanes lanes, SharedState shared, const Plan& plan,
                                            const view::Tail& tail, std::uint32_t number) {
  const auto spans = spans_of(plan, tail, number, {shared.levels, kNoLevel, 0});
  const std::uint32_t apart = spans.set.apart;
  if (spans.count() > 1) {
    const Gathered gathered = gather(lanes, shared, plan, tail, number);
    const std::uint64_t found = count_common(lanes, gathered, [&](std::uint32_t candidate) {
      return rules::is_distinct(apart, candidate, spans.vertex);
    });
    return {lanes.sum(found), gathered.shortest().size() / Lanes::kLanes};
  }
  std::uint32_t which = 0;
  const sets::Span row = spans.shortest(which);
  if (apart == 0 || row.size() == 0) return {row.size(), 0};
  std::uint64_t taken = 0;
  std::uint32_t turn = 0;
  for_each_bit(apart, [&](std::uint32_t level) {
    if (turn++ % Lanes::kLanes == lanes.lane()) taken += spans.is_taken(level, row);
  });
  return {row.size() - lanes.sum(taken), 0};
}

}  // namespace motiflux::match
