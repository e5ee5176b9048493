// A tail as a kernel is given it: what is counted once the levels before are matched (motiflux/plan/shape.py,
// Tail).
//
// Levels before `start` are enumerated. Levels of the tail are counted in closed form, or, if they have a
// child block, walked with the number of that block. Each number belongs to the last level that it depends
// on, enumerated or not: `levels` says what belongs to each. All numbers that belong to a level multiply.
//
//   components   numbers that follow from the sizes of sets
//   sets         intersections of rows, within order restrictions, apart from the vertices of some levels
//   sources      the rows of sets, by their place in the plan, and the levels whose vertex picks the row
//   terms        products of sizes with a coefficient: inclusion and exclusion, written out
//   children     levels that are walked: the sum over their candidates of what belongs to them
#pragma once

#include "motiflux/view/plan.hpp"

namespace motiflux::view {

inline constexpr std::uint32_t kMostTailSets = 64;
inline constexpr std::uint32_t kMostTailSources = 192;
inline constexpr std::uint32_t kMostTailTerms = 256;
inline constexpr std::uint32_t kMostFactors = 6;
// Sets and intersections of sets whose sizes one component needs.
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
  std::uint32_t apart;  // levels whose vertices are not of the set
  std::int16_t reuse;   // an enumerated level whose set is one of those to intersect, or kNoReuse
  std::uint8_t first_source;
  std::uint8_t source_count;
};

enum class TailKind : std::uint8_t {
  kOne = 0,    // one level: the size of its set
  kSame = 1,   // levels that share one set
  kPair = 2,   // two levels of different sets: the product of the sizes less the size of what they share
  kMixed = 3,  // terms
};

struct TailComponent {
  TailKind kind;
  std::uint8_t levels;
  std::uint8_t first_set;
  std::uint8_t sizes;        // sets from the first on that are measured
  std::uint8_t first_chain;  // kSame: sizes of groups of levels that are ordered among themselves
  std::uint8_t chains;
  std::uint16_t first_term;  // kMixed
  std::uint16_t terms;
  std::uint8_t size_of[kMostFactors];  // kPair, kMixed: of each level; kPair: then that of the common part
  std::uint32_t divisor;               // kMixed: by how much to divide
};

struct TailTerm {
  std::int16_t coefficient;
  std::uint8_t size[kMostFactors];  // numbers of sizes that multiply, the first `factors`
  std::uint8_t factors;
  std::uint8_t unused;
};

// What belongs to a level, and how the level is walked.
struct TailLevel {
  std::uint8_t first_component;
  std::uint8_t components;
  std::uint8_t first_child;
  std::uint8_t children;
  std::uint8_t parent;   // of a level that is walked: what it belongs to
  std::uint8_t set;      // of a level that is walked
  std::uint8_t by_lane;  // whether a lane can count all that belongs to the level by itself
  std::uint8_t walks;    // whether that intersects rows
  // The vertices that what belongs to the level depends on, where its number is to be kept: those of the
  // levels `exact`, and by group those of levels of which it does not matter which has which.
  std::uint32_t exact;
  std::uint32_t groups[kMostKeyGroups];
  std::uint32_t key_words;  // in all; 0: the number is not kept
};

struct Tail {
  std::uint32_t start;
  std::uint32_t early;  // levels before the last enumerated one that something belongs to
  TailLevel levels[kMaxLevels];
  std::uint8_t children[kMaxLevels];
  std::uint8_t chains[kMaxLevels];
  TailComponent components[kMaxLevels];
  TailSet sets[kMostTailSets];
  TailSource sources[kMostTailSources];
  TailTerm terms[kMostTailTerms];
};

}  // namespace motiflux::view
