// The last two levels at once, flattened: a strip of candidates of the second last level, one per lane, and
// the lists of their last vertices.
//
// Lists are often shorter than a group has lanes. So the lanes do not walk the candidates' lists one after
// another, but the concatenated lists of the whole strip:
//
//   lane                   0        1     2           3
//   candidate              a        -     b           c            (- did not pass)
//   its list               p q r          s t         u v w x
//   end of the list        3        3     5           9
//   pairs, one per lane    ap aq ar bs | bt cu cv cw | cx
//
// The candidate of a pair is found by bisecting the ends of lists, by shuffles. One of the sets that the last
// level intersects may depend on the candidate; the others are the same for the strip.
#pragma once

#include "motiflux/match/extend.hpp"
#include "motiflux/match/task.hpp"

namespace motiflux::match {

// A longer list occupies all lanes alone, and a whole strip of such lists would be walked without a check of
// the stop flag.
inline constexpr std::uint32_t kLongestFlattened = 1u << 13;

// A lane's candidate of the strip, and the sets of the last level for it.
struct Parent {
  std::uint32_t vertex;
  bool passed;
  sets::Span own;     // the set that depends on the candidate
  sets::Span walked;  // the shortest of the sets
  bool walks_own;
};

template <class Search, class Step>
class Strip {
  using Lanes = typename Search::Group;

 public:
  // `passed`: a bit for each lane whose candidate of the strip before the cursor passed.
  MOTIFLUX_DEVICE Strip(Search& search, const Step& step, std::uint32_t passed)
      : search_(search), step_(step), level_(search.last() - 1) {
    const std::uint32_t lane = search.lanes().lane();
    parent_.passed = (passed >> lane & 1) != 0;
    const Cursor& walk = search.cursor();
    parent_.vertex = parent_.passed ? walk.base[walk.next - Lanes::kLanes + lane] : 0;
  }

  // Adds this lane's share to `found`; false, with nothing added, if this level cannot be flattened.
  MOTIFLUX_DEVICE bool count(std::uint64_t& found) {
    const view::StepShape shape = step_.shape();
    if (static_cast<std::uint32_t>(shape.anchor) != level_) return count_kept(found);
    std::uint32_t own = 0, owned = 0;
    for (std::uint32_t s = 0; s < shape.source_count; ++s)
      if (step_.source(s).level == level_) own = s, ++owned;
    if (owned != 1) return false;
    const view::Adjacency rows = step_.source(own).rows;
    const rules::Bounds allowed = bounds(shape.after, shape.before);
    parent_.own = {};
    if (parent_.passed)
      parent_.own = rules::clip({rows.begin(parent_.vertex), rows.end(parent_.vertex)}, allowed);
    if (shape.source_count + (shape.reuse != view::kNoReuse) == 1) return count_one(parent_.own, found);
    const std::uint32_t shortest = gather_shared(own);
    const sets::Span other = rules::clip(search_.shared().spans[shortest], allowed);
    parent_.walks_own = parent_.own.size() <= other.size();
    parent_.walked = parent_.walks_own ? parent_.own : other;
    return count_pairs(own, shortest, found);
  }

 private:
  MOTIFLUX_DEVICE auto vertices(std::uint32_t parent) const {
    return [this, parent](std::uint32_t level) { return level == level_ ? parent : search_.vertex(level); };
  }

  MOTIFLUX_DEVICE rules::Bounds bounds(std::uint32_t after, std::uint32_t before) const {
    return rules::bounds(after, before, vertices(parent_.vertex));
  }

  // The last level's set is the same for all candidates.
  MOTIFLUX_DEVICE bool count_kept(std::uint64_t& found) {
    const view::StepShape shape = step_.shape();
    if ((shape.not_out | shape.not_in) != 0) return false;
    const sets::Span kept = search_.base(search_.last(), step_);
    const std::uint32_t later = ~bits_below(static_cast<std::uint32_t>(shape.anchor) + 1);
    return count_one(rules::clip(kept, bounds(shape.after & later, shape.before & later)), found);
  }

  // One set: its size minus its vertices that are matched already.
  MOTIFLUX_DEVICE bool count_one(sets::Span set, std::uint64_t& found) const {
    const view::StepShape shape = step_.shape();
    if ((shape.not_out | shape.not_in) != 0) return false;
    if (!parent_.passed) return true;
    found += set.size();
    const auto vertex = vertices(parent_.vertex);
    for_each_bit(shape.distinct, [&](std::uint32_t level) {
      found -= sets::contains(set, vertex(level)) && rules::is_first(shape.distinct, level, vertex);
    });
    return true;
  }

