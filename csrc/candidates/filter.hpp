// Candidate sets: label, degree and conditions first, then rounds of consistency along the query edges.
//
// The sets are the same on any number of threads: plans and estimates rely on that.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "candidates/query.hpp"
#include "common/parallel.hpp"

namespace motiflux::candidates {

// A word per data vertex, zero at first; pages never touched cost nothing.
class Words {
 public:
  explicit Words(std::size_t count);
  std::uint32_t& operator[](std::size_t index) { return words_.get()[index]; }
  std::uint32_t operator[](std::size_t index) const { return words_.get()[index]; }

 private:
  struct Free {
    void operator()(std::uint32_t* words) const { std::free(words); }
  };
  std::unique_ptr<std::uint32_t, Free> words_;
};

struct FilterOptions {
  int rounds = 0;               // most rounds of consistency
  std::uint64_t max_bytes = 0;  // most memory for the sets
};

// A graph with fewer arcs is filtered on one thread: starting more threads takes longer.
inline constexpr std::size_t kArcsForThreads = 1 << 18;

// Whether the sets could be made within the memory.
enum class Outcome { kMade, kTooLarge };

class Filter {
 public:
  Filter(const DataGraph& graph, const Query& query, const Workers& workers);

  Outcome run(const FilterOptions& options);

  // Bit u of a word: the data vertex is a candidate of query vertex u.
  const Words& serves() const { return serves_; }
  // Ascending data vertices for each query vertex.
  std::vector<std::vector<std::uint32_t>>& sets() { return sets_; }
  int rounds() const { return rounds_; }

 private:
  // A candidate must have, along arcs of `kind`, a candidate of every query vertex in `mask`.
  struct Need {
    std::uint32_t kind;
    std::uint32_t mask;
  };
  // ... and at least `least` different neighbours that serve a query vertex of `mask`.
  struct Group {
    std::uint32_t kind;
    std::uint32_t mask;
    int least;
  };

  void describe();
  Outcome start(std::uint64_t max_bytes);
  bool sweep();
  void sweep_in_turn(std::uint64_t* removed);
  void sweep_by_lists(std::uint64_t* removed);
  std::uint32_t checked(std::uint32_t vertex) const;
  std::uint32_t checked_plain(std::uint32_t vertex, std::uint32_t served) const;
  std::uint32_t checked_kinds(std::uint32_t vertex, std::uint32_t served) const;
  bool enough(std::uint32_t vertex, const Group& group) const;
  void reach(std::uint32_t vertex, std::uint32_t* reached) const;
  bool any_empty() const;

  const DataGraph& graph_;
  const Query& query_;
  const Workers& workers_;
  bool plain_ = false;  // one kind, without labels or masks, that follows `out`
  std::vector<std::vector<Need>> needs_;
  std::vector<std::vector<Group>> groups_;
  std::vector<std::uint64_t> out_kinds_;  // by edge label: the kinds that include such an arc
  std::vector<std::uint64_t> in_kinds_;
  Words serves_;
  // Data vertices that serve some query vertex, by the first query vertex that they served.
  std::vector<std::vector<std::uint32_t>> active_;
  std::vector<std::vector<std::uint32_t>> checked_;  // their words after the round
  std::vector<std::uint64_t> left_;                  // candidates left of each query vertex
  std::vector<std::vector<std::uint32_t>> sets_;
  int rounds_ = 0;
};

}  // namespace motiflux::candidates
