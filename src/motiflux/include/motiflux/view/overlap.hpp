// Pieces of a tail that meet others, as a kernel is given them (motiflux/plan/ir.py, TailComponent).
//
// A meeting is a component: levels from which nothing hangs, whose sets are measured, beside parts, whose
// choices are found by walks and written down. A part is
//
//   a slot   one level: each of its candidates with the ways for what hangs from it
//   a list   levels matched in turn: an entry has the vertices of its doors, and the ways for what hangs
//
// A meeting has slots or lists, not both. Its parts are walked one after the other; the first level of the
// first stands for it among the children of a level (view/tail.hpp).
#pragma once

#include "motiflux/view/tail.hpp"

namespace motiflux::view {

inline constexpr std::uint32_t kMostOverlapComponents = 15;
inline constexpr std::uint32_t kMostOverlapBranches = 31;
inline constexpr std::uint32_t kMostOverlapLevels = 6;
// Of a meeting of lists: levels beside the lists, and the doors of one.
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
  std::uint8_t lists;  // whether its parts are lists: the second, or the only one, is held against the first
  std::uint8_t first_branch;
  std::uint8_t branches;
  std::uint8_t leaf_levels;  // levels from which nothing hangs
  std::uint16_t sizes;       // where sizes of their sets begin, by mask, in shared memory
  std::uint16_t divisor;     // by the orders of levels that are ordered among themselves
  std::uint8_t common[32];   // by mask of such levels: the number of what their sets have in common
};

struct OverlapComponents {
  std::uint8_t begins[kMaxLevels];  // one more than the part that begins with a level, or 0
  std::uint8_t ends[kMaxLevels];    // the same of the part that ends with it
  std::uint32_t components;
  std::uint32_t branches;
  std::uint32_t sizes;  // in shared memory, of all
  std::uint32_t masks;  // of slots, of the meeting that has the most; 0 if none has any
  OverlapComponent all[kMostOverlapComponents];
  OverlapBranch branch[kMostOverlapBranches];
};

}  // namespace motiflux::view
