// Search of one thread that goes from copy to copy of data edges.
//
// Where attributes are compared, a walker that assigns vertices keeps ranges of copies: of an edge with many
// copies, they span all times, and the row of a hub has to be read whole. This search chooses one copy after
// the other. A chosen copy bounds the values of all others (copies/reach.hpp), so that of each vertex only
// those copies matter whose main values are within bounds: a window, found by bisection in its copies by main
// value. The next edge is always the one with the smallest window, forwards or backwards; an empty window
// ends the branch. So the search meets at the edge that is hardest to find, and hubs cost what happens in a
// window.
//
// Most of the time would be spent waiting for rows of vertices that are in no cache. So partial matches
// (search/copy_states.hpp) are collected, and those with one number of edges are continued together: what the
// next steps of all of them read is fetched before the first one goes on. A full buffer is continued before
// any other, so that few partial matches are kept.
//
// Choices are counted as they are found. An embedding counts with the first of its choices, by the order of
// variables and places, and is passed over with each other one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "copies/places.hpp"
#include "copies/ranges.hpp"
#include "copies/reach.hpp"
#include "search/copy_states.hpp"
#include "search/native_plan.hpp"
#include "search/root_walk.hpp"
#include "search/walker.hpp"

namespace motiflux::search {

class CopyWalker : public RootWalk {
 public:
  // The plan has a copy walk. With `counting`, visitor.rows is not called.
  CopyWalker(const NativePlan& native_plan, Visitor& visitor, bool counting);
  CopyWalker(const CopyWalker&) = delete;
  CopyWalker& operator=(const CopyWalker&) = delete;

  // Searches the choices that begin with the root copies of `item`; false when stopped.
  bool search(const WorkItem& item);

 private:
  using Vertex = std::uint32_t;
  using Place = copies::Place;
  using Slot = CopySlot;
  using State = CopyState;
  struct Window {
    int variable = -1;
    int side = 0;
    bool closes = false;  // both ends are matched
    bool is_old = false;  // found before; the bounds on its copies are to be set again
    Slot slot;
  };
  struct Check {
    int comparison;
    int other;  // the other variable, or the variable itself
  };
  struct EdgeAt {
    int variable;
    int side;
    int other;  // the level at the other end
  };

  static constexpr std::size_t kMostFilters = 8;
  static constexpr std::size_t kCounted =
      16;  // of windows of at most so many copies, those within bounds count

  struct Filters {
    struct Column {
      const std::int64_t* values;
      copies::Interval bounds;
      bool floats;
    };
    std::array<Column, kMostFilters> columns;
    std::size_t size = 0;

    bool fit(Place place) const {
      for (std::size_t f = 0; f < size; ++f) {
        const Column& column = columns[f];
        const std::int64_t value = column.values[place];
        if (copies::less(column.floats, value, column.bounds.low) ||
            copies::less(column.floats, column.bounds.high, value))
          return false;
      }
      return true;
    }
  };

  // An edge at the vertex of the root copies, and its window for the last root copy.
  struct Near {
    int variable = 0;
    int side = 0;
    bool whole = false;              // main values are integers: both ends of windows ascend with root copies
    copies::Interval differences{};  // main values minus that of the root copy
    copies::Interval bounds{};
    copies::Range row{};
    Slot window{};
  };

  bool search_roots(Vertex vertex, Slot copies);
  bool add_root(State state, Place place);
  bool misses_near(Place root);
  bool has_near(State state);
  Slot window_near(const Near& near, copies::Interval bounds) const;
  bool any_fits(const Window& window);

  bool add(std::size_t depth, State state, int newest);
  bool go_on(std::size_t depth);
  void open_rows(State state);
  void shorten_rows(State state);
  bool choose(State state, Window& best);
  bool close(State state, int variable, Window& best, std::size_t& least);
  std::size_t number_of(State state, Window& window);
  bool scan(State state, const Window& window);
  const Filters& filters_of(int variable, int side);
  template <class Use>
  static auto with_filter(const Filters& filters, Use&& use);
  bool found(State state);
  bool is_first(State state);

  bool match_vertex(State state, int level, Vertex vertex);
  bool match_edge(State state, int variable, int side, Place place);
  bool is_within_span(State state) const;
  bool accepts(State state, int level, Vertex vertex) const;
  bool agrees(State state, int variable) const;
  bool narrow(State state, int variable);
  void open_row(State state, int variable, int side);
  static void fetch(const copies::CopyIndex& rows, Place first, Place last);
  Slot window(State state, int variable, int side);
  // Whether nothing that bounds its copies was matched since a window was found.
  bool is_current(State state, const Slot& slot) const {
    return slot.kind == Slot::kWindow && edges_only_ && slot.edges == state.head().edges;
  }
  Place place_of_pair(State state, int variable) const;

  const CopyWalk::Edge& edge(int variable) const { return walk_.edges[static_cast<std::size_t>(variable)]; }
  const copies::CopyIndex& rows(int variable, int side) const { return *edge(variable).rows[side]; }
  Vertex vertex_at(State state, int variable, int side) const {
    return state.vertices()[edge(variable).ends[side]];
  }
  copies::Interval* bounds_of(int variable) {
    return bounds_.data() + static_cast<std::size_t>(variable) * most_columns_;
  }
  const copies::Interval* all_of(int variable) const {
    return all_.data() + static_cast<std::size_t>(variable) * most_columns_;
  }

  const copies::Compared& compared_;
  const CopyWalk& walk_;
  const bool counting_;
  const int levels_;
  const int variables_;
  copies::Reach reach_;
  copies::Ranges ranges_;
  const std::size_t most_columns_;
  bool edges_only_ = true;  // no vertices are compared: bounds change with matched edges alone

  std::vector<int> edges_;                  // variables that are edges
  std::vector<std::vector<int>> vertices_;  // variables of each level
  std::vector<std::vector<EdgeAt>> at_;     // edges of each level
  std::vector<std::vector<Check>> checks_;  // by variable
  std::array<std::uint32_t, view::kMaxLevels> distinct_{};
  std::array<std::uint32_t, view::kMaxLevels> smaller_{};  // levels whose vertex must be smaller
  std::array<std::uint32_t, view::kMaxLevels> greater_{};

  const CopyState::Layout layout_;
  CopyStates states_;                     // by edges matched
  std::size_t together_;                  // states of one number of edges that are continued together now
  std::vector<copies::Interval> bounds_;  // by variable and column: of the state looked at
  Filters filters_;                       // of the edge looked at
  std::vector<copies::Interval> all_;     // by variable and column: all values
  std::vector<Near> near_;
};

}  // namespace motiflux::search
