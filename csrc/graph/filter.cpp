#include "graph/filter.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "graph/grain.hpp"

namespace motiflux::graph {
namespace {

constexpr std::size_t kCheckedRows = 1 << 10;
constexpr std::uint32_t kEnd = 0xFFFFFFFF;  // no vertex has this id

// A set of allowed items 0, 1, ...: by the codes of their labels and by a mask of items.
class Choice {
 public:
  Choice(std::span<const std::uint8_t> by_label, std::span<const std::uint32_t> labels,
         std::span<const std::uint8_t> by_index) {
    if (!by_label.empty() && labels.empty()) {  // one label for all
      none_ = by_label[0] == 0;
      by_label = {};
    }
    if (!by_label.empty() && !by_index.empty()) {
      both_.resize(by_index.size());
      for (std::size_t i = 0; i < both_.size(); ++i) both_[i] = by_index[i] & by_label[labels[i]];
      mask_ = both_.data();
    } else if (!by_label.empty()) {
      mask_ = by_label.data();
      codes_ = labels.data();
    } else if (!by_index.empty()) {
      mask_ = by_index.data();
    }
  }
  Choice(Choice&&) = default;  // mask_ stays valid: a moved vector keeps its memory

  bool none() const { return none_; }

  // Precondition: the choice is not empty.
  bool operator()(std::uint64_t index) const {
    return mask_ == nullptr || mask_[codes_ == nullptr ? index : codes_[index]] != 0;
  }

 private:
  const std::uint8_t* mask_ = nullptr;  // null: all
  const std::uint32_t* codes_ = nullptr;
  bool none_ = false;
  std::vector<std::uint8_t> both_;
};

// One direction: its rows, and the allowed arcs and neighbours.
struct DirectionRows {
  const ArcRows& rows;
  Choice arcs;
  const Choice& targets;
};

// Walks one row, skipping arcs that do not pass and repeats of a neighbour.
class RowCursor {
 public:
  RowCursor(const DirectionRows& direction, std::uint64_t row)
      : arcs_(direction.arcs),
        targets_(direction.targets),
        neighbors_(direction.rows.neighbors.data()),
        at_(direction.rows.offsets[row]),
        end_(direction.rows.offsets[row + 1]) {
    skip();
  }

  std::uint32_t current() const { return at_ < end_ ? neighbors_[at_] : kEnd; }

  void next() {
    const std::uint32_t passed = neighbors_[at_];
    while (at_ < end_ && neighbors_[at_] == passed) ++at_;
    skip();
  }

 private:
  void skip() {
    while (at_ < end_ && !(arcs_(at_) && targets_(neighbors_[at_]))) ++at_;
  }

  const Choice& arcs_;
  const Choice& targets_;
  const std::uint32_t* neighbors_;
  std::uint64_t at_;
  std::uint64_t end_;
};

template <class Visit>
void visit_row(const std::vector<DirectionRows>& directions, const Choice& sources, std::uint64_t row,
               Visit&& visit) {
  if (!sources(row)) return;
  if (directions.size() == 1) {
    for (RowCursor cursor(directions[0], row); cursor.current() != kEnd; cursor.next())
      visit(cursor.current());
    return;
  }
  RowCursor left(directions[0], row), right(directions[1], row);
  while (left.current() != kEnd || right.current() != kEnd) {
    const std::uint32_t smaller = std::min(left.current(), right.current());
    visit(smaller);
    if (left.current() == smaller) left.next();
    if (right.current() == smaller) right.next();
  }
}

}  // namespace

NeighborRows filter(std::span<const ArcRows> given, const ArcFilter& allowed, const Workers& workers) {
  if (given.empty() || given.size() > 2) throw std::invalid_argument("one or two directions expected");
  const std::span<const std::uint64_t> offsets = given[0].offsets;
  const std::size_t vertices = offsets.size() - 1;
  const Choice sources(allowed.source_labels, allowed.vertex_labels, allowed.sources);
  const Choice targets(allowed.target_labels, allowed.vertex_labels, allowed.targets);
  std::vector<DirectionRows> directions;
  for (const ArcRows& rows : given) {
    Choice arcs(allowed.edge_labels, rows.labels, rows.mask);
    if (!arcs.none()) directions.push_back({rows, std::move(arcs), targets});
  }
  NeighborRows result;
  result.offsets.assign(vertices + 1, 0);
  if (directions.empty() || sources.none() || targets.none()) return result;
  if (workers.threads == 1) {  // one pass instead of two
    for (std::size_t v = 0; v < vertices; ++v) {
      if (v % kCheckedRows == 0) workers.check();
      visit_row(directions, sources, v,
                [&](std::uint32_t neighbor) { result.neighbors.push_back(neighbor); });
      result.offsets[v + 1] = result.neighbors.size();
    }
    return result;
  }
  parallel_rows(workers, offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v)
      visit_row(directions, sources, v, [&](std::uint32_t) { ++result.offsets[v + 1]; });
  });
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  result.neighbors.resize(result.offsets.back());
  parallel_rows(workers, offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      std::uint64_t out = result.offsets[v];
      visit_row(directions, sources, v, [&](std::uint32_t neighbor) { result.neighbors[out++] = neighbor; });
    }
  });
  return result;
}

}  // namespace motiflux::graph
