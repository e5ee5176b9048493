// A set of ordered pairs of vertices: a matrix of bits if it is small, else a hash table with open
// addressing.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace motiflux::census {

class PairSet {
 public:
  // Of pairs below `vertices`, at most `most` at a time.
  PairSet(std::uint32_t vertices, std::size_t most) : vertices_(vertices) {
    if (std::uint64_t{vertices} * vertices <= kMostBits) {
      bits_.assign((std::size_t{vertices} * vertices + 63) / 64, 0);
    } else {
      slots_.assign(std::bit_ceil(2 * std::max<std::size_t>(most, 8)), kFree);
      shift_ = 64 - std::countr_zero(slots_.size());
    }
  }

  bool contains(std::uint32_t u, std::uint32_t v) const {
    if (slots_.empty()) return bits_[bit(u, v) / 64] >> (bit(u, v) % 64) & 1;
    return slots_[find(key(u, v))] != kFree;
  }

  void insert(std::uint32_t u, std::uint32_t v) {
    if (slots_.empty()) {
      bits_[bit(u, v) / 64] |= std::uint64_t{1} << (bit(u, v) % 64);
    } else {
      slots_[find(key(u, v))] = key(u, v);
    }
  }

  void erase(std::uint32_t u, std::uint32_t v) {
    if (slots_.empty()) {
      bits_[bit(u, v) / 64] &= ~(std::uint64_t{1} << (bit(u, v) % 64));
      return;
    }
    std::size_t hole = find(key(u, v));
    if (slots_[hole] == kFree) return;
    // Later keys of the same run move up, unless that were before their own place.
    for (std::size_t at = next(hole); slots_[at] != kFree; at = next(at)) {
      const std::size_t home = home_of(slots_[at]);
      if (((at - home) & (slots_.size() - 1)) < ((at - hole) & (slots_.size() - 1))) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = kFree;
  }

 private:
  static constexpr std::uint64_t kMostBits = std::uint64_t{1} << 24;
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};  // no pair: a vertex is less than 2^32 - 1

  static std::uint64_t key(std::uint32_t u, std::uint32_t v) { return std::uint64_t{u} << 32 | v; }
  std::size_t bit(std::uint32_t u, std::uint32_t v) const { return std::size_t{u} * vertices_ + v; }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  std::size_t home_of(std::uint64_t pair) const {
    return static_cast<std::size_t>(((pair ^ pair >> 29) * 0x9E3779B97F4A7C15ull) >> shift_);
  }
  std::size_t find(std::uint64_t pair) const {
    std::size_t at = home_of(pair);
    while (slots_[at] != kFree && slots_[at] != pair) at = next(at);
    return at;
  }

  const std::uint64_t vertices_;
  int shift_ = 0;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint64_t> slots_;
};

}  // namespace motiflux::census
