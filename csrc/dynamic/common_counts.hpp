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
  static constexpr std::size_t kMost = std::size_t{1} << 19;

  // Begins an update, whose number is `stamp`.
  void begin(std::uint64_t stamp, std::size_t members) {
    stamp_ = stamp;
    members_ = members;
    asked_ = 0;
    size_ = kUnknown;
    made_ = false;
  }
  bool is_of(std::uint64_t stamp) const { return stamp_ == stamp; }
  bool is_made() const { return made_; }

  // Notes that `more` vertices are asked for. Returns whether making the table may pay: looking at the rows
  // of the set takes about as long as half as many intersections as it has members.
  bool ask(std::size_t more) {
    asked_ += more;
    return 2 * asked_ > members_ && (size_ == kUnknown || pays());
  }
  // The number of vertices in these rows.
  bool is_sized() const { return size_ != kUnknown; }
  void set_size(std::size_t size) { size_ = size; }
  std::size_t size() const { return size_; }
  // Whether intersections would have taken as long as making the table: then the longer way takes at most
  // twice the time of the shorter one. Rows of those asked for are taken to be as long as these.
  bool pays() const {
    const std::size_t each = members_ == 0 ? 0 : std::min(members_, size_ / members_);
    return size_ <= kMost && asked_ * (kOverhead + each) >= kRow * members_ + kStep * size_;
  }

  // Makes an empty table for the rows, in a graph of so many vertices; count() and note_member() fill it,
  // then call finish(). An exception may come between.
  void start(std::uint32_t vertices) {
    std::size_t slots = std::bit_ceil(std::max(kLeast, 2 * (size_ + members_)));
    factor_ = kFactor;
    shift_ = 32 - std::countr_zero(slots);
    mask_ = static_cast<std::uint32_t>(slots - 1);
    if (slots >= vertices) {  // each vertex has a slot of its own
      slots = vertices;
      factor_ = 1;
      shift_ = 0;
    }
    if (slots_.size() < slots) slots_.resize(slots);
    std::fill_n(slots_.begin(), slots, Slot{});
  }
  void finish() { made_ = true; }
  void count(Vertex vertex) { ++slot(vertex).count; }
  void note_member(Vertex vertex) { slot(vertex).count |= kMember; }

  // The number of members that the vertex is joined to.
  std::uint32_t of(Vertex vertex) const { return find(vertex) & ~kMember; }
  bool is_member(Vertex vertex) const { return (find(vertex) & kMember) != 0; }

 private:
  static constexpr std::size_t kLeast = 64;
  static constexpr std::uint32_t kMember = std::uint32_t{1} << 31, kFactor = 0x9E3779B9u;
  static constexpr std::size_t kUnknown = SIZE_MAX;
  // Costs in elements that an intersection reads: of beginning one, of finding a row, and of counting a
  // vertex.
  static constexpr std::size_t kOverhead = 16, kRow = 8, kStep = 8;

  struct Slot {
    Vertex next = 0;  // the vertex + 1; 0: empty
    std::uint32_t count = 0;
  };

  std::uint32_t place(Vertex vertex) const { return vertex * factor_ >> shift_; }
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
  std::size_t members_ = 0, asked_ = 0, size_ = kUnknown;
  bool made_ = false;
  int shift_ = 0;
  std::uint32_t factor_ = kFactor, mask_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace motiflux::dynamic
