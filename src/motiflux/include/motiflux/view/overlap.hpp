// Overlapping components of a tail, as a kernel is given them (motiflux/plan/ir.py, TailComponent).
//
// A component is overlapping if vertices of several of its branches may coincide, so that the branches cannot
// be counted independently. It has leaf levels, which have no child block and whose sets are measured, and
// branches, whose choices are found by walks and written to memory. A branch is
//
//   one level   each of its candidates with the ways for its child block
//   a list      levels matched in turn: an entry has the vertices of its separators, in which the branch may
//               coincide with others, and the ways for the rest
//
// The branches of a component are all of one level, or all lists. They are walked one after the other; the
// first level of the first branch represents the component among the children of a level (view/tail.hpp).
#pragma once

#include "motiflux/view/tail.hpp"

namespace motiflux::view {

inline constexpr std::uint32_t kMostOverlapComponents = 15;
inline constexpr std::uint32_t kMostOverlapBranches = 31;
inline constexpr std::uint32_t kMostOverlapLevels = 6;
// Of a component with lists: its leaf levels, and the separators of a list.
inline constexpr std::uint32_t kMostLevelsBesideLists = 3;
inline constexpr std::uint32_t kMostSeparators = 3;

struct OverlapBranch {
  std::uint64_t at;        // where its choices lie, in words of the group's memory
  std::uint32_t capacity;  // for so many, a multiple of 32
  std::uint8_t component;
  std::uint8_t first;  // levels
  std::uint8_t last;
  std::uint8_t separators;
  std::uint8_t separator[kMostSeparators];  // levels
  std::uint8_t unused[5];
};

struct OverlapComponent {
  std::uint8_t
      lists;  // whether its branches are lists: the second, or the only one, is paired with the first
  std::uint8_t first_branch;
  std::uint8_t branches;
  std::uint8_t leaf_levels;  // number of levels without a child block
  std::uint16_t sizes;       // where sizes of their sets begin, by mask, in shared memory
  std::uint16_t divisor;     // by the orders of levels that are ordered among themselves
  std::uint8_t common[32];   // by mask of such levels: the number of what their sets have in common
};

struct OverlapComponents {
  std::uint8_t begins[kMaxLevels];  // one more than the branch that begins with a level, or 0
  std::uint8_t ends[kMaxLevels];    // the same for the branch that ends with it
  std::uint32_t components;
  std::uint32_t branches;
  std::uint32_t sizes;  // in shared memory, of all
  std::uint32_t masks;  // of levels, of the component with the most of them; 0 if all have lists
  OverlapComponent all[kMostOverlapComponents];
  OverlapBranch branch[kMostOverlapBranches];
};

}  // namespace motiflux::view
