// Plans that find the matches of one pattern that use a changed edge, starting from one pair of joined query
// vertices.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dynamic/relations.hpp"
#include "motiflux/view/plan.hpp"
#include "search/tail.hpp"

namespace motiflux::dynamic {

inline constexpr int kNone = -1;

struct Source {
  int level = 0;
  Way way = Way::kOut;  // seen from that level
  std::uint32_t target = 0;
  std::uint32_t relation = 0;
  // Query edges before the pair do not see the changed edge if a match may use it twice.
  bool before_change = false;
};

struct Step {
  std::vector<Source> sources;
  int reuse = kNone;  // an earlier level whose set is intersected with the sources
  int anchor = 0;     // the last level that the set depends on
  std::uint32_t after = 0, before = 0, distinct = 0;  // levels, as bits
  int allowed = kNone;                                // list of vertices that contains each candidate
};

// A query edge between the vertices of the pair, seen from level 0.
struct PairEdge {
  Way way = Way::kOut;
  std::uint32_t relation = 0;
};

// The images of a query vertex under the automorphisms that fix the query vertices before it, each with one
// such automorphism: query vertex q is mapped to moves[q].
struct Orbit {
  struct Image {
    std::uint8_t vertex;
    std::vector<std::uint8_t> moves;
  };
  std::uint8_t point;
  std::vector<Image> images;
};

// The classes of which the vertex of a level must have neighbours for later levels, as bits (Rows::bit).
struct Needs {
  std::uint64_t out = 0, in = 0;
};

// What a level may remember of rows (dynamic/memory.hpp); numbers name the same rows in all plans.
struct Remembered {
  static constexpr std::uint32_t kNot = ~std::uint32_t{0};

  // Levels that share a set and hang from this one.
  struct Leaves {
    Way way;
    std::uint32_t target, of;  // of: the class
    std::size_t levels;
    std::vector<int> chains;
  };

  std::uint32_t row = kNot;  // the number of its filtered rows
  // If the later levels are leaves of this one and components of the tail that do not depend on it: its
  // vertices are not assigned one after another, but their numbers of leaves added.
  std::vector<Leaves> leaves;
  std::vector<std::size_t> components;
  std::uint32_t sum = kNot;  // the number of its sums, if its set is a row
  // Whether the number of ways to match this level and all later ones is kept during a search. It depends on
  // the pair and on at most two levels, `keys`, while others were matched between.
  bool kept = false;
  std::array<std::uint8_t, 2> keys{};
  // If the level closes cycles, that is, its set is that of the common neighbours of the level before and an
  // earlier one: how its vertices see the level before.
  std::uint32_t back = kNot;
};

struct Plan {
  std::uint32_t pattern = 0;
  std::vector<PairEdge> pair;
  LabelSet first, second;  // labels of the vertices at levels 0 and 1
  std::vector<Step> steps;
  std::vector<Needs> needs;            // by level; they change when classes are added
  std::vector<Remembered> remembered;  // by level, likewise
  search::Tail tail;                   // counting only
  // Every match found yields one match per image, which maps query vertex q to the vertex at level image[q].
  std::vector<std::vector<std::uint8_t>> images;
  std::uint64_t multiplier = 1;  // counting only
  // Where paths join the ends of the pair, there are two plans for it, one after another: the first is
  // replaced by the second if that one's search is shorter for an update. `row_cost`: the expected cost of a
  // search per vertex of the row that level 2 is taken from.
  double row_cost = 0;
  bool is_replaced = false, replaces_last = false;
  // The least image of a match along these points is reported.
  std::vector<Orbit> orbits;

  int levels() const { return static_cast<int>(steps.size()); }
};

}  // namespace motiflux::dynamic