  // Gathers the sets that are the same for all candidates; returns the place of the shortest.
  MOTIFLUX_DEVICE std::uint32_t gather_shared(std::uint32_t own) const {
    const view::StepShape shape = step_.shape();
    const SharedState& shared = search_.shared();
    const Lanes& lanes = search_.lanes();
    const std::uint32_t count = span_count();
    lanes.sync();  // the last reader of the spans is done
    for (std::uint32_t s = lanes.lane(); s < count; s += Lanes::kLanes) {
      if (s == own) continue;
      if (s < shape.source_count) {
        const SourceRows source = step_.source(s);
        const std::uint32_t vertex = shared.levels[source.level].vertex;
        shared.spans[s] = {source.rows.begin(vertex), source.rows.end(vertex)};
      } else {
        const LevelState& reused = shared.levels[shape.reuse];
        shared.spans[s] = {reused.base, reused.base + reused.base_size};
      }
    }
    lanes.sync();
    std::uint32_t shortest = own == 0 ? 1 : 0;
    for (std::uint32_t s = shortest + 1; s < count; ++s)
      if (s != own && shared.spans[s].size() < shared.spans[shortest].size()) shortest = s;
    return shortest;
  }

  MOTIFLUX_DEVICE bool count_pairs(std::uint32_t own, std::uint32_t shortest, std::uint64_t& found) {
    const Lanes& lanes = search_.lanes();
    const std::uint64_t size = parent_.passed ? parent_.walked.size() : 0;
    if (lanes.ballot(size > kLongestFlattened) != 0) return false;
    const auto length = static_cast<std::uint32_t>(size);
    const std::uint32_t behind = lanes.sums_before(length) + length;
    const std::uint32_t pairs = lanes.broadcast(behind, Lanes::kLanes - 1);
    const bool some_walk_shared = lanes.ballot(parent_.passed && !parent_.walks_own) != 0;
    search_.spend(pairs / Lanes::kLanes);
    for (std::uint32_t strip = 0; strip < pairs; strip += Lanes::kLanes) {
      const std::uint32_t pair = strip + lanes.lane();
      const std::uint32_t from = owner(behind, pair);
      const std::uint32_t* first = fetch(parent_.walked.first, from);
      const std::uint32_t start = lanes.broadcast(behind - length, from);
      const std::uint32_t parent = lanes.broadcast(parent_.vertex, from);
      sets::Span in_own{};
      if (some_walk_shared) {  // otherwise all walk their own set
        in_own.first = fetch(parent_.own.first, from);
        in_own.last = fetch(parent_.own.last, from);
        if (lanes.broadcast(static_cast<std::uint32_t>(parent_.walks_own), from) != 0) in_own = {};
      }
      if (pair >= pairs) continue;
      const std::uint32_t candidate = first[pair - start];
      const std::uint32_t walked = in_own.first == nullptr ? own : shortest;
      const bool kept = (walked == own || sets::contains(in_own, candidate)) &&
                        others_contain(candidate, own, walked) && accepts(candidate, parent);
      found += kept;
    }
    return true;
  }

  MOTIFLUX_DEVICE bool others_contain(std::uint32_t candidate, std::uint32_t own,
                                      std::uint32_t walked) const {
    for (std::uint32_t s = 0; s < span_count(); ++s)
      if (s != own && s != walked && !sets::contains(search_.shared().spans[s], candidate)) return false;
    return true;
  }

  MOTIFLUX_DEVICE bool accepts(std::uint32_t candidate, std::uint32_t parent) const {
    const Task& task = search_.task();
    return rules::accepts(step_.shape(), step_.bounds(), task.out, task.in, candidate, vertices(parent));
  }

  // The lane whose list holds a pair: the number of lists that end at or before it.
  MOTIFLUX_DEVICE std::uint32_t owner(std::uint32_t behind, std::uint32_t pair) const {
    std::uint32_t lane = 0;
    for (std::uint32_t step = Lanes::kLanes / 2; step > 0; step /= 2)
      if (search_.lanes().broadcast(behind, lane + step - 1) <= pair) lane += step;
    return lane;
  }

  MOTIFLUX_DEVICE const std::uint32_t* fetch(const std::uint32_t* pointer, std::uint32_t from) const {
    const auto word = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
    return reinterpret_cast<const std::uint32_t*>(
        static_cast<std::uintptr_t>(search_.lanes().broadcast(word, from)));
  }

  MOTIFLUX_DEVICE std::uint32_t span_count() const {
    return step_.shape().source_count + (step_.shape().reuse != view::kNoReuse);
  }

  Search& search_;
  const Step& step_;
  std::uint32_t level_;  // the second last
  Parent parent_{};
};

}  // namespace motiflux::match
