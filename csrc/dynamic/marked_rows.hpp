// Rows as bits, each at the moment of a search: those of one thread, for one run.
//
// Threads take the updates of a run by one of their ends (dynamic/run_order.cpp). The row of that end is
// marked once, without the neighbours that are absent, and follows the moments of the updates:
//
//   row        2 5 7 8 9         with every neighbour of the run
//   changes    +8 at 3, -5 at 6  from the lifetimes, by moment
//   at 4       2 5 7 8 9         has(5), has(8)
//
// The row of the other end is then counted in the bits, and only its own absent neighbours are subtracted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynamic/entries.hpp"
#include "dynamic/rows.hpp"
#include "sets/marks.hpp"
#include "sets/span.hpp"

namespace motiflux::dynamic {

class Lifetimes;
struct End;

class MarkedRow {
 public:
  bool is(Vertex vertex, std::uint32_t of) const { return made_ && vertex_ == vertex && of_ == of; }
  // `of`: the class and way, as in End. `all`: every neighbour of the run, in a graph of so many vertices.
  void make(Vertex vertex, std::uint32_t of, sets::Span all, std::span<const End> ends,
            std::uint32_t vertices);
  void move_to(Moment moment);
  void forget() { made_ = false; }

  bool has(Vertex vertex) const { return marks_.has(vertex); }
  // The number of vertices of a list that the row has.
  std::size_t count(sets::Span list, const sets::Policy& policy) const { return marks_.count(list, policy); }

 private:
  struct Change {
    std::uint64_t when;  // twice the moment, and one more if the neighbour comes: it may go at the same one
    Vertex neighbor;

    bool comes() const { return (when & 1) != 0; }
  };
  void rewind();

  bool made_ = false;
  Vertex vertex_ = 0;
  std::uint32_t of_ = 0;
  Moment moment_ = 0;
  std::vector<Change> changes_;
  std::size_t next_ = 0;  // of those, the first that comes after the moment
  sets::Marks marks_;
};

class MarkedRows {
 public:
  explicit MarkedRows(const Lifetimes& lifetimes) : lifetimes_(lifetimes) {}

  // Forgets all rows; call it when a run is written.
  void start() {
    for (MarkedRow& one : rows_) one.forget();
    updates_ = 0;
  }
  // The same, and frees the memory.
  void clear() {
    rows_ = {};
    updates_ = 0;
  }
  // The next `updates` updates have this end.
  void keep(Vertex vertex, std::size_t updates) {
    vertex_ = vertex;
    updates_ = updates;
  }
  // The row at a moment; null if it is not that of the end, or does not pay. all() returns the row of the
  // graph, which has so many vertices.
  template <class All>
  const MarkedRow* row(Vertex vertex, std::uint32_t of, Moment moment, std::uint32_t vertices, All&& all) {
    if (vertex != vertex_ || updates_ == 0) return nullptr;
    if (!rows_[last_].is(vertex, of)) {
      last_ = (last_ + 1) % rows_.size();
      if (!rows_[last_].is(vertex, of)) {
        const sets::Span whole = all();
        if (!pays(whole.size())) return nullptr;
        make(vertex, of, whole, vertices);
      }
    }
    rows_[last_].move_to(moment);
    return &rows_[last_];
  }

 private:
  // Marking a row takes as long as some intersections with it; and with one that is much longer than the
  // other row, intersections do not read it.
  static constexpr std::size_t kFewest = 4, kElements = std::size_t{1} << 11;

  bool pays(std::size_t size) const { return updates_ >= kFewest && updates_ * kElements >= size; }
  void make(Vertex vertex, std::uint32_t of, sets::Span all, std::uint32_t vertices);

  const Lifetimes& lifetimes_;
  // Two: the edges of a triangle with labels ask for different classes of one row.
  std::array<MarkedRow, 2> rows_;
  std::size_t last_ = 0;
  Vertex vertex_ = 0;
  std::size_t updates_ = 0;
};

}  // namespace motiflux::dynamic
