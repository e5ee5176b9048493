// Updates of rows, sorted as rows are, so that each row is read and written once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dynamic/graph.hpp"

namespace motiflux::dynamic {

// Positions of updates in a run.
using Moment = std::uint32_t;

// An update of a row.
struct Entry {
  Vertex row, neighbor;
  std::uint32_t of;  // a class, and the flags below
  Moment number;

  static constexpr std::uint32_t kComes = std::uint32_t{1} << 31, kWatched = std::uint32_t{1} << 30;
  static constexpr std::uint32_t kClass = kWatched - 1;

  Class to() const { return of & kClass; }
  bool comes() const { return (of & kComes) != 0; }
  bool watched() const { return (of & kWatched) != 0; }
  bool has_edge_of(const Entry& other) const {
    return row == other.row && neighbor == other.neighbor && to() == other.to();
  }
};
using Entries = std::vector<Entry, UnclearedPages<Entry>>;

// Sorts by row, order of classes in rows, and neighbour; updates of one edge keep their order. `by_neighbor`
// is false if neighbours ascend already. `scratch` is overwritten.
void sort_entries(const Graph& graph, Entries& entries, Entries& scratch, bool by_neighbor);

// Finds the places of sorted entries in their rows, several at once, and prefetches the rows of those that
// follow. A row must not change before the last of its entries was asked for.
class Places {
 public:
  Places(const Rows& rows, std::span<const Entry> entries) : rows_(rows), entries_(entries) {
    for (const Entry& one : part(0)) rows.prefetch(one.row);
    for (const Entry& one : part(1)) rows.prefetch(one.row);
  }
  // The place of an entry; ask in ascending order.
  std::size_t of(std::size_t at) {
    while (at >= end_) find_more();
    return found_[at - (end_ - size_)];
  }

 private:
  // The entries to be looked up in this many steps.
  std::span<const Entry> part(std::size_t steps) const {
    const std::size_t first = std::min(end_ + steps * Rows::kLookups, entries_.size());
    return entries_.subspan(first, std::min(Rows::kLookups, entries_.size() - first));
  }
  void find_more() {
    for (const Entry& one : part(2)) rows_.prefetch(one.row);
    for (const Entry& one : part(1)) rows_.prefetch_row(one.row);
    std::array<Rows::Lookup, Rows::kLookups> lookups;
    size_ = 0;
    for (const Entry& one : part(0)) lookups[size_++] = {one.row, one.to(), one.neighbor};
    rows_.find_places({lookups.data(), size_}, found_.data());
    end_ += size_;
  }

  const Rows& rows_;
  std::span<const Entry> entries_;
  std::array<std::size_t, Rows::kLookups> found_;
  std::size_t end_ = 0, size_ = 0;
};

}  // namespace motiflux::dynamic
