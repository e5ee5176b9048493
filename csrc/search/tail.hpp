// Counting trailing levels as a product of components.
//
// Once the levels before it are matched, the tail falls into independent components: no query edge joins two
// of them and no vertex fits both. Their numbers multiply. A component is
//
//   one level, without a child       the size of its set
//   one level with a child block     the sum, over its set, of the number of the child block
//   levels whose vertices might      inclusion and exclusion over the partitions of the levels (GraphPi,
//   coincide                         SC 2020), each vertex weighted by the numbers of the child blocks; a
//                                    falling factorial if all share one set and have no child block
//   branches whose vertices might    pairs of entries of lists, one entry for each choice for the
//   coincide in several levels       separators of a branch (search/disjoint_pairs.hpp)
//
// so a tail is a tree of blocks. A block depends on few of the levels matched before it; its number is
// remembered by their vertices (search/memo.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/total.hpp"

namespace motiflux::search {

inline constexpr int kNoBlock = -1;

// The most separators of a list, and the most levels that its entries name.
inline constexpr std::size_t kMostSeparators = 3;
inline constexpr std::size_t kMostListed = 4;

// The most lists of a component, and the most levels beside them.
inline constexpr std::size_t kMostLists = 2;
inline constexpr std::size_t kMostLevelsBesideLists = 3;

// A branch of a component as a list of the choices for its separators: the levels whose vertices might
// coincide with vertices of other branches. Each entry has the number of ways to choose the other levels.
struct TailList {
  std::vector<int> levels;  // matched in turn
  // Levels that an entry names: the separators and, if lists are kept, the levels that must differ from
  // levels matched before.
  std::vector<int> listed;
  std::size_t separators = 0;
  std::vector<int> exact;  // levels matched before that it depends on, `distinct` levels aside
  bool kept = false;       // whether the list for given vertices of `exact` is kept, none excluded
  int block = kNoBlock;    // counted when all levels are matched
  std::size_t number = 0;  // among the lists of the tail
};

struct TailComponent {
  std::vector<int> levels;
  // Levels with the same number have the same set; numbers are 0, 1, ... in order of appearance.
  std::vector<int> set_of;
  // Sizes of the groups of levels whose vertices are ordered among themselves: each choice is counted once
  // for each order.
  std::vector<int> chains;
  // The child block of each level, or kNoBlock; empty if no level has one.
  std::vector<int> blocks;
  // Branches that might coincide with others in several levels; `levels` have no child blocks then.
  std::vector<TailList> lists;

  int sets() const;
  bool deep() const { return !blocks.empty() || !lists.empty(); }
};

// Levels on which a block depends only because their vertices are excluded from some of its own levels: their
// order does not matter.
struct Excluded {
  std::vector<int> members;  // of the block
  std::vector<int> levels;   // matched before
};

struct TailBlock {
  std::vector<TailComponent> components;
  std::vector<int> exact;  // levels matched before that it depends on, `excluded` aside
  std::vector<Excluded> excluded;
  bool kept = false;  // whether to remember its numbers
};

struct Tail {
  int start = 0;                  // first level; the number of levels if there is no tail
  std::vector<TailBlock> blocks;  // the first is the whole tail
  // For each level of the tail, its `distinct` levels that are matched when it is counted.
  std::vector<std::uint32_t> matched;
  std::size_t lists = 0;

  bool nested() const { return blocks.size() > 1 || lists > 0; }
};

// The most different sets of one component, and its most levels.
inline constexpr int kMostTailSets = 4;
inline constexpr std::size_t kMostMixedLevels = 6;

// The number of ways to take `levels` different vertices, in order, from one set of `size`; the orders of
// each chain count once. Nothing if there are more than about 2^123.
std::optional<Total> falling_factorial(std::uint64_t size, std::size_t levels, std::span<const int> chains);

// The number of ways to take a different vertex from each level's set, not yet divided by the orders of
// chains. common[mask] is the size of the intersection of the sets in `mask`, whose bits number sets. Nothing
// if there may be more than 2^126.
std::optional<Total> distinct_choices(const TailComponent& component, std::span<const std::uint64_t> common);

// The product of the factorials of `chains`; they divide any count of ordered choices.
template <class Number>
void divide_by_orders(Number& ways, std::span<const int> chains) {
  for (int chain : chains)
    for (int factor = 2; factor <= chain; ++factor) ways /= static_cast<std::uint64_t>(factor);
}

}  // namespace motiflux::search
