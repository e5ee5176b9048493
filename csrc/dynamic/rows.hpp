// Rows of neighbours that grow and shrink.
//
//   row of v:   [ neighbour | neighbour | ... | free ]   sorted by class, then by id
//               [ class     | class     | ... | free ]   omitted while there is only one class
//
// A class is a pair: the label of an edge and the label of the vertex at its other end
// (dynamic/relations.hpp). So the neighbours for a query edge are one sorted run, found by bisection. Rows
// are in blocks of a few sizes; a full row moves to the next size, and its old block is reused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sets/span.hpp"

namespace motiflux::dynamic {

using Vertex = std::uint32_t;
using Class = std::uint32_t;

class Rows {
 public:
  Rows() = default;
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  std::uint32_t vertices() const { return static_cast<std::uint32_t>(rows_.size()); }
  void add_vertices(std::uint32_t count);
  void keep_vertices(std::uint32_t count);

  // Makes rows for vertices [0, offsets.size() - 1), row v with offsets[v + 1] - offsets[v] neighbours, which
  // are to be written next. There were no vertices before. `classed`: whether there are several classes.
  void make(std::span<const std::uint64_t> offsets, bool classed);
  // A row to be written: neighbours sorted by class, then by id, and their classes (null if not classed).
  // Threads may write different rows at once.
  struct Columns {
    Vertex* neighbors;
    Class* classes;
  };
  Columns columns(Vertex vertex) {
    const Row& row = rows_[vertex];
    return {row.data, classed_ ? row.data + row.capacity : nullptr};
  }
  // The bits of the classes that were written to a row.
  void set_present(Vertex vertex, std::uint64_t bits) { present_[vertex] = bits; }

  // Prepares for a class; call it before place().
  void admit(Class of) {
    if (!classed_ && of != 0) become_classed();
  }
  // The place of the neighbour in the row, or the place to insert it; is_at() tells which.
  std::size_t place(Vertex vertex, Class of, Vertex neighbor) const {
    return place(rows_[vertex], of, neighbor);
  }
  // The same if the place is known not to be before `from`.
  std::size_t place(Vertex vertex, std::size_t from, Class of, Vertex neighbor) const {
    return place(rows_[vertex], of, neighbor, from);
  }
  bool is_at(Vertex vertex, std::size_t at, Class of, Vertex neighbor) const {
    return is_at(rows_[vertex], at, of, neighbor);
  }

  // Inserts a new neighbour at its place `at`; its class was admitted.
  void insert(Vertex vertex, std::size_t at, Class of, Vertex neighbor);
  // False if the row does not have it.
  bool erase(Vertex vertex, Class of, Vertex neighbor);
  bool contains(Vertex vertex, Class of, Vertex neighbor) const;
  // A neighbour to insert (new) or to delete (present), and its place in the row before the change.
  struct Change {
    Class of;
    Vertex neighbor;
    bool comes;
    std::size_t at;
  };
  // Makes changes, sorted by class and neighbour, all or none. Threads may change different rows at once.
  void change(Vertex vertex, std::span<const Change> changes);

  // Prefetches a row that is to be changed soon: first its position, then its contents.
  void prefetch(Vertex vertex) const { __builtin_prefetch(&rows_[vertex]); }
  void prefetch_row(Vertex vertex) const {
    const Row& row = rows_[vertex];
    __builtin_prefetch(row.data + row.size / 2);
    if (classed_) __builtin_prefetch(row.data + row.capacity + row.size / 2);
  }

  std::uint32_t degree(Vertex vertex) const { return rows_[vertex].size; }
  sets::Span all(Vertex vertex) const { return {rows_[vertex].begin(), rows_[vertex].end()}; }
  // The classes of all(vertex), ascending; null while all are class 0.
  const Class* classes(Vertex vertex) const {
    return classed_ ? rows_[vertex].begin() + rows_[vertex].capacity : nullptr;
  }
  // A bit for each class in the row (class modulo 64); all bits while there is only one class.
  std::uint64_t present(Vertex vertex) const { return classed_ ? present_[vertex] : ~std::uint64_t{0}; }
  static std::uint64_t bit(Class of) { return std::uint64_t{1} << (of % 64); }
  // The neighbours of one class.
  sets::Span of_class(Vertex vertex, Class of) const;

  // Bytes held, free blocks included.
  std::size_t bytes() const;

 private:
  struct Row {
    Vertex* data = nullptr;
    std::uint32_t size = 0, capacity = 0;
    const Vertex* begin() const { return data; }
    const Vertex* end() const { return data + size; }
  };

  // Blocks of words, by size; the largest are allocated one by one.
  class Blocks {
   public:
    std::uint32_t* take(std::size_t words);
    // Memory for many blocks, `words` together, none of them large.
    std::uint32_t* take_many(std::size_t words);
    static bool is_large(std::size_t words);
    void give_back(std::uint32_t* block, std::size_t words);
    // Frees a large block at the end, after which no block is taken.
    void drop_large(std::uint32_t* block, std::size_t words);
    std::size_t bytes() const { return bytes_; }

   private:
    struct Free {
      void operator()(std::uint32_t* block) const;
    };
    using Owned = std::unique_ptr<std::uint32_t, Free>;

    std::vector<Owned> chunks_;
    std::uint32_t* next_ = nullptr;
    std::size_t left_ = 0, bytes_ = 0;
    std::array<std::vector<std::uint32_t*>, 64> free_{};
  };

  static std::uint32_t capacity_for(std::uint32_t size);
  std::size_t words(std::uint32_t capacity) const { return std::size_t{capacity} * (classed_ ? 2 : 1); }
  // No branch depends on the contents of the row.
  std::size_t place(const Row& row, Class of, Vertex neighbor, std::size_t from = 0) const {
    if (!classed_)
      return static_cast<std::size_t>(sets::lower_bound({row.begin() + from, row.end()}, neighbor) -
                                      row.data);
    const Class* classes = row.data + row.capacity;
    const auto key = [](Class a, Vertex b) { return std::uint64_t{a} << 32 | b; };
    const std::uint64_t sought = key(of, neighbor);
    std::size_t first = from;
    for (std::size_t left = row.size - from; left > 0;) {
      const std::size_t half = (left + 1) / 2, middle = first + half - 1;
      const std::size_t below = key(classes[middle], row.data[middle]) < sought;
      first += half & (std::size_t{0} - below);
      left -= half;
    }
    return first;
  }
  bool is_at(const Row& row, std::size_t at, Class of, Vertex neighbor) const {
    if (!classed_ && of != 0) return false;
    return at < row.size && row.data[at] == neighbor && (!classed_ || row.data[row.capacity + at] == of);
  }
  void resize(Row& row, std::uint32_t capacity);
  void shrink(Row& row);
  void forget_absent(Vertex vertex, Class of);
  void become_classed();

  std::vector<Row> rows_;
  std::vector<std::uint64_t> present_;  // by vertex, once there are several classes
  std::mutex taking_;                   // blocks
  Blocks blocks_;
  bool classed_ = false;
};

}  // namespace motiflux::dynamic
