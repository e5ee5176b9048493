// Items of updates by blocks of consecutive vertices, written by several threads at once.
//
//   count   [slice 0: 3 0 2 ...]   items of each slice of the updates in each block
//           [slice 1: 1 4 0 ...]
//   write   [block 0: slice 0, slice 1, ...][block 1: ...]   into one array: items of a block keep their
//   order
//
// The blocks are then sorted one by one, in the cache; rows of one block are written by one thread.
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
#include "dynamic/threads.hpp"

namespace motiflux::dynamic {

template <class Item>
class ByVertex {
 public:
  // Distributes about `size` items. give(slice, put) calls put(vertex, item) for each item of a slice, in
  // order, and the same again if it is called again. `slices` are handled by up to `threads` threads at once.
  template <class Give>
  void distribute(std::size_t size, std::uint32_t vertices, int slices, int threads, Watch& watch,
                  Give&& give) {
    set_width(size, vertices);
    const std::size_t blocks = this->blocks();
    std::vector<std::vector<std::size_t>> next(static_cast<std::size_t>(slices));
    for_each_partition(slices, threads, watch, [&](int slice, Watch& guarded) {
      std::vector<std::size_t> counts(blocks);
      give(slice, [&](Vertex vertex, const Item&) { ++counts[block_of(vertex)]; });
      next[static_cast<std::size_t>(slice)] = std::move(counts);
      if (!guarded.keep_going()) throw Stopped();
    });
    std::size_t before = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
      starts_[block] = before;
      for (std::vector<std::size_t>& of_slice : next) {
        const std::size_t count = of_slice[block];
        of_slice[block] = before;
        before += count;
      }
    }
    starts_[blocks] = before;
    items_ = Unwritten<Item>(before);
    for_each_partition(slices, threads, watch, [&](int slice, Watch& guarded) {
      std::vector<std::size_t>& at = next[static_cast<std::size_t>(slice)];
      give(slice, [&](Vertex vertex, const Item& item) { items_.data()[at[block_of(vertex)]++] = item; });
      if (!guarded.keep_going()) throw Stopped();
    });
  }

  std::size_t blocks() const { return starts_.size() - 1; }
  std::size_t block_of(Vertex vertex) const { return std::uint64_t{vertex} >> shift_; }
  std::span<Item> of_block(std::size_t block) {
    return {items_.data() + starts_[block], starts_[block + 1] - starts_[block]};
  }
  // All items; the array is taken out.
  Unwritten<Item> take() { return std::exchange(items_, Unwritten<Item>(0)); }

 private:
  // About the number of items of a block, and the most blocks.
  static constexpr std::size_t kItems = 1024;
  static constexpr int kMostBits = 11;

  void set_width(std::size_t size, std::uint32_t vertices) {
    const int bits = std::min(static_cast<int>(std::bit_width(size / kItems)), kMostBits);
    shift_ = std::max(0, static_cast<int>(std::bit_width(vertices)) - bits);
    starts_.assign((std::uint64_t{vertices} >> shift_) + 2, 0);
  }

  int shift_ = 0;
  std::vector<std::size_t> starts_{0};
  Unwritten<Item> items_{0};
};

}  // namespace motiflux::dynamic
