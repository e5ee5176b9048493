#include "graph/filter.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace motiflux::graph {
namespace {

constexpr std::size_t kRowArcs = 1 << 16;
constexpr std::size_t kCheckedRows = 1 << 10;
constexpr std::uint32_t kEnd = 0xFFFFFFFF;  // no vertex has this id

bool passes(std::span<const std::uint8_t> mask, std::span<const std::uint32_t> codes, std::uint64_t index) {
  return mask.empty() || mask[codes.empty() ? 0 : codes[index]] != 0;
}

// Walks one row, skipping arcs that do not pass and repeats of a neighbour.
class RowCursor {
 public:
  RowCursor(const ArcRows& rows, const ArcFilter& allowed, std::uint64_t row)
      : rows_(rows), allowed_(allowed), at_(rows.offsets[row]), end_(rows.offsets[row + 1]) {
    skip();
  }

  std::uint32_t current() const { return at_ < end_ ? rows_.neighbors[at_] : kEnd; }

  void next() {
    const std::uint32_t passed = rows_.neighbors[at_];
    while (at_ < end_ && rows_.neighbors[at_] == passed) ++at_;
    skip();
  }

 private:
  void skip() {
    while (at_ < end_ && !(passes(allowed_.edge_labels, rows_.labels, at_) &&
                           passes(allowed_.target_labels, allowed_.vertex_labels, rows_.neighbors[at_])))
      ++at_;
  }

  const ArcRows& rows_;
  const ArcFilter& allowed_;
  std::uint64_t at_;
  std::uint64_t end_;
};

template <class Visit>
void visit_row(std::span<const ArcRows> parts, const ArcFilter& allowed, std::uint64_t row, Visit&& visit) {
  if (!passes(allowed.source_labels, allowed.vertex_labels, row)) return;
  if (parts.size() == 1) {
    for (RowCursor cursor(parts[0], allowed, row); cursor.current() != kEnd; cursor.next())
      visit(cursor.current());
    return;
  }
  RowCursor left(parts[0], allowed, row), right(parts[1], allowed, row);
  while (left.current() != kEnd || right.current() != kEnd) {
    const std::uint32_t smaller = std::min(left.current(), right.current());
    visit(smaller);
    if (left.current() == smaller) left.next();
    if (right.current() == smaller) right.next();
  }
}

}  // namespace

NeighborRows filter(std::span<const ArcRows> parts, const ArcFilter& allowed, const Workers& workers) {
  if (parts.empty() || parts.size() > 2) throw std::invalid_argument("one or two directions expected");
  const std::size_t vertices = parts[0].offsets.size() - 1;
  NeighborRows result;
  result.offsets.assign(vertices + 1, 0);
  if (workers.threads == 1) {  // one pass instead of two
    for (std::size_t v = 0; v < vertices; ++v) {
      if (v % kCheckedRows == 0) workers.check();
      visit_row(parts, allowed, v, [&](std::uint32_t neighbor) { result.neighbors.push_back(neighbor); });
      result.offsets[v + 1] = result.neighbors.size();
    }
    return result;
  }
  parallel_rows(workers, parts[0].offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v)
      visit_row(parts, allowed, v, [&](std::uint32_t) { ++result.offsets[v + 1]; });
  });
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  result.neighbors.resize(result.offsets.back());
  parallel_rows(workers, parts[0].offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      std::uint64_t out = result.offsets[v];
      visit_row(parts, allowed, v, [&](std::uint32_t neighbor) { result.neighbors[out++] = neighbor; });
    }
  });
  return result;
}

}  // namespace motiflux::graph
