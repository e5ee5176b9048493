// Rows of neighbours that grow and shrink.
//
//   row of v:   [ neighbour | neighbour | ... | free ]   sorted by class modulo 64, class, id
//               [ start     | start     | ... | free ]   of each run; only if there are several classes
//               [ class     | class     | ... | free ]   of each neighbour; only if there are over 64 classes
//
// A class is a pair: the label of an edge and the label of the vertex at its other end
// (dynamic/relations.hpp). The neighbours whose classes are equal modulo 64 are a run, and a word of 64 bits
// says which runs the row has. The number of bits below that of a run is its number, so the run is found
// without search; bisecting all classes of the row took up to a quarter of the time of searches. With at most
// 64 classes a run is one class: the neighbours for a query edge. With more, the class is found by bisecting
// its run. Starts have 16 bits, so that they fit into a cache line or two; those of the largest rows have 32.
//
// Rows are in blocks of a few sizes (dynamic/row_blocks.hpp); a full row moves to the next size, and its old
// block is reused. Rows may be lent: they are in memory that is only read, a graph file's, until they are
// changed. A lent row has the form of a block without room for more; its first change moves it to another.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "dynamic/row_blocks.hpp"
#include "dynamic/row_reader.hpp"
#include "sets/span.hpp"

namespace motiflux::dynamic {

using Vertex = std::uint32_t;
using Class = std::uint32_t;

class Rows {
 public:
  Rows() = default;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  std::uint32_t vertices() const { return static_cast<std::uint32_t>(rows_.size()); }
  void add_vertices(std::uint32_t count);
  void keep_vertices(std::uint32_t count);

  // The order of classes in rows: modulo kRuns, then by the rest.
  static constexpr int kRunBits = 6;
  static constexpr std::uint32_t kRuns = 1 << kRunBits;
  static std::uint32_t order(Class of) { return std::rotr(of, kRunBits); }
  static Class class_at(std::uint32_t order) { return std::rotl(order, kRunBits); }

  // Makes rows for vertices [0, offsets.size() - 1), row v with offsets[v + 1] - offsets[v] neighbours, which
  // are to be written next. There were no vertices before. `most`: the greatest class.
  void make(std::span<const std::uint64_t> offsets, Class most);
  // The same, but rows are lent: they are one after the other in `blocks`, lent_words() in all, in the memory
  // of `lent`. If there are several classes, call lends() for each row next.
  void make_lent(std::span<const std::uint64_t> offsets, Class most, std::span<const std::uint32_t> blocks,
                 std::shared_ptr<const Arena> lent);
  static std::size_t lent_words(std::span<const std::uint64_t> offsets, Class most);
  // Whether a lent row is what the beginning of `scratch` has, neighbours of these classes, and takes note of
  // its runs. Threads may ask for different rows.
  bool lends(Vertex vertex, std::vector<std::uint32_t>& scratch, std::span<const Class> classes);
  bool has_lent() const { return lent_ != nullptr; }
  // Moves all rows that are lent to blocks. All or none; no row is being changed.
  void take_over_lent(const Workers& workers);
  // Moves a row to a block if it is lent, so that a change of no more neighbours takes no memory.
  void own(Vertex vertex) {
    if (is_lent(rows_[vertex])) resize(vertex, capacity_for(rows_[vertex].size));
  }
  // A row to be written: neighbours sorted by order(class), then by id. Threads may write different rows.
  Vertex* neighbors(Vertex vertex) { return rows_[vertex].data; }
  // The classes of the neighbours that were written; call it if there are several.
  void set_classes(Vertex vertex, std::span<const Class> classes);

  // Prepares for a class; call it before place(). Returns whether all rows were moved.
  bool admit(Class of) {
    if (of <= most_) return false;
    widen(of);
    return true;
  }
  // The place of the neighbour in the row, or the place to insert it; is_at() tells which.
  std::size_t place(Vertex vertex, Class of, Vertex neighbor) const { return place(vertex, 0, of, neighbor); }
  // The same if the place is known not to be before `from`.
  std::size_t place(Vertex vertex, std::size_t from, Class of, Vertex neighbor) const;
  bool is_at(Vertex vertex, std::size_t at, Class of, Vertex neighbor) const;
  // The places of up to kLookups neighbours. The bisections go on in turns, so that their cache misses
  // overlap: in rows that are not in the cache, this takes half the time.
  struct Lookup {
    Vertex vertex;
    Class of;
    Vertex neighbor;
  };
  static constexpr std::size_t kLookups = 16;
  void find_places(std::span<const Lookup> lookups, std::size_t* places) const;

