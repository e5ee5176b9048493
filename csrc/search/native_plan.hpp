// Input of a native search: a plan, the adjacencies to search, and options.
//
// A search works with data vertices, or, over a candidate space, with positions: the values of level l are
// then positions in the candidate set of its query vertex, as are the entries of rows that lead to level l.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "motiflux/view/adjacency.hpp"
#include "motiflux/view/plan.hpp"
#include "search/copy_walk.hpp"
#include "search/tail.hpp"
#include "sets/intersect.hpp"

namespace motiflux::copies {
struct Compared;
}

namespace motiflux::search {

// An all-different bound: later levels take their vertices from the candidates of this level, all different.
struct AllDifferentBound {
  std::uint32_t others = 0;   // number of later levels
  std::uint32_t greater = 0;  // number of later levels certain to take a greater vertex
};

// Further input of a search that matches levels in an adaptive order.
struct AdaptiveOrder {
  struct Link {
    int from;
    int to;
    view::Adjacency rows;  // from the values of one level to the values of the other
  };
  std::array<std::vector<Link>, view::kMaxLevels> links;  // by the level that they lead from
  // For each level, masks of other levels: whose vertex must be different, smaller, greater.
  std::array<std::uint32_t, view::kMaxLevels> apart{};
  std::array<std::uint32_t, view::kMaxLevels> smaller{};
  std::array<std::uint32_t, view::kMaxLevels> greater{};
};

// Arcs that must not lead from the vertex of an earlier level to the vertex of a level.
struct Apart {
  std::uint32_t earlier = 0;
  view::Adjacency rows{};  // by data vertex, whatever the search works with
};

// Whether a search backjumps over levels that have no part in a failure (Walker::jump_on). kAuto: if it finds
// few embeddings.
enum class Backjump : int { kOff = 0, kOn = 1, kAuto = 2 };

struct NativePlan {
  view::Plan plan{};
  std::vector<view::Adjacency> adjacencies;
  view::Adjacency out{};  // all arcs, for degree bounds and where not_out and not_in mean all arcs
  view::Adjacency in{};
  // By level, the arcs that not_out and not_in mean; empty, or no arcs at a level: all arcs.
  std::vector<std::vector<Apart>> apart;
  std::uint32_t vertices = 0;  // values of every level are below this
  std::uint32_t roots = 0;     // values of level 0 are below this
  // Over a candidate space: the data vertices of each level's set; and, at [level * levels + earlier], the
  // places of the earlier level's values in it (candidates::places) if the two levels are compared.
  std::vector<const std::uint32_t*> members;
  std::vector<std::uint32_t> sizes;  // of the sets
  std::vector<const std::uint32_t*> places;
  Tail tail;  // counting only
  // Over a candidate space, if levels may be matched in another order: makes the rows for that.
  std::function<const AdaptiveOrder&()> adaptive_order;
  bool always_adaptive = false;  // from the start, not only if few embeddings are found
  Backjump backjump = Backjump::kOff;
  std::vector<AllDifferentBound> all_different;  // for each level, or empty
  // Where the search goes from copy to copy (search/copy_walk.hpp), or null.
  const CopyWalk* copy_walk = nullptr;
  // Comparisons between attributes, or null; then the variable of each source whose copies have rows by main
  // value, or -1, and whether the vertices that it leads to have conditions.
  const copies::Compared* compared = nullptr;
  std::vector<int> variable_of_source;
  std::vector<char> filtered_source;
  sets::Policy sets;
  // Steps between checks of the clock, the stop flag and the threads that wait for work: about 10
  // microseconds.
  std::int64_t check_every = 8192;

  // Rows of the first source of level 1: its arcs are the units of work.
  const view::Adjacency& root() const {
    return adjacencies[plan.args.adjacency[plan.shape.steps[1].first_source]];
  }
  std::uint64_t root_arcs() const { return root().offsets[roots]; }
  // The units of work: root arcs, or root copies or pairs of a copy walk.
  std::uint64_t units() const { return copy_walk ? copy_walk->units(vertices) : root_arcs(); }
};

}  // namespace motiflux::search
