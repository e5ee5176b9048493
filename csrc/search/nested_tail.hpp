// Counting a nested tail, a tree of blocks (search/tail.hpp), for one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/wide.hpp"
#include "motiflux/view/plan.hpp"
#include "search/disjoint_pairs.hpp"
#include "search/memo.hpp"
#include "search/partitions.hpp"
#include "search/pool.hpp"
#include "search/tail.hpp"
#include "sets/intersect.hpp"

namespace motiflux::search {

class Walker;

// Thrown if a search is stopped while it counts a tail.
struct Stopped {};

// Thrown if a number does not fit the arithmetic.
struct Overflow {};

class NestedTailCounter {
 public:
  explicit NestedTailCounter(Walker& walker);

  // Counts the ways to complete the levels before the tail, and reports them to the walker. False if there
  // are none, here or in the shares of other threads. Throws Stopped.
  bool count();

  // While a tail is being counted: gives a thread that waits at `pool` some of the candidates left of the
  // outermost nested sum that has any.
  void share_work(Pool& pool);

  // Counts the candidates [from, to) of `level` that another thread gave; the levels before are matched.
  void go_on(int level, std::uint64_t from, std::uint64_t to);

 private:
  using Vertex = std::uint32_t;

  // Bytes for the remembered numbers of one thread.
  static constexpr std::size_t kMemoBytes = std::size_t{128} << 20;

  // The last number of a block for a vertex of its parent level; valid for one stamp.
  struct Recent {
    std::uint64_t stamp = 0;
    Total number = 0;
  };
  // For given vertices of a block's exact levels: by group of TailBlock::excluded, a bit for each data vertex
  // that a member may take if none is excluded.
  struct Reach {
    std::vector<Vertex> key;
    std::vector<std::vector<std::uint64_t>> bits;
  };
  struct Kept {
    int by_level = -1;     // the parent level, if the block depends on it
    int under_level = -1;  // the last other level it depends on
    bool recent_serves = false;
    std::vector<Recent> recent;
    Memo memo;
    // relevant[g][i]: by value of level i of group g of TailBlock::excluded, whether its vertex is a
    // candidate of a member of the group; empty: all are.
    std::vector<std::vector<std::vector<bool>>> relevant;
    std::vector<int> levels;     // of the block and all its descendants, ascending
    std::vector<Reach> reaches;  // by hash of the key; empty: no filters
    std::uint64_t reaches_asked = 0, reaches_made = 0;
    std::vector<Vertex> key;
    std::map<std::vector<Vertex>, Wide> wide;  // by key, the numbers beyond 128 bits
  };
  // A candidate of a level, with the number of its child block.
  template <class Number>
  struct Choice {
    Vertex vertex;
    Number ways;
  };
  // By level, ascending.
  template <class Number>
  using Choices = std::array<std::vector<Choice<Number>>, view::kMaxLevels>;

  // A list for given vertices of the levels it depends on, with no vertex excluded; equal entries are merged.
  // Lists that are too long, or have too large numbers, are not kept.
  struct KeptList {
    bool made = false, serves = false;
    std::vector<Vertex> key;
    std::vector<Entry<std::uint64_t>> entries;
  };
  // Buffers for counting a component with lists.
  struct ListWorkspace {
    std::vector<std::uint32_t> avoiding;  // by data vertex, the levels that must avoid it
    std::vector<Vertex> avoided;
    LeafSets leaves;
    DisjointPairs pairs;
    std::array<std::vector<Entry<std::uint64_t>>, kMostLists> entries;
    std::array<std::vector<Entry<Wide>>, kMostLists> wide_entries;
  };

  // The whole tail may be a sum over one level, as may the child block of each of its candidates, and so on.
  // Threads share such nested sums as they share enumerated levels; the shares are added up in the end.
  struct NestedSum {
    int block;
    int level;
    int child_block;                // of the level
    const Vertex* start = nullptr;  // the first candidate
    sets::Span open = {};           // candidates still to be tried
    bool whole = true;              // no part was given away or reported, and it is no part itself
  };

  void find_nested_sums();
  void close_nested_sums(std::size_t first);
  bool is_whole(std::size_t at) const;
  void split(std::size_t at);
  Total nested_sum(std::size_t at);
  Total add_open_candidates(std::size_t at);

  template <class Number>
  Number block(int index);
  Recent* recent_of(Kept& kept);
  std::optional<Total> known(const TailBlock& block, Kept& kept);
  void keep(Kept& kept, Total number, std::uint64_t work);
  Wide wide_block(const TailBlock& block, Kept& kept);
  template <class Number>
  Number product(const TailBlock& block);
  template <class Number>
  Number component(const TailComponent& component);
  template <class Number>
  Number sum_over(int level, int child_block);
  template <class Number>
  Number weighted(const TailComponent& component);
  template <class Visit>
  void for_each_candidate(int level, Visit&& visit) {
    for_each_candidate(level, tail_.matched[static_cast<std::size_t>(level)], visit);
  }
  // The same, skipping only the vertices of the levels `apart`.
  template <class Visit>
  void for_each_candidate(int level, std::uint32_t apart, Visit&& visit);
  // The same for the candidates `open`, whose last ones may be given to other threads meanwhile.
  template <class Visit>
  void for_each_open(int level, std::uint32_t apart, sets::Span& open, Visit&& visit);
  template <class Number>
  Number listed(const TailComponent& component);
  template <class Number, class Weight>
  Number pairs_of(const TailComponent& component, ListWorkspace& workspace);
  template <class Weight, class Use>
  void for_each_chunk(const TailList& list, const ListWorkspace& workspace, std::vector<Entry<Weight>>& chunk,
                      Use&& use);
  template <class Number, class Visit>
  void for_each_entry(const TailList& list, std::size_t depth, std::uint32_t avoided, Visit&& visit);
  const KeptList& kept_list(const TailList& list);
  void make_list(const TailList& list, KeptList& made);
  void prepare_workspace(const TailComponent& component, ListWorkspace& workspace);
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
  std::size_t memo_bytes_ = kMemoBytes;  // left for tables
  std::vector<Kept> kept_;
  std::vector<NestedSum> nested_sums_;
  std::vector<std::vector<KeptList>> kept_lists_;           // by list, by hash of the key
  std::vector<std::unique_ptr<ListWorkspace>> workspaces_;  // by the first list of a component
  std::size_t data_vertices_ = 0;                           // above every vertex
  // The candidates (positions) that each level may take, and the number of a level's sources that lead to
  // each position.
  std::array<std::vector<Vertex>, view::kMaxLevels> reached_;
  std::vector<std::uint32_t> led_, led_last_;
  Choices<Total> choices_;
  Choices<Wide> wide_choices_;
};

}  // namespace motiflux::search
