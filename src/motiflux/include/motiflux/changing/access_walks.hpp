// Walks down the searches of a run, which count the rows that these open (GCSM, section IV), on a device:
// what kernels are told of a round of them (docs/design/out-of-core.md).
//
// A node is a root, at level 1, or a vertex at a level below. A round has `slots` nodes of each level at
// most:
//
//   level 1     roots       3   7   9   -           which root
//   level 2     parents     0   0   2   -           the slot of the node above
//               vertices    5   8   5   -
//               sums        2   6   7   7           places of children up to this slot, within a block of
//               slots
//   level 3     parents     0   1   -   1   ...
//
// All nodes of a level stand for equally many.
#pragma once

#include "motiflux/match/filtered_plans.hpp"

namespace motiflux::changing {

inline constexpr std::uint32_t kNoNode = ~std::uint32_t{0};

// Slots of a block of threads, one each.
inline constexpr std::uint32_t kWalkThreads = 256;

struct WalkLevel {
  double weight;         // how many nodes each of its nodes stands for
  std::uint64_t places;  // of children of all its nodes
  std::uint32_t blocks;  // that are done
  std::uint32_t unused;
};

// A row that was opened: the number of its name and its vertex, name << 32 | vertex, plus 1; 0: none.
struct OpenedRow {
  std::uint64_t key;
  std::uint64_t times;  // a sum of amounts
};

// The same for all rounds of an estimate.
struct WalkArgs {
  match::FilteredPlans plans;  // `candidates` is null if there is no table
  std::uint32_t* parents;      // [level - 1][slot]; of level 1: numbers of roots
  std::uint32_t* vertices;     // [level - 1][slot], from level 2 on
  std::uint64_t* sums;         // [level % 2][slot]
  std::uint64_t* blocks;       // [level % 2][block]: places of children before a block of slots
  WalkLevel* levels;           // [view::kMaxLevels + 1]
  OpenedRow* rows;             // a hash table, all zero at first
  OpenedRow* found;            // its rows, one after another
  std::uint64_t* found_count;  // zero at first
  std::uint64_t* left_out;     // opens of rows that the table had no room for; zero at first
  std::uint64_t seed;
  std::uint32_t round;
  std::uint32_t slots;  // a multiple of kWalkThreads
  std::uint32_t roots;
  std::uint32_t counted;  // roots before this one belong to plans that are counted
  std::uint32_t level;    // of this launch; or levels of the nodes that open rows
  std::uint32_t mask;     // slots of the table, less 1
  std::uint32_t looks;    // candidates that are looked at to tell whether a search comes to a level
  std::uint32_t unused;
  std::uint64_t amounts[view::kMaxLevels];  // by level: what is added to the sum of a row that a node opens
};

}  // namespace motiflux::changing
