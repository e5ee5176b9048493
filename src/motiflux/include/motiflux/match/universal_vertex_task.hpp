// The arguments of kernels that count patterns with a universal vertex.
//
// A universal vertex is adjacent to all other vertices of the pattern. The others are the levels here: 0, 1,
// ... Images of the universal vertex are the roots; the neighbours of a root are its members.
//
//   levels:  | 0: a warp takes its vertices in turn | walked by the warp | lanes: one each | closed: 1 or 2 |
#pragma once

#include "motiflux/match/clique_task.hpp"

namespace motiflux::match {

inline constexpr std::uint32_t kMostUniversalVertexLevels = 9;

enum class UniversalVertexOrder : std::uint32_t { kAny = 0, kAboveRoot = 1, kBelowRoot = 2 };

// What is asked of the members that a level's set starts from.
struct UniversalVertexBase {
  std::uint32_t kind;  // a bit of UniversalVertexTask::kinds
  UniversalVertexOrder order;
};

// How the set of a level comes about: masks of earlier levels, beyond what it starts from has already.
struct UniversalVertexStep {
  std::uint32_t joined;    // the vertex of each is a neighbour
  std::uint32_t apart;     // ... is none
  std::uint32_t after;     // ... is smaller
  std::uint32_t before;    // ... is greater
  std::uint32_t distinct;  // ... is another one
  std::int32_t start;      // an earlier level, whose set is taken, or kNoReuse
  std::uint32_t base;      // else what it starts from
};

// How the closed levels are counted, by the sizes of their sets.
enum class UniversalVertexClosedForm : std::uint32_t {
  kSize = 0,      // of one level: its size
  kPairs = 1,     // two of one set, the second greater
  kOrdered = 2,   // two of one set, which differ
  kProduct = 3,   // one of each set
  kDistinct = 4,  // the same, which differ
};

struct UniversalVertexShape {
  std::uint32_t levels;  // 3 or more
  std::uint32_t lanes;   // the level whose vertices lanes take
  std::uint32_t bases;   // how many there are
  UniversalVertexClosedForm close;
  UniversalVertexBase base[kMostUniversalVertexLevels];
  UniversalVertexStep step[kMostUniversalVertexLevels];
  std::uint32_t
      renewed[kMostUniversalVertexLevels];  // levels whose sets are known once this one has its vertex
};

struct UniversalVertexTask {
  view::Adjacency above;       // of each vertex that may be a member, its greater neighbours that may
  const std::uint32_t* kinds;  // of each vertex, the kinds that it is of; null where there is one kind only
};

struct UniversalVertexArgs {
  CliqueTask task;  // its rows are those of the roots: all neighbours that may be members
  UniversalVertexTask pattern;
  UniversalVertexShape shape;
};

}  // namespace motiflux::match
