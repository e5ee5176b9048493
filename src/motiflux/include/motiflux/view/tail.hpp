// A tail as an argument of kernels: the levels that are counted when the levels before are matched
// (motiflux/plan/shape.py, Tail).
//
// Levels before `start` are enumerated. Levels of the tail are counted in closed form, or, if they have a
// child block, walked with the number of that block. Each number belongs to the last level that it depends
// on, enumerated or not: `levels` lists the numbers of each. All numbers of a level are multiplied.
//
//   components   numbers that follow from the sizes of sets
//   sets         intersections of rows, within order restrictions, without the vertices of some levels
//   sources      the rows of sets, by their place in the plan, and the level whose vertex picks the row
//   terms        products of sizes with a coefficient: inclusion and exclusion, written out
//   children     walked levels: the sum of their numbers over their candidates
#pragma once

#include "motiflux/view/plan.hpp"

namespace motiflux::view {

inline constexpr std::uint32_t kMostTailSets = 64;
inline constexpr std::uint32_t kMostTailSources = 192;
inline constexpr std::uint32_t kMostTailTerms = 256;
inline constexpr std::uint32_t kMostFactors = 6;
// The most sets and intersections of sets whose sizes one component needs.
inline constexpr std::uint32_t kMostSizes = 15;
inline constexpr std::uint32_t kMostKeyGroups = 3;
inline constexpr std::uint32_t kMostKeyWords = 27;

struct TailSource {
  std::uint16_t place;
  std::uint16_t level;
};

struct TailSet {
  std::uint32_t after;  // order restrictions, as of a step
  std::uint32_t before;
  std::uint32_t apart;  // levels whose vertices are not in the set
  std::int16_t reuse;   // an enumerated level whose set is intersected too, or kNoReuse
  std::uint8_t first_source;
  std::uint8_t source_count;
};

enum class TailKind : std::uint8_t {
  kOne = 0,    // one level: the size of its set
  kSame = 1,   // levels that share one set
  kPair = 2,   // two levels of different sets: the product of the sizes minus the size of the intersection
  kMixed = 3,  // terms
};

struct TailComponent {
  TailKind kind;
  std::uint8_t levels;
  std::uint8_t first_set;
  std::uint8_t sizes;        // number of sets measured, from the first on
  std::uint8_t first_chain;  // kSame: sizes of groups of mutually ordered levels
  std::uint8_t chains;
  std::uint16_t first_term;  // kMixed
  std::uint16_t terms;
  std::uint8_t size_of[kMostFactors];  // kPair, kMixed: of each level; kPair: then of the intersection
  std::uint32_t divisor;               // kMixed: the divisor of the sum
};

struct TailTerm {
  std::int16_t coefficient;
  std::uint8_t size[kMostFactors];  // indices of the sizes to multiply, the first `factors`
  std::uint8_t factors;
  std::uint8_t unused;
};

// The numbers of a level, and how the level is walked.
struct TailLevel {
  std::uint8_t first_component;
  std::uint8_t components;
  std::uint8_t first_child;
  std::uint8_t children;
  std::uint8_t parent;   // of a walked level: the level that it belongs to
  std::uint8_t set;      // of a walked level
  std::uint8_t by_lane;  // whether a lane alone can count all numbers of the level
  std::uint8_t walks;    // whether this intersects rows
  // If the level's number is kept: the vertices that it depends on, of the levels `exact`, and by group of
  // interchangeable levels.
  std::uint32_t exact;
  std::uint32_t groups[kMostKeyGroups];
  std::uint32_t key_words;  // in total; 0: the number is not kept
};

struct Tail {
  std::uint32_t start;
  std::uint32_t early;  // levels before the last enumerated one that have numbers
  TailLevel levels[kMaxLevels];
  std::uint8_t children[kMaxLevels];
  std::uint8_t chains[kMaxLevels];
  TailComponent components[kMaxLevels];
  TailSet sets[kMostTailSets];
  TailSource sources[kMostTailSources];
  TailTerm terms[kMostTailTerms];
};

}  // namespace motiflux::view
