// The number of matches at each vertex of patterns that are counted so, kept in step with the graph.
//
// A search adds what it finds to `moving` sums: of the running update if thresholds are watched in a
// sequence, else of the running call. They are few at a time, so a sum is in a block that is made for the
// first vertex in it. settle() adds them to the counts, and finds the counts that pass a threshold. The sums
// of a call stay until the call is final: undo() takes them off the counts again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/total.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/plan.hpp"

namespace motiflux::dynamic {

__extension__ using Amount = __int128;

[[noreturn]] inline void throw_beyond_amount() {
  throw std::overflow_error("the count at a vertex exceeds 2^127 - 1");
}

// `found` matches, each of which counts `weight` times, as an amount that comes or goes.
inline Amount amount_of(Total found, std::uint64_t weight, bool comes) {
  Total product;
  if (found >> 64 == 0) [[likely]]
    product = Total{static_cast<std::uint64_t>(found)} * weight;
  else if (__builtin_mul_overflow(found, Total{weight}, &product))
    throw_beyond_amount();
  if (product >> 127 != 0) throw_beyond_amount();
  const auto amount = static_cast<Amount>(product);
  return comes ? amount : -amount;
}

// Sums by vertex.
class VertexSums {
 public:
  // Throws std::overflow_error if the sum does not fit, and changes nothing then.
  void add(Vertex vertex, Amount more) {
    const std::size_t number = vertex >> kBits;
    if (number >= blocks_.size() || blocks_[number] == nullptr) [[unlikely]]
      make_block(number);
    Block& block = *blocks_[number];
    const std::size_t at = vertex & (kSize - 1);
    Amount sum;
    if (__builtin_add_overflow(block.sums[at], more, &sum)) throw_beyond_amount();
    if (!block.noted[at]) {
      touched_.push_back(vertex);
      block.noted[at] = true;
    }
    block.sums[at] = sum;
  }
  bool empty() const { return touched_.empty(); }
  // Calls visit(vertex, sum) for each sum that is not 0, and forgets all of them. After an exception in
  // visit, clear() forgets the rest.
  template <class Visit>
  void take(Visit&& visit) {
    for (const Vertex vertex : touched_) {
      const Amount sum = std::exchange(at(vertex), 0);
      if (sum != 0) visit(vertex, sum);
    }
    clear();
  }
  void clear() {
    for (const Vertex vertex : touched_) {
      at(vertex) = 0;
      blocks_[vertex >> kBits]->noted[vertex & (kSize - 1)] = false;
    }
    touched_.clear();
  }

 private:
  static constexpr std::size_t kBits = 9, kSize = std::size_t{1} << kBits;
  struct Block {
    std::array<Amount, kSize> sums{};
    std::array<bool, kSize> noted{};
  };
  Amount& at(Vertex vertex) { return blocks_[vertex >> kBits]->sums[vertex & (kSize - 1)]; }
  void make_block(std::size_t number) {
    if (number >= blocks_.size()) blocks_.resize(number + 1);
    blocks_[number] = std::make_unique<Block>();
  }

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Vertex> touched_;
};

// Adds the matches that a plan has found with an edge to the sums of the vertices of its pair.
inline void tally_ends(const Plan& plan, const Edge& edge, Total found, bool comes, VertexSums& sums) {
  if (found == 0) return;
  for (const auto& [level, weight] : plan.tallied)
    if (level < 2) sums.add(level == 0 ? edge.source : edge.target, amount_of(found, weight, comes));
}

// A count that passed a threshold with an update.
struct Passing {
  Vertex vertex;
  std::uint64_t update;
  Amount before, after;
};

// Which counts pass a threshold: those that reach it, and those that fall below it, if `down`.
struct Threshold {
  Amount at = 0;  // 0: none
  bool down = false;

  bool passed(Amount before, Amount after) const {
    return at > 0 && ((before < at && after >= at) || (down && before >= at && after < at));
  }
};

// The counts of one pattern.
class VertexTally {
 public:
  // `places`: the query vertices whose images are counted. `counts`: now, by vertex; later ones have 0.
  VertexTally(std::vector<std::uint8_t> places, std::vector<Amount> counts, Threshold threshold)
      : places_(std::move(places)), threshold_(threshold), counts_(std::move(counts)) {}

  VertexSums& moving() { return moving_; }
  // Adds the matches of rows of `width` vertices.
  void add_rows(std::span<const Vertex> rows, std::size_t width, bool comes) {
    for (std::size_t first = 0; first < rows.size(); first += width)
      for (const std::uint8_t place : places_) moving_.add(rows[first + place], comes ? 1 : -1);
  }
  // Adds the moving sums to the counts, as those of an update.
  void settle(std::uint64_t update);
  // Takes back all that came since forget().
  void undo();
  // Makes the counts final.
  void forget() { moved_.clear(); }
  std::vector<Passing> take_passings() { return std::exchange(passings_, {}); }
  bool watches() const { return threshold_.at > 0; }
  std::span<const Amount> counts() const { return counts_; }

 private:
  std::vector<std::uint8_t> places_;
  Threshold threshold_;
  std::vector<Amount> counts_;
  VertexSums moving_, moved_;  // of the running update or call; of the call
  std::vector<Passing> passings_;
};

// The counts of all patterns that are counted at vertices, by number of the pattern.
class VertexTallies {
 public:
  bool any() const { return any_; }
  bool has(std::size_t pattern) const { return of(pattern) != nullptr; }
  VertexTally* of(std::size_t pattern) {
    return pattern < tallies_.size() ? tallies_[pattern].get() : nullptr;
  }
  const VertexTally* of(std::size_t pattern) const {
    return pattern < tallies_.size() ? tallies_[pattern].get() : nullptr;
  }
  void put(std::size_t pattern, VertexTally tally);
  void drop(std::size_t pattern);
  std::size_t patterns() const { return tallies_.size(); }

  // Begins the updates of a call. `origins`: what update of the user each one is of, ascending; empty: each
  // is one.
  void open(bool one_change, std::span<const std::int64_t> origins);
  // Whether the counts after each update are looked at.
  bool by_update() const { return by_update_; }
  // What is added from now on is of this update.
  void at(std::uint64_t update) {
    if (!by_update_) return;
    const std::uint64_t origin = origins_.empty() ? update : static_cast<std::uint64_t>(origins_[update]);
    if (origin == now_) return;
    settle();
    now_ = origin;
  }
  void settle();
  void undo();
  void forget();

 private:
  std::vector<std::unique_ptr<VertexTally>> tallies_;
  bool any_ = false, by_update_ = false;
  std::span<const std::int64_t> origins_;  // valid until settle() at the end of a call
  std::uint64_t now_ = 0;
};

}  // namespace motiflux::dynamic
