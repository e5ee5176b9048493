// Rows of neighbours that grow and shrink.
//
//   row of v:   [ neighbour | neighbour | ... | free ]   sorted by class, then by id
//               [ class     | class     | ... | free ]   left out while there is one class only
//
// A class stands for the label of an edge and of the vertex at its other end (dynamic/classes.hpp), so that
// what a query edge asks for is one sorted run, found by bisection. Rows lie in blocks of a few sizes; a row
// that is full moves to the next size, and the block it leaves serves another.
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
  void reserve(std::uint32_t vertices) { rows_.reserve(vertices); }
  void add_vertices(std::uint32_t count);
  void keep_vertices(std::uint32_t count);

  // Fills an empty row; neighbours are sorted by class, then by id.
  void fill(Vertex vertex, std::span<const Vertex> neighbors, std::span<const Class> classes);

  // Makes room for a class, before places in it are looked for.
  void admit(Class of) {
    if (!classed_ && of != 0) become_classed();
  }
  // Where in the row the neighbour is, or belongs; and whether it is there.
  std::size_t place(Vertex vertex, Class of, Vertex neighbor) const {
    return place(rows_[vertex], of, neighbor);
  }
  // The same where it is known not to lie before `from`.
  std::size_t place(Vertex vertex, std::size_t from, Class of, Vertex neighbor) const {
    return place(rows_[vertex], of, neighbor, from);
  }
  bool is_at(Vertex vertex, std::size_t at, Class of, Vertex neighbor) const {
    return is_at(rows_[vertex], at, of, neighbor);
  }

  // Puts a neighbour that is not there where it belongs; its class was admitted.
  void insert(Vertex vertex, std::size_t at, Class of, Vertex neighbor);
  // False if the row did not have it.
  bool erase(Vertex vertex, Class of, Vertex neighbor);
  bool contains(Vertex vertex, Class of, Vertex neighbor) const;
  // A neighbour that comes, which is not there, or goes, which is; and its place in the row as it is before.
  struct Change {
    Class of;
    Vertex neighbor;
    bool comes;
    std::size_t at;
  };
  // Makes changes that ascend by class and neighbour, all or none. Threads may do so at once to rows of their
  // own.
  void change(Vertex vertex, std::span<const Change> changes);

  // Brings a row nearer that is to be changed soon: first where it lies, then what it holds.
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
  // A bit for each class that the row has, classes 64 apart sharing one; all bits while there is one class.
  std::uint64_t present(Vertex vertex) const { return classed_ ? present_[vertex] : ~std::uint64_t{0}; }
  static std::uint64_t bit(Class of) { return std::uint64_t{1} << (of % 64); }
  // Those of one class.
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

  // Blocks of words, by size; the largest come from the system one by one.
  class Blocks {
   public:
    std::uint32_t* take(std::size_t words);
    void give_back(std::uint32_t* block, std::size_t words);
    // Gives one back for good, where nothing is taken any more.
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
  // No branch depends on what the row holds.
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
