// The numbers of neighbours that one vertex has in common with all others.
//
// To count cycles, the neighbours that two vertices have in common are counted for one vertex that stays and
// many that change. Instead of intersecting rows, all paths of two edges from the vertex that stays can be
// counted by their ends at once; each number is then read from an array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sets/span.hpp"

namespace motiflux::sets {

// Those of one vertex at a time, by rows of one plan.
class CommonCounts {
 public:
  struct Key {
    std::uint64_t stamp = 0;
    const void* plan = nullptr;
    bool operator==(const Key&) const = default;
  };

  // Graphs with more vertices are not worth an array.
  static constexpr std::uint32_t kMostVertices = std::uint32_t{1} << 22;

  bool holds(const Key& key) const { return key == counted_; }
  std::uint32_t of(std::uint32_t vertex) const { return counts_[vertex]; }

  // Whether to count all paths, now that rows are intersected once more at a cost of `more` elements. This
  // pays when intersections so far took as long, so the longer way is at most half of the whole. `steps()`:
  // the number of these paths.
  template <class Steps>
  bool worthwhile(const Key& key, std::size_t row, std::size_t more, Steps&& steps) {
    if (key != met_) {
      met_ = key;
      spent_ = 0;
      cost_ = kUnknown;
    }
    spent_ += kOverhead + more;
    if (spent_ < kRow * row) return false;
    if (cost_ == kUnknown) cost_ = kRow * row + kStep * steps();
    return spent_ >= cost_;
  }

  // Forgets all counts; add() is to be called with the rows of all neighbours of the vertex, then finish().
  // An exception may come between.
  void start(std::uint32_t vertices) {
    if (counts_.size() < vertices) counts_.resize(vertices, 0);
    for (std::uint32_t vertex : counted_vertices_) counts_[vertex] = 0;
    counted_vertices_.clear();
    counted_ = {};
  }
  void add(Span row) {
    for (std::uint32_t vertex : row) {
      if (counts_[vertex] == 0) counted_vertices_.push_back(vertex);
      ++counts_[vertex];
    }
  }
  void finish(const Key& key) { counted_ = key; }

 private:
  // Costs in elements that an intersection reads: of beginning one, of finding a row, and of a path.
  static constexpr std::size_t kOverhead = 16, kRow = 8, kStep = 2;
  static constexpr std::size_t kUnknown = SIZE_MAX;

  std::vector<std::uint32_t> counts_;            // by vertex
  std::vector<std::uint32_t> counted_vertices_;  // whose counts are not 0
  Key counted_, met_;
  std::size_t spent_ = 0, cost_ = kUnknown;
};

}  // namespace motiflux::sets
