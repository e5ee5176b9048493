// What searches remember of rows, for levels further on and for later updates.
//
// A search comes to the same vertex in many ways, and so do searches of later updates. Remembered are
//
//   filtered rows   the neighbours for a level that have neighbours for later levels (Needs): one in hundreds
//                   where a label is rare. A vertex may have lost such a neighbour since: a filtered row has
//                   at least the neighbours that serve, and each is tested again.
//   leaf sums       the sum, over the neighbours for a level, of the numbers of ways to choose their leaves
//   kept counts     the numbers of ways to match all levels from one on, by the vertices that they depend
//                   on: for one search. With them, a search for a cycle visits edges once instead of paths.
//
// The first two are valid until an edge that they were made from changes: the graph knows when that was
// (Graph::changed).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/total.hpp"
#include "dynamic/rows.hpp"
#include "motiflux/view/plan.hpp"
#include "sets/marks.hpp"
#include "sets/span.hpp"

namespace motiflux::dynamic {

class Memory {
 public:
  struct FilteredRow {
    std::uint64_t time = 0;  // of the graph, when it was made; 0: never
    std::uint32_t view = 0;
    Vertex vertex = 0;
    std::uint32_t first = 0, size = 0;  // in words_
  };
  struct LeafSum {
    std::uint64_t time = 0;
    std::uint32_t view = 0;
    Vertex vertex = 0;
    sets::Span row{};
    Total sum = 0;
  };

  // Sets as bits, by level; stamps of all searches differ (Matcher::assign).
  sets::Marks& marks(int level) { return marks_[static_cast<std::size_t>(level)]; }
  std::uint64_t stamps = 0;

  // Call it between searches: rows that are in use stay.
  void make_room() {
    if (used_ <= kWords / 2) return;
    used_ = 0;
    rows_.assign(rows_.size(), {});
  }

  struct KeptCount {
    std::uint64_t search = 0, key = 0;
    Total count = 0;
    int level = 0;
  };

  FilteredRow& row(std::uint32_t view, Vertex vertex) { return entry(rows_, view, vertex); }
  LeafSum& sum(std::uint32_t view, Vertex vertex) { return entry(sums_, view, vertex); }

  KeptCount& kept(int level, std::uint64_t key) {
    if (kept_.empty()) kept_.resize(kEntries);
    return kept_[((key + static_cast<std::uint64_t>(level)) * 0x9E3779B97F4A7C15u) >> 51];
  }

  // Room for a row of at most `size`, written at once; null if there is none.
  Vertex* room(std::size_t size) {
    if (words_.empty()) words_.resize(kWords);
    return used_ + size <= kWords ? words_.data() + used_ : nullptr;
  }
  // Keeps what was written to the last room.
  void keep(FilteredRow& row, std::size_t size) {
    row.first = static_cast<std::uint32_t>(used_);
    row.size = static_cast<std::uint32_t>(size);
    used_ += size;
  }
  sets::Span span(const FilteredRow& row) const {
    return {words_.data() + row.first, words_.data() + row.first + row.size};
  }

 private:
  // Entries are overwritten by others in their place: 300 kB of each kind, 1 MB of rows.
  static constexpr std::size_t kEntries = std::size_t{1} << 13, kWords = std::size_t{1} << 18;

  template <class Entry>
  static Entry& entry(std::vector<Entry>& entries, std::uint32_t view, Vertex vertex) {
    if (entries.empty()) entries.resize(kEntries);
    const std::uint64_t word = (std::uint64_t{view} << 32 | vertex) * 0x9E3779B97F4A7C15u;
    return entries[word >> 51];
  }

  std::array<sets::Marks, view::kMaxLevels> marks_;
  std::vector<FilteredRow> rows_;
  std::vector<LeafSum> sums_;
  std::vector<KeptCount> kept_;
  std::vector<Vertex> words_;
  std::size_t used_ = 0;
};

}  // namespace motiflux::dynamic
