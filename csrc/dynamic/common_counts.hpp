// How many members of a set each vertex is joined to: for all vertices at once.
//
// The last vertex of a cycle is joined to an end of the changed edge and to a vertex found before. Instead of
// intersecting two rows for each such vertex, the rows of the end's neighbours are read once, and each vertex
// in them is counted:
//
//     u ---- v                 set:     neighbours x of v
//     |      |                 counts:  w: the number of x whose row has w
//     w ---- x
//
// All plans for an update use the same counts. A table of counts that fits the cache is faster than rows from
// all over memory: a lookup takes 2 ns, an intersection 40.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynamic/rows.hpp"

namespace motiflux::dynamic {

class CommonCounts {
 public:
  // The number of vertices in rows, above which no table is made.
  static constexpr std::size_t kMost = std::size_t{1} << 14;

  enum class State : std::uint8_t { kWaiting, kMade, kTooLarge };

  // Begins an update, whose number is `stamp`.
  void begin(std::uint64_t stamp, std::size_t members) {
    stamp_ = stamp;
    members_ = members;
    asked_ = 0;
    state_ = State::kWaiting;
  }
  bool is_of(std::uint64_t stamp) const { return stamp_ == stamp; }
  State state() const { return state_; }
  void refuse() { state_ = State::kTooLarge; }

  // Whether to make the table, now that `more` vertices are asked for: making it takes about as long as half
  // as many intersections as the set has members.
  bool pays(std::size_t more) {
    asked_ += more;
    return 2 * asked_ > members_;
  }

  // Makes an empty table for rows with `size` vertices in all.
  void start(std::size_t size) {
    const std::size_t slots = std::bit_ceil(std::max(kLeast, 2 * (size + members_)));
    if (slots_.size() < slots) slots_.resize(slots);
    shift_ = 32 - std::countr_zero(slots);
    mask_ = static_cast<std::uint32_t>(slots - 1);
    std::fill_n(slots_.begin(), slots, Slot{});
    state_ = State::kMade;
  }
  void count(Vertex vertex) { ++slot(vertex).count; }
  void note_member(Vertex vertex) { slot(vertex).count |= kMember; }

  // The number of members that the vertex is joined to.
  std::uint32_t of(Vertex vertex) const { return find(vertex) & ~kMember; }
  bool is_member(Vertex vertex) const { return (find(vertex) & kMember) != 0; }

 private:
  static constexpr std::size_t kLeast = 64;
  static constexpr std::uint32_t kMember = std::uint32_t{1} << 31;

  struct Slot {
    Vertex next = 0;  // the vertex + 1; 0: empty
    std::uint32_t count = 0;
  };

  std::uint32_t place(Vertex vertex) const { return vertex * 0x9E3779B9u >> shift_; }
  Slot& slot(Vertex vertex) {
    std::uint32_t at = place(vertex);
    while (slots_[at].next != vertex + 1 && slots_[at].next != 0) at = (at + 1) & mask_;
    slots_[at].next = vertex + 1;
    return slots_[at];
  }
  std::uint32_t find(Vertex vertex) const {
    std::uint32_t at = place(vertex);
    while (slots_[at].next != vertex + 1 && slots_[at].next != 0) at = (at + 1) & mask_;
    return slots_[at].count;
  }

  std::uint64_t stamp_ = 0;
  std::size_t members_ = 0, asked_ = 0;
  State state_ = State::kWaiting;
  int shift_ = 0;
  std::uint32_t mask_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace motiflux::dynamic
