// Depth-first search of one thread that prepares the last vertex of embeddings: patterns with a vertex of two
// edges, a wedge, which one comparison joins to all others, the core. So rings in order of time are.
//
//          middle              lists of the vertices `end`, for one vertex `start`:
//         /      \                               entries: the best copy of the wedge, and its middle
//     start      end           end 17            5 -> 8 -> 9
//         \      /             end 23            7
//          core                one look at the least and greatest of a list decides most of them at once
//
// For each start, all wedges are gathered by their end. Of the copies of a wedge, only the best one for the
// comparison with the core matters (wedge_steps.hpp): in x.time < y.time < z.time, where x and y are the
// wedge, the earliest y that is later than the earliest x. Then the core is searched from the same start.
// With its own best copy, each embedding of it goes with a prefix of a list, less the wedges whose middle is
// in the core: these are counted, or listed, together. The copies of a pair are never read one by one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "copies/allowed.hpp"
#include "copies/places.hpp"
#include "search/root_walk.hpp"
#include "search/visitor.hpp"
#include "search/wedge_steps.hpp"

namespace motiflux::search {

class WedgeWalker : public RootWalk {
 public:
  // The plan has a copy walk by wedges. With `counting`, visitor.rows is not called.
  WedgeWalker(const NativePlan& native_plan, Visitor& visitor, bool counting);

  // Searches the embeddings whose first edge of the core is one of the pairs of `item`; false when stopped.
  bool search(const WorkItem& item);

  // The part of it that was for pairs outside of the items, as wedges are gathered for a whole vertex.
  std::uint64_t work_beside() const { return beside_; }

 private:
  using Vertex = std::uint32_t;
  using Place = copies::Place;
  static constexpr Place kFew = 4;  // copies that are looked at without a branch for each
  static constexpr std::size_t kMostEntries = std::size_t{1} << 20;

  struct Entry {        // a wedge
    std::int64_t best;  // ascending from the best to the worst
    Vertex end;
    Vertex middle;
  };
  struct List {  // the wedges to one vertex
    std::int64_t least = INT64_MAX;
    std::int64_t greatest = INT64_MIN;
    std::uint32_t size = 0;
    std::uint32_t first = 0;  // its first place in bests_ and middles_, once entries are divided
    bool sorted = false;
  };
  struct Middle {  // the entries of a middle, by end
    Vertex middle;
    std::uint32_t first;
  };
  // Which entries go with a copy of the core: those up to `most`, or those for which the comparison holds.
  struct Limit {
    bool none = false;
    bool exact = true;
    std::int64_t most = 0;
    std::int64_t core = 0;
  };
  // The values that copies of an edge may have. If they are not exact, its tests are made one by one.
  struct Bounds {
    bool none = false;
    bool exact = true;
    bool front = false;
    bool back = false;
    copies::Interval interval{};
  };

  // Which vertices a level may have.
  struct Admission {
    const std::uint8_t* mask = nullptr;
    std::array<Vertex, view::kMaxLevels> apart;
    std::size_t size = 0;

    bool admits(Vertex vertex) const {
      for (std::size_t at = 0; at < size; ++at)
        if (apart[at] == vertex) return false;
      return !mask || mask[vertex] != 0;
    }
  };

  bool search_pairs(Vertex vertex, std::uint64_t first, std::uint64_t last);
  bool expect(std::uint64_t first, std::uint64_t last);
  bool gather(std::uint64_t pairs);
  bool gather_from(Vertex middle);
  template <bool floats>
  void gather_pairs(const WedgeStep& step, const Bounds& bounds, std::uint64_t first, std::uint64_t last);
  template <class Use>
  void for_each_end(const copies::CopyIndex& from, std::uint64_t first, std::uint64_t last, Use&& use);
  void add(Vertex end, std::int64_t value);
  bool begin(std::uint64_t pair);
  bool descend(std::size_t depth);
  bool enter(const WedgeStep& step, std::size_t depth, const Bounds& bounds, Vertex vertex,
             copies::Range copies);
  void match_core(int level, Vertex vertex);
  bool meet() { return meet(value(steps_.end), best(steps_.core_variable, steps_.core_last)); }
  template <bool floats>
  bool meet_pairs(const WedgeStep& step, const Bounds& bounds, std::uint64_t first, std::uint64_t last);
  bool meet(Vertex end, std::int64_t core);
  bool list(const List& list, std::size_t fitting);
  void divide();
  void sort(List& list);

