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
inline constexpr std::uint32_t kNoNumber = ~std::uint32_t{0};

struct Source {
  int level = 0;
  Way way = Way::kOut;  // seen from that level
  std::uint32_t target = 0;
  std::uint32_t relation = 0;
  // Query edges before the pair do not see the changed edge if a match may use it twice.
  bool before_change = false;
  // The class of its neighbours, if they are always one run of one row; it changes when classes are added.
  std::uint32_t of = kNoNumber;
};

// An edge that must not be there, from the vertex of an earlier level.
struct Absent {
  int level = 0;
  Way way = Way::kOut;  // seen from that level
  std::uint32_t relation = 0;
  bool before_change = false;  // as of a source
};

// A kind of neighbours that the vertex of a level must not have, but for the vertices of some levels.
struct Bare {
  Way way = Way::kOut;
  std::uint32_t target = 0;
  std::uint32_t relation = 0;
  std::uint32_t besides = 0;  // these levels, as bits
  int allowed = kNone;        // list of vertices that contains each such neighbour
};

// All kinds of neighbours that the vertex of a level must not have.
struct Bareness {
  int level = 0;
  bool before_change = false;  // as of a source
  std::vector<Bare> kinds;
};

// Edges between the vertices of two levels, seen from the first.
struct Joined {
  int first = 0, second = 0;
  Way way = Way::kOut;
  std::uint32_t relation = 0;
};

// Another case in which a match counts: with these edges, and without those.
struct OtherCase {
  std::vector<Joined> there, absent;
};

struct Step {
  std::vector<Source> sources;
  int reuse = kNone;  // an earlier level whose set is intersected with the sources
  int anchor = 0;     // the last level that the set depends on
  std::uint32_t after = 0, before = 0, distinct = 0;  // levels, as bits
  // List of vertices that contains each candidate. Without a source and `reuse`, all of them are candidates:
  // the level begins another part of a disconnected pattern.
  int allowed = kNone;
  std::vector<Absent> absent{};
  // Judged at this level, the last that they depend on.
  std::vector<Bareness> bare{};
  // Those of this level's own vertex that are judged later: it has at most as many neighbours as may be
  // there.
  std::vector<Bareness> few{};
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

// What the vertex of a level must have for later levels: neighbours of classes, as bits (Rows::bit).
struct Needs {
  std::uint64_t out = 0, in = 0;
  // Columns of the candidate table, all in one word, that it must be a candidate for. They ask for no less
  // than the classes, which are not looked at then.
  std::uint64_t columns = 0;
  std::uint32_t word = 0;

  bool any() const { return (out | in | columns) != 0; }
  bool operator==(const Needs&) const = default;
};

// The set of a level. Numbers name the same set, made in the same way, in all plans (dynamic/naming.hpp).
struct LevelSet {
  std::uint32_t number = 0;
  bool plain = false;  // whether it is one row of one class, without order restrictions
  // The number of its filtered rows, if it is a row and vertices without `needs` are left out.
  std::uint32_t row = kNoNumber;
  Needs needs;
  std::uint32_t marks = kNoNumber;  // the number of the row that is marked, if its size is counted at once
};

// What a level may remember (dynamic/memory.hpp).
struct Remembered {
  // Levels that share a set and hang from this one.
  struct Leaves {
    Way way;
    std::uint32_t target, of;  // of: the class
    std::size_t levels;
    std::vector<int> chains;
    std::size_t less;  // neighbours that are used already: the vertex that this level hangs from
  };

  // The last level, if it depends on the pair and on one level more, `inner`: the members of the set that the
  // pair alone gives, `stable`, are counted for all vertices of that level (dynamic/common_counts.hpp).
  struct Closing {
    std::uint32_t number = kNoNumber;
    std::vector<Source> stable;
    std::uint32_t apart = kNoNumber;  // a level of the pair that is not counted as a member
    Source inner{};
    Way back = Way::kOut;  // from a member to vertices of the inner level, which are of class `of`
    std::uint32_t of = 0;
  };

