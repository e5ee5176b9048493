// A device that reads rows where they are, and was told of each row where it is and how long.
//
// There is a bit for each vertex:
//
//   0   what the device was told of the row is true; while it reads, the row stays as it is
//   1   the row has changed since then, or the device does not read it
//
// A row whose bit is 0 is copied before it is changed while the device reads; the device goes on with the old
// block, which is used again once no device reads any more (Rows::before_change).
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace motiflux::dynamic {

// Threads may ask and note at once; all else belongs to one thread, while no row is being changed.
class RowReader {
 public:
  explicit RowReader(std::uint32_t vertices) { cover(vertices); }

  void cover(std::uint32_t vertices) { bits_.resize((std::size_t{vertices} + kBits - 1) / kBits); }
  bool reads() const { return reads_.load(std::memory_order_acquire); }
  void set_reads(bool reads) { reads_.store(reads, std::memory_order_release); }
  // Whether the device may be reading the row.
  bool keeps(std::uint32_t vertex) const {
    if (!reads()) return false;
    auto& word = const_cast<std::uint64_t&>(bits_[vertex / kBits]);
    return (std::atomic_ref(word).load(std::memory_order_relaxed) & bit(vertex)) == 0;
  }
  void note(std::uint32_t vertex) {
    const std::atomic_ref word(bits_[vertex / kBits]);
    if ((word.load(std::memory_order_relaxed) & bit(vertex)) == 0)
      word.fetch_or(bit(vertex), std::memory_order_relaxed);
  }
  void note_all() { std::fill(bits_.begin(), bits_.end(), ~std::uint64_t{0}); }
  // The vertices below `vertices` whose bits are 1, ascending.
  std::vector<std::uint32_t> noted(std::uint32_t vertices) const {
    std::vector<std::uint32_t> found;
    for (std::size_t word = 0; word < bits_.size(); ++word)
      for (std::uint64_t left = bits_[word]; left != 0; left &= left - 1) {
        const std::size_t vertex = word * kBits + static_cast<std::size_t>(std::countr_zero(left));
        if (vertex < vertices) found.push_back(static_cast<std::uint32_t>(vertex));
      }
    return found;
  }
  void forget() { std::fill(bits_.begin(), bits_.end(), std::uint64_t{0}); }

 private:
  static constexpr std::size_t kBits = 64;
  static std::uint64_t bit(std::uint32_t vertex) { return std::uint64_t{1} << vertex % kBits; }

  std::vector<std::uint64_t> bits_;
  std::atomic<bool> reads_{false};
};

}  // namespace motiflux::dynamic
