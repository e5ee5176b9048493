// Counting trailing levels as a product of components.
//
// Once the levels before it are matched, the tail falls apart into components with nothing in common: no
// query edge and no vertex that both could take. Their numbers multiply. A component is
//
//   one level, without a child       the size of its set
//   one level with a child block     the sum, over its set, of the number of the child block
//   levels whose vertices might      inclusion and exclusion over the partitions of the levels (GraphPi,
//   coincide                         SC 2020), each vertex weighted by the numbers of the child blocks; a
//                                    falling factorial if all share one set and have no child block
//   branches whose vertices might    pairs of entries of lists, one entry for each choice for the
//   coincide in several levels       separators of a branch (search/disjoint_pairs.hpp)
//
// so a tail is a tree of blocks. A block depends on few of the levels matched before it and its number is
// remembered by their vertices (search/memo.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/total.hpp"

namespace motiflux::search {

inline constexpr int kNoBlock = -1;

// Separators of a list, and levels that its entries name, at most.
inline constexpr std::size_t kMostSeparators = 3;
inline constexpr std::size_t kMostListed = 4;

// Lists of a component, and levels beside them, at most.
inline constexpr std::size_t kMostLists = 2;
inline constexpr std::size_t kMostLevelsBesideLists = 3;

// A branch of a component as a list of the choices for its separators, the levels whose vertices might
// coincide with those of other branches. Each entry has the ways to choose the rest.
struct TailList {
  std::vector<int> levels;  // matched in turn
  // Levels that an entry names: the separators, and then, if lists are kept, those that must avoid levels
  // matched before.
  std::vector<int> listed;
  std::size_t separators = 0;
  std::vector<int> exact;  // levels matched before that it depends on, but for what it must avoid
  bool kept = false;       // whether the list for given vertices of `exact` is kept, nothing avoided yet
  int block = kNoBlock;    // counted once all levels are matched
  std::size_t number = 0;  // among the lists of the tail
};

struct TailComponent {
  std::vector<int> levels;
  // Levels with the same number have the same set; numbers are 0, 1, ... in order of appearance.
  std::vector<int> set_of;
  // Sizes of the groups of levels whose vertices are ordered among themselves: each choice was counted once
  // for each of their orders.
  std::vector<int> chains;
  // The child block of each level, or kNoBlock; empty if no level has one.
  std::vector<int> blocks;
  // Branches that might coincide with others in several levels; `levels` have no child blocks then.
  std::vector<TailList> lists;

  int sets() const;
  bool deep() const { return !blocks.empty() || !lists.empty(); }
};

// Levels that a block depends on only in that their vertices must not be taken by some of its own: their
// order does not matter.
struct Excluded {
  std::vector<int> members;  // of the block
  std::vector<int> levels;   // matched before
};

struct TailBlock {
  std::vector<TailComponent> components;
  std::vector<int> exact;  // levels matched before that it depends on, `excluded` apart
  std::vector<Excluded> excluded;
  bool kept = false;  // whether to remember its numbers
};

struct Tail {
  int start = 0;                  // first level; the number of levels if there is no tail
  std::vector<TailBlock> blocks;  // the first is the whole tail
  // For each level of the tail, those of its `distinct` levels that are matched when it is counted.
  std::vector<std::uint32_t> matched;
  std::size_t lists = 0;

  bool nested() const { return blocks.size() > 1 || lists > 0; }
};

// Sets of one component that may differ, and its levels, at most.
inline constexpr int kMostTailSets = 4;
inline constexpr std::size_t kMostMixedLevels = 6;

// Ways to take `levels` different vertices, in order, from one set of `size`, where the orders of each chain
// count once. Nothing if there are more than about 2^123.
std::optional<Total> falling_factorial(std::uint64_t size, std::size_t levels, std::span<const int> chains);

// Ways to take a different vertex from each level's set, chains not yet divided by. common[mask] is the size
// of the intersection of the sets in `mask`, whose bits number sets. Nothing if there may be more than 2^126.
std::optional<Total> distinct_choices(const TailComponent& component, std::span<const std::uint64_t> common);

// The product of the factorials of `chains`; they divide any count of ordered choices.
template <class Number>
void divide_by_orders(Number& ways, std::span<const int> chains) {
  for (int chain : chains)
    for (int factor = 2; factor <= chain; ++factor) ways /= static_cast<std::uint64_t>(factor);
}

}  // namespace motiflux::search
