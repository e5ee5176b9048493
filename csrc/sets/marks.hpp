// A set as bits, so that other lists are intersected with it in one step per element.
#pragma once

#include <cstdint>
#include <vector>

#include "sets/intersect.hpp"

namespace motiflux::sets {

// One set at a time, identified by a stamp of the caller.
class Marks {
 public:
  bool holds(std::uint64_t stamp) const { return stamp == marked_; }

  // Whether to mark the set `stamp` of `size` elements, now that it is intersected with a list of `other`
  // elements. Marking and clearing read the set twice: it pays when the lists so far add up to a share of
  // that.
  bool worthwhile(std::uint64_t stamp, std::size_t size, std::size_t other) {
    if (stamp != met_) {
      met_ = stamp;
      met_elements_ = 0;
    }
    const bool enough = met_elements_ * kShare >= size && met_elements_ > 0;
    met_elements_ += other;
    return enough;
  }

  // Marks `set`, whose elements are below `vertices`, and clears the set before.
  void mark(std::uint64_t stamp, Span set, std::uint32_t vertices) {
    if (words_.size() <= vertices / 32) words_.resize(vertices / 32 + 1, 0);
    for (std::uint32_t vertex : elements_) words_[vertex / 32] = 0;
    elements_.assign(set.begin(), set.end());
    for (std::uint32_t vertex : elements_) words_[vertex / 32] |= std::uint32_t{1} << (vertex % 32);
    marked_ = stamp;
  }

  // Marks an element of the set, or not; the others stay as they are.
  void put(std::uint32_t vertex, bool marked) {
    const std::uint32_t bit = std::uint32_t{1} << (vertex % 32);
    std::uint32_t& word = words_[vertex / 32];
    word = marked ? word | bit : word & ~bit;
  }

  bool has(std::uint32_t vertex) const { return (words_[vertex / 32] >> (vertex % 32) & 1) != 0; }

  std::size_t count(Span list, const Policy& policy) const {
    return policy.routines->count_marked(words_.data(), list);
  }

  // Writes the marked elements of `list` to `out`, which has room for all of `list`.
  std::size_t intersect(Span list, std::uint32_t* out, const Policy& policy) const {
    return policy.routines->write_marked(words_.data(), list, out);
  }

 private:
  static constexpr std::size_t kShare = 8;

  std::vector<std::uint32_t> words_;
  std::vector<std::uint32_t> elements_;
  std::uint64_t marked_ = 0;
  std::uint64_t met_ = 0;
  std::size_t met_elements_ = 0;
};

}  // namespace motiflux::sets
