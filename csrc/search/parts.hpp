// Counting a tail that is a tree of blocks (search/tail.hpp) for one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "common/wide.hpp"
#include "motiflux/view/plan.hpp"
#include "search/memo.hpp"
#include "search/partitions.hpp"
#include "search/tail.hpp"
#include "sets/intersect.hpp"

namespace motiflux::search {

class Walker;

// Thrown where a search is told to stop while it counts a tail.
struct Stopped {};

// Thrown where a number does not fit the arithmetic.
struct Beyond {};

class PartCounter {
 public:
  explicit PartCounter(Walker& walker);

  // The number of ways to complete the levels before the tail. Number is Total, where Beyond is thrown if it
  // does not fit, or Wide. Throws Stopped.
  template <class Number>
  Number whole() {
    return block<Number>(0);
  }

 private:
  using Vertex = std::uint32_t;

  // What is known of a block: for each vertex of the level it hangs from, the number it had under a stamp.
  struct Recent {
    std::uint64_t stamp = 0;
    Total number = 0;
  };
  // For the vertices of a block's exact levels: by group of TailBlock::excluded, a bit for each data vertex
  // that a member may take, whatever is excluded.
  struct Reach {
    std::vector<Vertex> key;
    std::vector<std::vector<std::uint64_t>> bits;
  };
  struct Kept {
    int by_level = -1;     // the level it hangs from, if it depends on its vertex
    int under_level = -1;  // the last other level it depends on
    bool recent_serves = false;
    std::vector<Recent> recent;
    bool hashed = false;
    Memo memo;
    // relevant[g][i]: by value of level i of group g of TailBlock::excluded, whether it is a candidate of any
    // of the group's members; empty: all are.
    std::vector<std::vector<std::vector<bool>>> relevant;
    std::vector<int> levels;     // of the block and all that hangs from it, ascending
    std::vector<Reach> reaches;  // by hash of the key; empty: none are made
    std::uint64_t reaches_asked = 0, reaches_made = 0;
    std::vector<Vertex> key;
    std::map<std::vector<Vertex>, Wide> wide;  // by key, the numbers beyond 128 bits
  };
  // A vertex that a level may take, and the number of ways that hang from it then.
  template <class Number>
  struct Choice {
    Vertex vertex;
    Number ways;
  };
  // By level, ascending.
  template <class Number>
  using Choices = std::array<std::vector<Choice<Number>>, view::kMaxLevels>;

  template <class Number>
  Number block(int index);
  Wide wide_block(const TailBlock& block, Kept& kept);
  template <class Number>
  Number product(const TailBlock& block);
  template <class Number>
  Number component(const TailComponent& component);
  template <class Number>
  Number sum_over(int level, int hanging);
  template <class Number>
  Number weighted(const TailComponent& component);
  template <class Visit>
  void for_each_candidate(int level, Visit&& visit);
  template <class Number>
  void add_common(std::span<const int> levels, std::span<Number> sums);
  template <class Number>
  Choices<Number>& choices();

  void prepare(int index, int parent, int before);
  bool narrows(const TailBlock& block, const Kept& kept) const;
  const Reach* reach_of(const TailBlock& block, Kept& kept);
  void fill_reach(const TailBlock& block, const Kept& kept, Reach& reach);
  void spread(int level);
  void find_relevant(const TailBlock& block, Kept& kept);
  std::span<const Vertex> key_of(const TailBlock& block, Kept& kept);
  std::uint64_t stamp_of(const Kept& kept) const;

  Walker& walker_;
  const Tail& tail_;
  std::vector<Kept> kept_;
  std::size_t data_vertices_ = 0;  // over a candidate space: above every vertex of it
  // What levels may take, position by position, and how many of a level's sources lead there.
  std::array<std::vector<Vertex>, view::kMaxLevels> reached_;
  std::vector<std::uint32_t> led_, led_last_;
  Choices<Total> choices_;
  Choices<Wide> wide_choices_;
};

}  // namespace motiflux::search
