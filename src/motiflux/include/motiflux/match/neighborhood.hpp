// The greater neighbours of one vertex, and which of them are neighbours of each other, as bits.
//
//   | keys: capacity vertices | ranks: capacity places in the row | bits: one row of words for each member |
//
// The first two are a table with open addressing: it finds a vertex's place in the row. Bit r of row i says
// that member r, which is greater than member i, is in the row of member i.
//
// One warp builds it and reads it; where it lies, in shared memory or not, is for its user to say.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/lanes/group.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::match {

using Warp = lanes::Group<32>;

class Neighborhood {
 public:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  MOTIFLUX_DEVICE Neighborhood(unsigned char* memory, std::uint32_t size)
      : size_(size), words_((size + 31) / 32), stride_(words_ | 1) {
    while ((1u << log_) < size + size / 2) ++log_;
    keys_ = reinterpret_cast<std::uint32_t*>(memory);
    ranks_ = reinterpret_cast<std::uint16_t*>(keys_ + capacity());
    bits_ = reinterpret_cast<std::uint32_t*>(ranks_ + capacity());
  }

  MOTIFLUX_DEVICE std::uint32_t size() const { return size_; }
  MOTIFLUX_DEVICE std::uint32_t words() const { return words_; }

  // Members that may follow member i, as bits. An odd number of words apart: lanes that read a word each of
  // neighbouring rows meet in no bank of shared memory.
  MOTIFLUX_DEVICE std::uint32_t* row(std::uint32_t i) const { return bits_ + i * stride_; }

  // What lies behind the rows, or behind the table where there are none.
  MOTIFLUX_DEVICE std::uint32_t* behind(bool rows) const { return rows ? row(size_) : bits_; }

  // Enters the members. The lanes' last barrier was after the last look at what lay here before.
  MOTIFLUX_DEVICE void open(const Warp& warp, const std::uint32_t* members, bool rows) {
    for (std::uint32_t slot = warp.lane(); slot < capacity(); slot += 32) keys_[slot] = kNowhere;
    if (rows)
      for (std::uint32_t word = warp.lane(); word < size_ * stride_; word += 32) bits_[word] = 0;
    warp.sync();
    for (std::uint32_t rank = warp.lane(); rank < size_; rank += 32) enter(members[rank], rank);
    warp.sync();
  }

  // A vertex's place among the members, or kNowhere.
  MOTIFLUX_DEVICE std::uint32_t find(std::uint32_t vertex) const {
    for (std::uint32_t slot = first_slot(vertex);; slot = (slot + 1) & (capacity() - 1)) {
      const std::uint32_t key = keys_[slot];
      if (key == vertex) return ranks_[slot];
      if (key == kNowhere) return kNowhere;
    }
  }

  MOTIFLUX_DEVICE void link(std::uint32_t i, std::uint32_t rank) const {
    auto word = device::block_wide(row(i)[rank / 32]);
    word.fetch_or(std::uint32_t{1} << rank % 32, device::Order::kRelaxed);
  }

 private:
  MOTIFLUX_DEVICE std::uint32_t capacity() const { return 1u << log_; }

  MOTIFLUX_DEVICE std::uint32_t first_slot(std::uint32_t vertex) const {
    return (vertex * 2654435769u) >> (32 - log_);  // Fibonacci hashing: neighbouring ids go far apart
  }

  MOTIFLUX_DEVICE void enter(std::uint32_t vertex, std::uint32_t rank) const {
    for (std::uint32_t slot = first_slot(vertex);; slot = (slot + 1) & (capacity() - 1)) {
      std::uint32_t found = kNowhere;
      do {
        if (device::block_wide(keys_[slot]).compare_exchange(found, vertex, device::Order::kRelaxed)) {
          ranks_[slot] = static_cast<std::uint16_t>(rank);
          return;
        }
      } while (found == kNowhere);  // it failed for no reason
    }
  }

  std::uint32_t size_, words_, stride_;
  std::uint32_t log_ = 5;  // of the capacity
  std::uint32_t* keys_;
  std::uint16_t* ranks_;
  std::uint32_t* bits_;
};

}  // namespace motiflux::match