  Closing closing;
  // Whether the next level is a row of this one, and the last one closes: a loop over rows counts all three.
  bool closes_soon = false;
  // If the later levels are leaves of this one and components of the tail that do not depend on it: its
  // vertices are not assigned one after another, but their numbers of leaves added.
  std::vector<Leaves> leaves;
  std::vector<std::size_t> components;
  std::uint32_t sum = kNoNumber;  // the number of its sums, if its set is a row
  // Whether the number of ways to match this level and all later ones is kept during the search for an
  // update. It depends on the pair and on at most two levels, `keys`. `rest` names these levels in all plans.
  bool kept = false;
  std::uint32_t rest = kNoNumber;
  std::array<std::uint8_t, 2> keys{};
};

// How a level is matched for several plans at once: its set, and the restrictions that hold in all of them.
struct Loop {
  LevelSet set;
  std::uint32_t after = 0, before = 0, distinct = 0;  // levels, as bits
};

// A level whose vertices are counted, each match that the search finds `weight` times.
struct TalliedLevel {
  int level;
  std::uint64_t weight;
};

struct Plan {
  std::uint32_t pattern = 0;
  std::vector<PairEdge> pair;
  // Edges that must not be there between the vertices of the pair. If any edge of the plan must not be there,
  // it `negates`: each vertex is looked at by itself. If it is an `inverse` plan, the changed edge is one of
  // these, so matches vanish when it comes.
  std::vector<PairEdge> pair_absent;
  bool negates = false, inverse = false;
  // Of an inverse plan whose changed edge is one to any vertex: the level of the pair whose vertex is in no
  // match. The other one must not have such edges.
  int free_end = kNone;
  // The pattern is one of several cases of a condition, of which no two hold at once: a match does not come
  // if another case held before, and does not go if another case holds afterwards.
  std::vector<OtherCase> others;
  // Levels whose vertices ascend in the one of several rows that is reported.
  std::vector<std::array<std::uint8_t, 2>> ascending;
  bool selects = false;    // whether it has any of these
  LabelSet first, second;  // labels of the vertices at levels 0 and 1
  std::vector<Step> steps;
  std::vector<Needs> needs;            // by level; they change when classes are added
  std::vector<std::uint32_t> columns;  // by level: of the candidate table; kNoNumber: none
  std::vector<LevelSet> sets;          // by level, likewise
  std::vector<Loop> loops;             // by level, likewise: as it is matched with other plans
  std::vector<Remembered> remembered;  // by level, likewise
  search::Tail tail;                   // counting only
  // Every match found yields one match per image, which maps query vertex q to the vertex at level image[q].
  std::vector<std::vector<std::uint8_t>> images;
  std::uint64_t multiplier = 1;  // counting only
  // Levels whose vertices are counted (counting only). At most one of them is not of the pair: its vertices
  // are matched one after another.
  std::vector<TalliedLevel> tallied;
  // The number of automorphisms that fix the pair, of whose matches the search finds one, if all vertices
  // must differ; else 0.
  std::uint64_t symmetries = 0;
  bool injective = false;    // whether all vertices of a match differ
  bool always_sums = false;  // whether its matches are counted as sums even if few plans share these
  // Where paths join the ends of the pair, there are two plans for it, one after another: the first is
  // replaced by the second if that one's search is shorter for an update. `row_cost`: the expected cost of a
  // search per vertex of the row that level 2 is taken from.
  double row_cost = 0;
  bool is_replaced = false, replaces_last = false;
  // The least image of a match along these points is reported.
  std::vector<Orbit> orbits;
  // Plans of a pattern with one group match the levels from 2 on that `shared` has together: their sets are
  // equal, and these are the restrictions that hold in all of them (coalesced search, GAMMA section V-B).
  std::uint32_t group = kNoNumber;
  std::vector<Loop> shared;

  // The tallied level after the pair; kNone if there is none.
  int tallied_level() const {
    return !tallied.empty() && tallied.back().level >= 2 ? tallied.back().level : kNone;
  }
  int levels() const { return static_cast<int>(steps.size()); }
  // The number of query vertices.
  std::size_t width() const { return steps.size() - (free_end == kNone ? 0 : 1); }
};

}  // namespace motiflux::dynamic
