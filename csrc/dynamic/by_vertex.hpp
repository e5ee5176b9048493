// Items of updates by blocks of consecutive vertices, written by several threads at once.
//
//   count   [slice 0: 3 0 2 ...]   items of each slice of the updates in each block
//           [slice 1: 1 4 0 ...]
//   put     [block 0: slice 0, slice 1, ...][block 1: ...]   into one array: items of a block keep their
//   order
//
// The blocks are then sorted one by one, in the cache. The rows of hubs are often near each other, so a block
// may have a twentieth of all items: it comes in several pieces, each with the items of some of its vertices.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/large_pages.hpp"
#include "dynamic/graph.hpp"

namespace motiflux::dynamic {

template <class Item>
class ByVertex {
 public:
  // Forgets all items; about `size` come next, in `slices` that threads may handle at once: count() for each
  // item, then place(), then put() for the same items in order.
  void start(std::size_t size, std::uint32_t vertices, int slices) {
    set_width(size, vertices);
    next_.resize(static_cast<std::size_t>(slices));
    for (std::vector<std::size_t>& counts : next_) counts.assign(blocks(), 0);
  }
  void count(int slice, Vertex vertex) { ++next_[static_cast<std::size_t>(slice)][block_of(vertex)]; }
  void place() {
    std::size_t before = 0;
    for (std::size_t block = 0; block < blocks(); ++block) {
      starts_[block] = before;
      for (std::vector<std::size_t>& of_slice : next_) before += std::exchange(of_slice[block], before);
    }
    starts_[blocks()] = before;
    items_ = Unwritten<Item>(before);
  }
  void put(int slice, Vertex vertex, const Item& item) {
    items_.data()[next_[static_cast<std::size_t>(slice)][block_of(vertex)]++] = item;
  }

  std::size_t blocks() const { return starts_.size() - 1; }
  std::size_t block_of(Vertex vertex) const { return std::uint64_t{vertex} >> shift_; }
  std::size_t size() const { return starts_.back(); }

  // Some of the vertices of a block.
  struct Piece {
    std::size_t block, number, of;
  };
  std::vector<Piece> pieces() const {
    std::vector<Piece> all;
    for (std::size_t block = 0; block < blocks(); ++block) {
      const std::size_t of = std::min(1 + size_of(block) / kMostItems, kMostPieces);
      for (std::size_t number = 0; number < of; ++number) all.push_back({block, number, of});
    }
    return all;
  }
  // Writes the items of a piece to `own`, in order; returns the number of items of earlier vertices. Threads
  // may call it at once.
  template <class Items>
  std::size_t take(const Piece& piece, Items& own) const {
    const std::span<const Item> items(items_.data() + starts_[piece.block], size_of(piece.block));
    if (piece.of == 1) {
      own.assign(items.begin(), items.end());
      return starts_[piece.block];
    }
    own.clear();
    const std::size_t first = piece.block << shift_;
    std::vector<std::size_t> before((std::size_t{1} << shift_) + 1);  // items, by vertex
    for (const Item& one : items) ++before[one.row - first + 1];
    for (std::size_t vertex = 1; vertex < before.size(); ++vertex) before[vertex] += before[vertex - 1];
    const std::size_t begin = items.size() * piece.number / piece.of;
    const std::size_t end = items.size() * (piece.number + 1) / piece.of;
    for (const Item& one : items)
      if (const std::size_t at = before[one.row - first]; at >= begin && at < end) own.push_back(one);
    return starts_[piece.block] + *std::ranges::lower_bound(before, begin);
  }

 private:
  // About the number of items of a block, and the most blocks.
  static constexpr std::size_t kItems = 1024;
  static constexpr int kMostBits = 11;
  // More items of a block are divided.
  static constexpr std::size_t kMostItems = std::size_t{1} << 14;
  // A block is read for each of its pieces: a batch may have millions of items of one vertex.
  static constexpr std::size_t kMostPieces = 32;

  std::size_t size_of(std::size_t block) const { return starts_[block + 1] - starts_[block]; }

  void set_width(std::size_t size, std::uint32_t vertices) {
    const int bits = std::min(static_cast<int>(std::bit_width(size / kItems)), kMostBits);
    shift_ = std::max(0, static_cast<int>(std::bit_width(vertices)) - bits);
    starts_.assign((std::uint64_t{vertices} >> shift_) + 2, 0);
  }

  int shift_ = 0;
  std::vector<std::size_t> starts_{0};
  std::vector<std::vector<std::size_t>> next_;  // by slice and block: numbers of items, then places
  Unwritten<Item> items_{0};
};

}  // namespace motiflux::dynamic
