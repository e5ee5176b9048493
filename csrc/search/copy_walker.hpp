// Depth-first search of one thread that goes from copy to copy of data edges.
//
// Where attributes are compared, a walker that assigns vertices keeps ranges of copies: of an edge with many
// copies, they span all times, and the row of a hub has to be read whole. This search chooses one copy after
// the other. A chosen copy bounds the values of all others (copies/reach.hpp), so that of each vertex only
// those copies matter whose main values are within bounds: a window, found by bisection in its copies by main
// value. The next edge is always the one with the smallest window, forwards or backwards; an empty window
// ends the branch. So the search meets at the edge that is hardest to find, and hubs cost what happens in a
// window.
//
// Choices are counted as they are found. An embedding counts with the first of its choices, by the order of
// variables and places, and is passed over with each other one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "copies/ranges.hpp"
#include "copies/reach.hpp"
#include "search/native_plan.hpp"
#include "search/pool.hpp"
#include "search/walker.hpp"

namespace motiflux::search {

class CopyWalker {
 public:
  // The plan has a copy walk. With `counting`, visitor.rows is not called.
  CopyWalker(const NativePlan& native_plan, Visitor& visitor, bool counting);

  // Searches the choices that begin with the root copies of `item`; false when stopped.
  bool search(const WorkItem& item);
  std::uint64_t arcs_done() const { return arcs_done_; }
  void share(Pool& pool) { pool_ = &pool; }

  // Approximately the number of windows found, in units of what a Walker does for a candidate.
  std::uint64_t work() const {
    return spent_ + static_cast<std::uint64_t>(native_plan_.check_every - budget_);
  }

 private:
  using Vertex = std::uint32_t;
  using Place = copies::Place;
  struct Slot {  // copies of an edge at one of its ends
    Place first = 0;
    Place last = 0;
    Place size() const { return last - first; }
  };
  struct Window {
    int variable = -1;
    int side = 0;
    bool closes = false;  // both ends are matched
    Slot slot;
  };
  struct Check {
    int comparison;
    int other;  // the other variable, or the variable itself
  };

  struct Change {
    std::uint32_t slot;
    std::uint8_t depth;
  };

  static constexpr std::size_t kMostFilters = 8;

  struct Filters {
    struct Column {
      const std::int64_t* values;
      copies::Interval bounds;
      bool floats;
    };
    std::array<Column, kMostFilters> columns;
    std::size_t size = 0;

    bool fit(Place place) const;
  };

  bool search_roots(Vertex vertex, Slot copies);
  bool misses_near(Place root);
  bool has_near();
  Slot move_on(const Window& near, copies::Interval bounds);
  bool any_fits(const Window& window);
  bool descend();
  void forget_windows(std::size_t changed);
  Filters filters_of(int variable, int side);
  bool choose(Window& best);
  bool scan(const Window& window);
  bool found();
  bool is_first();

  bool match_vertex(int level, Vertex vertex);
  bool match_edge(int variable, int side, Place place);
  void unmatch(std::size_t variables, std::uint32_t levels);
  bool accepts(int level, Vertex vertex) const;
  bool agrees(int variable) const;
  bool narrow(int variable);
  bool is_near(int variable, int side) const;
  Slot window(int variable, int side);
  bool is_matched(int level) const { return (levels_matched_ >> level & 1) != 0; }
  std::int64_t* values(int variable) {
    return values_.data() + static_cast<std::size_t>(variable) * most_columns_;
  }
  const std::int64_t* values(int variable) const {
    return values_.data() + static_cast<std::size_t>(variable) * most_columns_;
  }
  // Of the number of edges matched now.
  copies::Interval* bounds_of(int variable) {
    return bounds_.data() +
           (edges_matched_ * static_cast<std::size_t>(variables_) + static_cast<std::size_t>(variable)) *
               most_columns_;
  }
  Place place_of_pair(int variable) const;
  bool spend(std::size_t work);

  const NativePlan& native_plan_;
  const copies::Compared& compared_;
  const CopyWalk& walk_;
  Visitor& visitor_;
  const bool counting_;
  const int levels_;
  const int variables_;
  copies::Reach reach_;
  copies::Ranges ranges_;
  std::size_t most_columns_ = 1;

  std::vector<int> edges_;                  // variables that are edges
  std::vector<std::vector<int>> vertices_;  // variables of each level
  std::vector<std::vector<Check>> checks_;  // by variable
  std::array<std::uint32_t, view::kMaxLevels> distinct_{};
  std::array<std::uint32_t, view::kMaxLevels> smaller_{};  // levels whose vertex must be smaller
  std::array<std::uint32_t, view::kMaxLevels> greater_{};

  std::array<Vertex, view::kMaxLevels> value_{};
  std::uint32_t levels_matched_ = 0;
  std::vector<int> order_;     // variables matched, in this order
  std::vector<char> matched_;  // by variable
  std::size_t edges_matched_ = 0;
  std::vector<Place> place_;  // by variable: in its rows at the end `side_`
  std::vector<int> side_;
  std::vector<std::int64_t> values_;      // by variable and column
  std::vector<copies::Interval> bounds_;  // by edges matched, variable and column
  // Windows by edges matched, variable and end. A window that was found with fewer edges matched is narrowed.
  std::vector<Slot> slots_;
  std::vector<std::uint8_t> slot_depth_;  // by variable and end: of the last one, edges matched + 1; 0: none
  std::vector<copies::Interval> all_;     // by variable and column: all values
  std::vector<Window> near_;              // edges at the vertex of the root copies, by their ends there
  std::vector<copies::Interval> near_differences_;  // for each, main values minus that of the root copy
  std::vector<Change> changed_;                     // earlier values of slot_depth_
  std::vector<Slot> hints_;  // by variable and end at the root vertex: of the last root copy

  std::uint64_t next_ = 0;  // root copies left of the item
  std::uint64_t last_ = 0;
  std::uint64_t arcs_done_ = 0;
  Pool* pool_ = nullptr;
  std::uint64_t spent_ = 0;
  std::int64_t budget_;
};

}  // namespace motiflux::search
