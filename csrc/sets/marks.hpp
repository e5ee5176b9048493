// A set held as bits, so that another list can be intersected with it at a step per element.
#pragma once

#include <cstdint>
#include <vector>

#include "sets/intersect.hpp"

namespace motiflux::sets {

// One set at a time, known by a stamp that the caller gives it. Marking costs as much as reading the set a
// few times, so a set is marked when it is asked for a second time.
class Marks {
 public:
  // Whether the set `stamp`, whose elements are `set` and below `vertices`, is marked now.
  bool hold(std::uint64_t stamp, Span set, std::uint32_t vertices) {
    if (stamp == marked_) return true;
    if (stamp != asked_) {
      asked_ = stamp;
      return false;
    }
    if (words_.empty()) words_.resize(vertices / 64 + 1, 0);
    for (std::uint32_t vertex : elements_) words_[vertex / 64] = 0;
    elements_.assign(set.begin(), set.end());
    for (std::uint32_t vertex : elements_) words_[vertex / 64] |= std::uint64_t{1} << (vertex % 64);
    marked_ = stamp;
    return true;
  }

  bool has(std::uint32_t vertex) const { return bit(vertex) != 0; }

  std::size_t count(Span list) const {
    std::size_t common = 0;
    for (std::uint32_t vertex : list) common += bit(vertex);
    return common;
  }

  // Writes the elements of `list` that are marked to `out`, which has room for all of `list`.
  std::size_t intersect(Span list, std::uint32_t* out) const {
    std::size_t common = 0;
    for (std::uint32_t vertex : list) {
      out[common] = vertex;
      common += bit(vertex);
    }
    return common;
  }

 private:
  std::uint64_t bit(std::uint32_t vertex) const { return words_[vertex / 64] >> (vertex % 64) & 1; }

  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> elements_;
  std::uint64_t marked_ = 0;
  std::uint64_t asked_ = 0;
};

}  // namespace motiflux::sets
