// The arguments of kernels that count patterns with a universal vertex.
//
// A universal vertex is adjacent to all other vertices of the pattern. The others are the levels 0, 1, ...
// here. Images of the universal vertex are the roots; the neighbours of a root are its members.
//
//   levels:  | 0: a warp takes its vertices in turn | walked by the warp | one per lane | closed: 1 or 2 |
#pragma once

#include "motiflux/match/clique_task.hpp"

namespace motiflux::match {

inline constexpr std::uint32_t kMostUniversalVertexLevels = 9;

enum class UniversalVertexOrder : std::uint32_t { kAny = 0, kAboveRoot = 1, kBelowRoot = 2 };

// The conditions on the members that a level's set starts from.
struct UniversalVertexBase {
  std::uint32_t kind;  // a bit of UniversalVertexTask::kinds
  UniversalVertexOrder order;
};

// The set of a level: masks of earlier levels for the conditions that its start set does not fulfil already.
struct UniversalVertexStep {
  std::uint32_t joined;    // their vertices are neighbours
  std::uint32_t apart;     // ... are not
  std::uint32_t after;     // ... are smaller
  std::uint32_t before;    // ... are greater
  std::uint32_t distinct;  // ... are different
  std::int32_t start;      // the earlier level whose set it starts from, or kNoReuse
  std::uint32_t base;      // else the base it starts from
};

// How the closed levels are counted, by the sizes of their sets.
enum class UniversalVertexClosedForm : std::uint32_t {
  kSize = 0,      // one level: its size
  kPairs = 1,     // two levels of one set, the second greater
  kOrdered = 2,   // two levels of one set, different
  kProduct = 3,   // two levels, one of each set
  kDistinct = 4,  // the same, different
};

struct UniversalVertexShape {
  std::uint32_t levels;  // 3 or more
  std::uint32_t lanes;   // the level whose vertices lanes take
  std::uint32_t bases;   // number of bases
  UniversalVertexClosedForm close;
  UniversalVertexBase base[kMostUniversalVertexLevels];
  UniversalVertexStep step[kMostUniversalVertexLevels];
  std::uint32_t
      renewed[kMostUniversalVertexLevels];  // levels whose sets are determined by this level's vertex
};

struct UniversalVertexTask {
  view::Adjacency above;       // of each possible member, its greater neighbours among them
  const std::uint32_t* kinds;  // the kinds of each vertex; null if there is only one kind
};

struct UniversalVertexArgs {
  CliqueTask task;  // its rows are the rows of the roots: all possible members
  UniversalVertexTask pattern;
  UniversalVertexShape shape;
};

}  // namespace motiflux::match