  Bounds bounds(const WedgeStep& step) const { return bounds(step.variable, step.tests); }
  Bounds bounds(int variable, const std::vector<WedgeTest>& tests) const;
  // The copies that the edges below allow. The end is near, mostly: the least value left to another edge.
  copies::Range narrowed(int variable, const std::vector<WedgeTest>& tests, const Bounds& bounds,
                         copies::Range copies) const {
    if (!bounds.exact) return tested(variable, tests, copies);
    const auto v = static_cast<std::size_t>(variable);
    if (steps_.floats[v] != 0) return narrowed<double>(steps_.values[v], bounds, copies);
    return narrowed<std::int64_t>(steps_.values[v], bounds, copies);
  }
  template <class Value>
  static copies::Range narrowed(const std::int64_t* values, const Bounds& bounds, copies::Range copies) {
    if (bounds.front) {
      const auto below = [values, low = std::bit_cast<Value>(bounds.interval.low)](Place at) {
        return std::bit_cast<Value>(values[at]) < low;
      };
      if (copies.size() > kFew) {
        Place passed = 0;
        for (Place at = 0; at < kFew; ++at) passed += static_cast<Place>(below(copies.first + at));
        copies.first += passed;
        if (passed == kFew) copies.first = copies::behind(copies.first, copies.last, below);
      } else {
        while (copies.first < copies.last && below(copies.first)) ++copies.first;
      }
    }
    if (bounds.back) {
      const auto above = [values, high = std::bit_cast<Value>(bounds.interval.high)](Place at) {
        return std::bit_cast<Value>(values[at]) > high;
      };
      if (copies.size() > kFew) {
        Place passed = 0;
        for (Place at = 1; at <= kFew; ++at) passed += static_cast<Place>(above(copies.last - at));
        copies.last -= passed;
        if (passed == kFew) copies.last = before(copies.first, copies.last, above);
      } else {
        while (copies.first < copies.last && above(copies.last - 1)) --copies.last;
      }
    }
    return copies;
  }
  // The first place from which all fit to the end, as those of a suffix do. Looks near the end first.
  template <class Fits>
  static Place before(Place first, Place last, Fits&& fits) {
    for (Place step = 1; first < last && fits(last - 1); step *= 2) {
      const Place next = last - std::min(step, last - first);
      if (!fits(next)) return copies::bisect(next + 1, last, [&](Place at) { return !fits(at); });
      last = next;
    }
    return last;
  }
  copies::Range tested(int variable, const std::vector<WedgeTest>& tests, copies::Range copies) const;
  bool narrow_above(const WedgeStep& step);
  std::int64_t best(int variable, bool last) const {
    const copies::Range& left = left_[static_cast<std::size_t>(variable)];
    return steps_.values[static_cast<std::size_t>(variable)][last ? left.last - 1 : left.first];
  }

  Limit limit(std::int64_t core) const;
  bool fits(const Limit& limit, std::int64_t best) const;
  // Numbers that ascend from the best value of the wedge to the worst, and back.
  std::int64_t in_order(std::int64_t value) const {
    if (steps_.between->floats) {
      value = std::bit_cast<std::int64_t>(std::bit_cast<double>(value) + 0.0);  // -0 is 0
      if (value < 0) value ^= INT64_MAX;
    }
    return steps_.wedge_last ? ~value : value;
  }
  std::int64_t from_order(std::int64_t best) const;

  const copies::CopyIndex& rows(const WedgeStep& step) const {
    return compared_.ends[static_cast<std::size_t>(step.variable)].index;
  }
  Vertex value(int level) const { return value_[static_cast<std::size_t>(level)]; }
  Admission admission(int level) const;
  bool accepts(int level, Vertex vertex) const { return admission(level).admits(vertex); }
  void match(int level, Vertex vertex) {
    value_[static_cast<std::size_t>(level)] = vertex;
    matched_ |= std::uint32_t{1} << level;
  }
  void unmatch(int level) { matched_ &= ~(std::uint32_t{1} << level); }

  const copies::Compared& compared_;
  const CopyWalk& walk_;
  const bool counting_;
  const WedgeSteps steps_;

  std::array<Vertex, view::kMaxLevels> value_{};
  std::uint32_t matched_ = 0;
  std::vector<copies::Range> pair_;  // by variable: the copies between its vertices
  std::vector<copies::Range> left_;  // those that go with edges below

  std::vector<std::uint32_t> list_of_;  // by vertex: its list, or 0
  std::vector<List> lists_;             // the first one is not used
  std::vector<Vertex> ends_;            // of the lists
  std::vector<Entry> entries_;
  std::vector<Middle> middles_of_;  // ascending
  bool divided_ = false;            // by lists, in the next two
  std::vector<std::int64_t> bests_;
  std::vector<Vertex> middles_;
  // By level of the core: the entries whose middle is its vertex.
  std::array<copies::Range, view::kMaxLevels> as_middle_{};
  int middles_matched_ = 0;      // levels of the core that have such entries
  std::vector<Vertex> in_core_;  // middles that are in the core
  std::vector<Vertex> kept_;
  std::vector<Entry> sorting_;
  std::uint64_t next_middle_ = 0;  // the place to gather from
  bool only_expected_ = false;     // lists are there for all ends

  std::uint64_t beside_ = 0;
};

}  // namespace motiflux::search