  // Inserts a new neighbour at its place `at`; its class was admitted.
  void insert(Vertex vertex, std::size_t at, Class of, Vertex neighbor);
  // False if the row does not have it.
  bool erase(Vertex vertex, Class of, Vertex neighbor);
  // Deletes the neighbour at its place.
  void erase_at(Vertex vertex, std::size_t at, Class of);
  bool contains(Vertex vertex, Class of, Vertex neighbor) const;
  // A neighbour to insert (new) or to delete (present), and its place in the row before the change.
  struct Change {
    Class of;
    Vertex neighbor;
    bool comes;
    std::size_t at;
  };
  // Makes changes, sorted by order(class) and neighbour, all or none. Threads may change different rows at
  // once.
  void change(Vertex vertex, std::span<const Change> changes);

  // Prefetches a row that is to be changed soon: first its position, then its contents.
  void prefetch(Vertex vertex) const {
    __builtin_prefetch(&rows_[vertex]);
    if (classed()) __builtin_prefetch(&present_[vertex]);
  }
  void prefetch_row(Vertex vertex) const {
    const Row& row = rows_[vertex];
    __builtin_prefetch(row.data + row.size / 2);
    if (classed()) __builtin_prefetch(row.starts());
    if (wide()) __builtin_prefetch(classes(row) + row.size / 2);
  }

  std::uint32_t degree(Vertex vertex) const { return rows_[vertex].size; }
  sets::Span all(Vertex vertex) const { return {rows_[vertex].begin(), rows_[vertex].end()}; }
  // False while there is only class 0.
  bool classed() const { return most_ > 0; }
  // A bit for each class in the row (class modulo 64); all bits while there is only one class.
  std::uint64_t present(Vertex vertex) const { return classed() ? present_[vertex] : ~std::uint64_t{0}; }
  static std::uint64_t bit(Class of) { return std::uint64_t{1} << (of % kRuns); }
  // The neighbours of one class.
  sets::Span of_class(Vertex vertex, Class of) const;
  // Calls visit(class, its neighbours) for each class in the row, in the order of the row.
  template <class Visit>
  void for_each_class(Vertex vertex, Visit&& visit) const;

  // From now on, changes of rows are noted in `reader` until it is removed. No row is being changed.
  void add_reader(RowReader& reader) { readers_.push_back(&reader); }
  void remove_reader(RowReader& reader);
  // Uses the blocks again that devices have read, if none reads now; threads may be changing rows.
  void reuse_retired();
  // The memory that rows are in.
  Arenas arenas() const;

  // Bytes held, free blocks included, without lent memory.
  std::size_t bytes() const;

 private:
  using ShortStart = std::uint16_t;  // in rows that have_short_starts()

  struct Row {
    Vertex* data = nullptr;
    std::uint32_t size = 0, capacity = 0;
    const Vertex* begin() const { return data; }
    const Vertex* end() const { return data + size; }
    std::uint32_t* starts() const { return data + capacity; }
    ShortStart* short_starts() const { return reinterpret_cast<ShortStart*>(starts()); }
    bool has_short_starts() const { return short_starts_suffice(capacity); }
    std::size_t start(std::uint32_t run) const {
      return has_short_starts() ? short_starts()[run] : starts()[run];
    }
  };
  struct Run {
    std::size_t first, last;
  };

