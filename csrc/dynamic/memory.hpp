// What searches remember of rows, for levels further on and for later updates.
//
// A search comes to the same vertex in many ways, and so do searches of later updates. Remembered are
//
//   filtered rows   the neighbours for a level that have neighbours for later levels (Needs): one in hundreds
//                   where a label is rare. A vertex may have lost such a neighbour since: a filtered row has
//                   at least the neighbours that serve, and each is tested again.
//   leaf sums       the sum, over the neighbours for a level, of the numbers of ways to choose their leaves
//   kept counts     the numbers of ways to match all levels from one on, by the vertices that they depend
//                   on: for one update. With them, a search for a cycle visits edges once instead of paths.
//   common counts   for one update (dynamic/common_counts.hpp)
//
// Rows and sums are valid until an edge that they were made from changes: the graph knows when that was
// (Graph::changed).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/total.hpp"
#include "dynamic/common_counts.hpp"
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

  // Rows as bits, by LevelSet::marks; few share a place. Stamps of all searches differ (Matcher::assign).
  sets::Marks& marks(std::uint32_t number) { return marks_[number % marks_.size()]; }
  std::uint64_t stamps = 0;

  // What the numbers of plans stand for changed.
  void forget() {
    used_ = 0;
    rows_.forget();
    sums_.forget();
    common_.clear();
  }

  // Call it between searches: rows that are in use stay.
  void make_room() {
    if (used_ <= kWords / 2) return;
    used_ = 0;
    rows_.clear();
  }

  // By Remembered::Closing::number.
  CommonCounts& common(std::uint32_t number) {
    if (common_.size() <= number) common_.resize(number + std::size_t{1});
    return common_[number];
  }

  struct KeptCount {
    std::uint64_t search = 0, key = 0;
    Total count = 0;
    std::uint32_t rest = 0;
  };

  // Where an entry would be; and the same, for writing it.
  const FilteredRow& row(std::uint32_t view, Vertex vertex) { return rows_.at(word(view, vertex)); }
  FilteredRow& new_row(std::uint32_t view, Vertex vertex) { return rows_.for_writing(word(view, vertex)); }
  const LeafSum& sum(std::uint32_t view, Vertex vertex) { return sums_.at(word(view, vertex)); }
  LeafSum& new_sum(std::uint32_t view, Vertex vertex) { return sums_.for_writing(word(view, vertex)); }
  const KeptCount& kept(std::uint32_t rest, std::uint64_t key) { return kept_.at(key + rest); }
  KeptCount& new_kept(std::uint32_t rest, std::uint64_t key) { return kept_.for_writing(key + rest); }

  // Room for a row of at most `size`, written at once; null if there is none.
  Vertex* room(std::size_t size) {
    if (words_ == nullptr) words_ = std::make_unique_for_overwrite<Vertex[]>(kWords);
    return used_ + size <= kWords ? words_.get() + used_ : nullptr;
  }
  // Keeps what was written to the last room.
  void keep(FilteredRow& row, std::size_t size) {
    row.first = static_cast<std::uint32_t>(used_);
    row.size = static_cast<std::uint32_t>(size);
    used_ += size;
  }
  sets::Span span(const FilteredRow& row) const {
    return {words_.get() + row.first, words_.get() + row.first + row.size};
  }

 private:
  static constexpr std::size_t kWords = std::size_t{1} << 18;

  // Entries by their words; they are overwritten by others in their place. A table starts small, since its
  // pages cost more than short streams take, and grows to some 400 kB.
  template <class Entry>
  class Table {
   public:
    Entry& at(std::uint64_t word) {
      if (entries_.empty()) clear();
      return entries_[word * 0x9E3779B97F4A7C15u >> (64 - bits_)];
    }
    Entry& for_writing(std::uint64_t word) {
      if (++written_ > 2 * entries_.size() && bits_ < kMostBits) grow();
      return at(word);
    }
    void clear() {
      entries_.assign(std::size_t{1} << bits_, {});
      written_ = 0;
    }
    void forget() {
      if (!entries_.empty()) clear();
    }

   private:
    static constexpr int kLeastBits = 7, kMostBits = 13;

    void grow() {
      entries_.reserve(std::size_t{1} << (bits_ + 2));  // may fail: the table is as before then
      bits_ += 2;
      clear();
    }

    int bits_ = kLeastBits;
    std::size_t written_ = 0;
    std::vector<Entry> entries_;
  };

  static std::uint64_t word(std::uint32_t view, Vertex vertex) { return std::uint64_t{view} << 32 | vertex; }

  std::array<sets::Marks, view::kMaxLevels> marks_;
  Table<FilteredRow> rows_;
  Table<LeafSum> sums_;
  Table<KeptCount> kept_;
  std::vector<CommonCounts> common_;
  std::unique_ptr<Vertex[]> words_;
  std::size_t used_ = 0;
};

}  // namespace motiflux::dynamic
