#include "copies/build.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace motiflux::copies {
namespace {

using Entry = std::pair<std::int64_t, std::uint64_t>;  // a value in order, and where it comes from

// Integers in the order of doubles that are not NaN; -0 is 0.
std::int64_t in_order(std::int64_t bits) {
  const auto plain = std::bit_cast<std::int64_t>(std::bit_cast<double>(bits) + 0.0);
  return plain < 0 ? plain ^ INT64_MAX : plain;
}

void sort_entries(std::vector<Entry>& entries) {
  if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
}

}  // namespace

CopyRows build_copies(const CopySource& source) {
  CopyRows made;
  const std::size_t vertices = source.offsets.size() - 1;
  made.offsets.reserve(vertices + 1);
  made.offsets.push_back(0);
  made.columns.resize(source.columns.size());
  for (auto& column : made.columns) column.reserve(source.copies);
  made.rows.reserve(source.copies);
  const bool by_value = source.by_value && !source.columns.empty();
  if (by_value) {
    made.row_columns.resize(source.columns.size());
    for (auto& column : made.row_columns) column.reserve(source.copies);
    made.row_others.reserve(source.copies);
    made.row_pairs.reserve(source.copies);
  }
  const auto value_of = [&](std::uint64_t row) {
    const std::int64_t value = source.columns.empty() ? 0 : source.columns[0][row];
    return source.floats ? in_order(value) : value;
  };
  std::vector<Entry> pair, all;
  std::vector<std::uint32_t> pairs;  // of the copies of a vertex, among its pairs
  for (std::size_t vertex = 0; vertex < vertices; ++vertex) {
    const std::uint64_t first_copy = made.rows.size();
    const std::uint64_t first_pair = made.neighbors.size();
    pairs.clear();
    for (std::uint64_t arc = source.offsets[vertex]; arc < source.offsets[vertex + 1];) {
      const std::uint32_t neighbor = source.neighbors[arc];
      pair.clear();
      for (; arc < source.offsets[vertex + 1] && source.neighbors[arc] == neighbor; ++arc) {
        if (!source.arc_mask.empty() && !source.arc_mask[arc]) continue;
        const std::uint64_t edge = source.edges.empty() ? arc : source.edges[arc];
        const std::uint64_t first =
            source.starts.empty() ? edge : static_cast<std::uint64_t>(source.starts[edge]);
        std::uint64_t last = first + 1;
        if (!source.starts.empty())
          last = edge + 1 < source.starts.size() ? static_cast<std::uint64_t>(source.starts[edge + 1])
                                                 : source.copies;
        for (std::uint64_t row = first; row < last; ++row)
          if (source.row_mask.empty() || source.row_mask[row]) pair.emplace_back(value_of(row), row);
      }
      if (pair.empty()) continue;
      if (pair.size() > 1) sort_entries(pair);
      const auto number = static_cast<std::uint32_t>(made.neighbors.size() - first_pair);
      made.neighbors.push_back(neighbor);
      made.starts.push_back(made.rows.size());
      for (const auto& [value, row] : pair) {
        made.rows.push_back(static_cast<std::int64_t>(row));
        for (std::size_t at = 0; at < source.columns.size(); ++at)
          made.columns[at].push_back(source.columns[at][row]);
        if (by_value) pairs.push_back(number);
      }
    }
    made.offsets.push_back(made.neighbors.size());
    if (!by_value) continue;
    all.clear();
    for (std::uint64_t place = first_copy; place < made.rows.size(); ++place) {
      const std::int64_t value = made.columns[0][place];
      all.emplace_back(source.floats ? in_order(value) : value, place);
    }
    sort_entries(all);
    for (const auto& [value, place] : all) {
      for (std::size_t at = 0; at < source.columns.size(); ++at)
        made.row_columns[at].push_back(made.columns[at][place]);
      const std::uint32_t number = pairs[place - first_copy];
      made.row_others.push_back(made.neighbors[first_pair + number]);
      made.row_pairs.push_back(number);
    }
  }
  made.starts.push_back(made.rows.size());
  return made;
}

std::vector<std::uint32_t> arcs_by_target(std::span<const std::uint64_t> offsets,
                                          std::span<const std::uint32_t> neighbors) {
  std::vector<std::uint64_t> next(offsets.begin(), offsets.end());
  std::vector<std::uint32_t> arcs(neighbors.size());
  for (std::size_t arc = 0; arc < neighbors.size(); ++arc)
    arcs[next[neighbors[arc]]++] = static_cast<std::uint32_t>(arc);
  return arcs;
}

}  // namespace motiflux::copies