  bool wide() const { return most_ >= kRuns; }
  bool is_lent(const Row& row) const { return row.data >= lent_first_ && row.data < lent_last_; }
  static Class room_for(Class most) { return most == 0 ? 0 : most < kRuns ? kRuns - 1 : UINT32_MAX; }
  static bool short_starts_suffice(std::uint32_t capacity) { return capacity <= UINT16_MAX; }
  static std::uint32_t capacity_for(std::uint32_t size);
  static std::uint32_t roomy_capacity(std::size_t size);
  // Of the starts of a row, and of a block.
  static std::size_t start_words(std::uint32_t capacity) {
    const std::uint32_t runs = std::min(capacity, kRuns);
    return short_starts_suffice(capacity) ? (runs + 1) / 2 : runs;
  }
  std::size_t words(std::uint32_t capacity) const { return words(capacity, most_); }
  static std::size_t words(std::uint32_t capacity, Class most) {
    if (most == 0) return capacity;
    return std::size_t{capacity} * (most >= kRuns ? 2 : 1) + start_words(capacity);
  }
  Class* classes(const Row& row) const { return row.starts() + start_words(row.capacity); }
  // The place of a class among the classes of its run, if rows are wide.
  Run within(const Row& row, Run run, Class of) const;
  Run run_of(Vertex vertex, Class of) const;
  // The part of the row that may have neighbours of a class.
  Run part_of(Vertex vertex, Class of) const;
  template <class Work>
  static void with_starts(const Row& row, Work&& work);
  // Call it before a row is changed.
  void before_change(Vertex vertex) {
    if (!readers_.empty()) keep_for_readers(vertex);
  }
  void keep_for_readers(Vertex vertex);
  // Moves a row to another block; the old one is used again at once, or when no device reads any more.
  void resize(Vertex vertex, std::uint32_t capacity, bool retires = false);
  void shrink(Vertex vertex);
  void grow_run(Vertex vertex, Class of, std::int64_t more);
  void grow_runs(Vertex vertex, std::span<const Change> changes, bool comes);
  // Writes the starts of a new row; returns which runs it has.
  static std::uint64_t write_runs(const Row& row, std::span<const Class> classes);
  // Writes all but the neighbours of a new row; returns the same.
  std::uint64_t write_classes(const Row& row, std::span<const Class> classes) const;
  // Copies the contents of a block.
  void copy_block(const Row& from, const Row& to, Vertex vertex) const;
  void end_lending();
  void widen(Class of);
  // Fills an empty row.
  void fill(Vertex vertex, std::span<const Vertex> neighbors, std::span<const Class> classes);

  std::vector<Row> rows_;
  std::vector<std::uint64_t> present_;  // by vertex, once there are several classes
  std::mutex taking_;                   // blocks
  RowBlocks blocks_;
  std::shared_ptr<const Arena> lent_;  // while rows may be in it
  const std::uint32_t *lent_first_ = nullptr, *lent_last_ = nullptr;
  struct Retired {
    std::uint32_t* block;
    std::uint32_t capacity;
  };
  std::vector<Retired> retired_;  // blocks of rows that were changed while a device read them
  std::vector<RowReader*> readers_;
  Class most_ = 0;  // that rows have room for: 0, kRuns - 1 or all
};

// The number of bits: without the instruction, which the oldest processors lack, a call otherwise.
inline std::uint32_t ones(std::uint64_t word) {
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  return static_cast<std::uint32_t>(word * 0x0101010101010101u >> 56);
}

// Of neighbours whose classes are equal modulo 64; if there are none, empty at the place where they belong.
inline Rows::Run Rows::run_of(Vertex vertex, Class of) const {
  const Row& row = rows_[vertex];
  const std::uint64_t present = present_[vertex], own = bit(of);
  const auto number = ones(present & (own - 1));
  const bool more = (present & (0 - 2 * own)) != 0, there = (present & own) != 0;
  const std::size_t first = there || more ? row.start(number) : row.size;
  return {first, !there ? first : more ? row.start(number + 1) : row.size};
}

inline sets::Span Rows::of_class(Vertex vertex, Class of) const {
  if (of > most_) return {};
  if (!classed()) return all(vertex);
  if ((present_[vertex] & bit(of)) == 0) return {};
  const Row& row = rows_[vertex];
  Run run = run_of(vertex, of);
  if (wide()) run = within(row, run, of);
  return {row.data + run.first, row.data + run.last};
}

template <class Visit>
void Rows::for_each_class(Vertex vertex, Visit&& visit) const {
  const Row& row = rows_[vertex];
  if (!classed()) {
    if (row.size > 0) visit(Class{0}, all(vertex));
    return;
  }
  std::uint32_t number = 0;
  for (std::uint64_t left = present_[vertex]; left != 0; left &= left - 1) {
    std::size_t at = row.start(number++);
    const std::size_t last = (left & (left - 1)) != 0 ? row.start(number) : row.size;
    while (at < last) {
      std::size_t end = last;
      auto of = static_cast<Class>(std::countr_zero(left));
      if (wide()) {
        of = classes(row)[at];
        for (end = at; end < last && classes(row)[end] == of;) ++end;
      }
      visit(of, sets::Span{row.data + at, row.data + end});
      at = end;
    }
  }
}

}  // namespace motiflux::dynamic
