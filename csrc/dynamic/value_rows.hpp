// The copies at each vertex, ascending by one attribute, while copies come and go.
//
//   row of a vertex   | gone | key, other vertex, row of the copy | ... |     first: the copies before it are
//   gone
//
// Copies mostly come in the order of their values, and those that a window ends are the first ones: both ends
// of a row cost nothing. What comes out of order is merged, once for each call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynamic/copies.hpp"
#include "dynamic/graph.hpp"

namespace motiflux::dynamic {

class ValueRows {
 public:
  struct Entry {
    std::int64_t key;
    Vertex other;
    Copies::Row row;
    bool operator<(const Entry& than) const { return key != than.key ? key < than.key : row < than.row; }
  };
  using Row = std::span<const Entry>;

  explicit ValueRows(bool directed) : directed_(directed) {}

  // The copies by source, or by target; of an undirected graph, all are by source.
  Row row(Vertex vertex, bool by_target) const {
    const auto& side = rows_[by_target ? 1 : 0];
    if (vertex >= side.size()) return {};
    const OfVertex& own = side[vertex];
    return {own.entries.data() + own.first, own.entries.size() - own.first};
  }
  // Fetches into caches where the rows at both ends of an edge are, and, if these are there, their ends.
  void prefetch(const Edge& edge) const {
    prefetch_at(0, edge.target);
    prefetch_at(0, edge.source);
    if (directed_) prefetch_at(1, edge.source);
    if (directed_) prefetch_at(1, edge.target);
  }
  void prefetch_ends(const Edge& edge) const {
    for (const Vertex vertex : {edge.source, edge.target})
      for (int side = 0; side < (directed_ ? 2 : 1); ++side)
        if (vertex < rows_[side].size() && !rows_[side][vertex].entries.empty())
          __builtin_prefetch(&rows_[side][vertex].entries.back());
  }
  // Rows are in order once finish() is called.
  void add(const Edge& edge, std::int64_t key, Copies::Row row);
  void finish();
  // Takes out copies by their edges and rows.
  void remove(const Copies& copies, std::span<const Copies::Row> rows);
  std::size_t bytes() const;

 private:
  struct OfVertex {
    std::vector<Entry> entries;
    std::size_t first = 0;
  };

  void prefetch_at(int side, Vertex vertex) const {
    if (vertex < rows_[side].size()) __builtin_prefetch(&rows_[side][vertex]);
  }
  void add_at(int side, Vertex vertex, const Entry& entry);
  void remove_at(OfVertex& own, std::span<const Copies::Row> rows);

  bool directed_;
  std::vector<OfVertex> rows_[2];
  std::vector<std::pair<int, Vertex>> unordered_;  // rows that end in entries out of order
};

}  // namespace motiflux::dynamic
