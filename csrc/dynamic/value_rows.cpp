#include "dynamic/value_rows.hpp"

#include <algorithm>
#include <utility>

namespace motiflux::dynamic {

void ValueRows::add(const Edge& edge, std::int64_t key, Copies::Row row) {
  add_at(0, edge.source, {key, edge.target, row});
  add_at(directed_ ? 1 : 0, edge.target, {key, edge.source, row});
}

void ValueRows::add_at(int side, Vertex vertex, const Entry& entry) {
  std::vector<OfVertex>& all = rows_[side];
  if (vertex >= all.size()) all.resize(std::max<std::size_t>(vertex + std::size_t{1}, 2 * all.size()));
  OfVertex& own = all[vertex];
  if (own.first < own.entries.size() && entry < own.entries.back()) unordered_.emplace_back(side, vertex);
  own.entries.push_back(entry);
}

void ValueRows::finish() {
  for (const auto& [side, vertex] : unordered_) {
    OfVertex& own = rows_[side][vertex];
    const auto first = own.entries.begin() + static_cast<std::ptrdiff_t>(own.first), last = own.entries.end();
    const auto middle = std::is_sorted_until(first, last);
    if (middle == last) continue;  // it was there twice
    std::sort(middle, last);
    std::inplace_merge(first, middle, last);
  }
  unordered_.clear();
}

void ValueRows::remove(const Copies& copies, std::span<const Copies::Row> rows) {
  std::vector<std::pair<Vertex, Copies::Row>> ends[2];
  for (const Copies::Row row : rows) {
    const Edge& edge = copies.edge(row);
    ends[0].emplace_back(edge.source, row);
    ends[directed_ ? 1 : 0].emplace_back(edge.target, row);
  }
  std::vector<Copies::Row> own;
  for (int side = 0; side < 2; ++side) {
    std::sort(ends[side].begin(), ends[side].end());
    for (std::size_t at = 0; at < ends[side].size();) {
      const Vertex vertex = ends[side][at].first;
      own.clear();
      for (; at < ends[side].size() && ends[side][at].first == vertex; ++at)
        own.push_back(ends[side][at].second);
      remove_at(rows_[side][vertex], own);
    }
  }
}

// `rows` ascend.
void ValueRows::remove_at(OfVertex& own, std::span<const Copies::Row> rows) {
  const auto is_gone = [&](const Entry& entry) {
    return std::binary_search(rows.begin(), rows.end(), entry.row);
  };
  std::size_t left = rows.size();
  while (left > 0 && own.first < own.entries.size() && is_gone(own.entries[own.first])) ++own.first, --left;
  if (left > 0) {
    const auto first = own.entries.begin() + static_cast<std::ptrdiff_t>(own.first);
    own.entries.erase(std::remove_if(first, own.entries.end(), is_gone), own.entries.end());
  }
  if (own.first == own.entries.size() || 2 * own.first > own.entries.size()) {
    own.entries.erase(own.entries.begin(), own.entries.begin() + static_cast<std::ptrdiff_t>(own.first));
    own.first = 0;
    if (own.entries.capacity() > 4 * own.entries.size() + 8) own.entries.shrink_to_fit();
  }
}

std::size_t ValueRows::bytes() const {
  std::size_t all = 0;
  for (const auto& side : rows_) {
    all += side.capacity() * sizeof(OfVertex);
    for (const OfVertex& own : side) all += own.entries.capacity() * sizeof(Entry);
  }
  return all;
}

}  // namespace motiflux::dynamic
