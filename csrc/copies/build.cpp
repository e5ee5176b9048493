#include "copies/build.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
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

// Fetches what the copies of an arc are read from: arcs to one vertex are far from each other.
class Fetcher {
 public:
  explicit Fetcher(const CopySource& source) : source_(source) {}

  // Called before the copies of `arc` are read.
  void before(std::uint64_t arc) const {
    if (source_.edges.empty()) return;  // rows of sources: what is read follows each other
    if (const std::uint64_t far = arc + 2 * kAhead; far < source_.edges.size() && !source_.starts.empty())
      __builtin_prefetch(source_.starts.data() + source_.edges[far]);
    if (const std::uint64_t near = arc + kAhead; near < source_.edges.size()) {
      const std::uint64_t edge = source_.edges[near];
      const std::uint64_t row =
          source_.starts.empty() ? edge : static_cast<std::uint64_t>(source_.starts[edge]);
      for (const auto& column : source_.columns) __builtin_prefetch(column.data() + row);
    }
  }

 private:
  static constexpr std::uint64_t kAhead = 16;  // arcs

  const CopySource& source_;
};

}  // namespace

CopyRows build_copies(const CopySource& source) {
  CopyRows made;
  const std::size_t vertices = source.offsets.size() - 1;
  made.offsets.reserve(vertices + 1);
  made.offsets.push_back(0);
  made.columns.resize(source.columns.size());
  for (auto& column : made.columns) column.reserve(source.copies);
  made.rows.reserve(source.copies);
  const auto value_of = [&](std::uint64_t row) {
    const std::int64_t value = source.columns.empty() ? 0 : source.columns[0][row];
    return source.floats ? in_order(value) : value;
  };
  const Fetcher fetcher(source);
  std::vector<Entry> pair;
  for (std::size_t vertex = 0; vertex < vertices; ++vertex) {
    for (std::uint64_t arc = source.offsets[vertex]; arc < source.offsets[vertex + 1];) {
      const std::uint32_t neighbor = source.neighbors[arc];
      pair.clear();
      for (; arc < source.offsets[vertex + 1] && source.neighbors[arc] == neighbor; ++arc) {
        fetcher.before(arc);
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
      made.neighbors.push_back(neighbor);
      made.starts.push_back(made.rows.size());
      for (const auto& [value, row] : pair) {
        made.rows.push_back(static_cast<std::int64_t>(row));
        for (std::size_t at = 0; at < source.columns.size(); ++at)
          made.columns[at].push_back(source.columns[at][row]);
      }
    }
    made.offsets.push_back(made.neighbors.size());
  }
  made.starts.push_back(made.rows.size());
  if (source.by_value && !source.columns.empty()) {
    PairSource pairs{made.offsets, made.neighbors, made.starts, {}, source.floats};
    for (const auto& column : made.columns) pairs.columns.emplace_back(column);
    made.by_value = sort_by_value(pairs);
  }
  return made;
}

ValueRows sort_by_value(const PairSource& source) {
  const std::size_t copies = source.starts.back();
  ValueRows made;
  made.columns.resize(source.columns.size());
  for (auto& column : made.columns) column.reserve(copies);
  made.others.reserve(copies);
  made.pairs.reserve(copies);
  std::vector<Entry> all;
  std::vector<std::uint32_t> pair_of;  // of the copies of a vertex, among its pairs
  for (std::size_t vertex = 0; vertex + 1 < source.offsets.size(); ++vertex) {
    const std::uint64_t first_pair = source.offsets[vertex], last_pair = source.offsets[vertex + 1];
    const std::uint64_t first_copy = source.starts[first_pair];
    all.clear();
    pair_of.clear();
    for (std::uint64_t pair = first_pair; pair < last_pair; ++pair)
      for (std::uint64_t place = source.starts[pair]; place < source.starts[pair + 1]; ++place) {
        const std::int64_t value = source.columns[0][place];
        all.emplace_back(source.floats ? in_order(value) : value, place);
        pair_of.push_back(static_cast<std::uint32_t>(pair - first_pair));
      }
    sort_entries(all);
    for (std::size_t at = 0; at < source.columns.size(); ++at)
      for (const auto& [value, place] : all) made.columns[at].push_back(source.columns[at][place]);
    for (const auto& [value, place] : all) {
      const std::uint32_t pair = pair_of[place - first_copy];
      made.others.push_back(source.neighbors[first_pair + pair]);
      made.pairs.push_back(pair);
    }
  }
  return made;
}

CopyRows turned_around(const PairSource& source, std::span<const std::int64_t> rows) {
  struct From {
    std::uint32_t pair = 0, vertex = 0;
  };
  constexpr std::size_t kAhead = 16;  // pairs to one vertex are far from each other
  const std::size_t vertices = source.offsets.size() - 1, pairs = source.neighbors.size();
  CopyRows made;
  made.offsets.assign(vertices + 1, 0);
  for (const std::uint32_t other : source.neighbors) ++made.offsets[other + std::size_t{1}];
  std::partial_sum(made.offsets.begin(), made.offsets.end(), made.offsets.begin());
  Values<From> order(pairs);
  std::vector<std::uint64_t> next(made.offsets.begin(), made.offsets.end());
  for (std::size_t vertex = 0; vertex < vertices; ++vertex)
    for (std::uint64_t pair = source.offsets[vertex]; pair < source.offsets[vertex + 1]; ++pair)
      order[next[source.neighbors[pair]]++] = {static_cast<std::uint32_t>(pair),
                                               static_cast<std::uint32_t>(vertex)};
  made.neighbors.resize(pairs);
  made.starts.resize(pairs + 1);
  made.rows.resize(rows.size());
  made.columns.resize(source.columns.size());
  for (auto& column : made.columns) column.resize(rows.size());
  std::vector<std::pair<const std::int64_t*, std::int64_t*>> arrays{{rows.data(), made.rows.data()}};
  for (std::size_t at = 0; at < source.columns.size(); ++at)
    arrays.emplace_back(source.columns[at].data(), made.columns[at].data());
  std::uint64_t copy = 0;
  for (std::size_t at = 0; at < pairs; ++at) {
    if (at + 2 * kAhead < pairs) __builtin_prefetch(&source.starts[order[at + 2 * kAhead].pair]);
    if (at + kAhead < pairs) {
      const std::uint32_t pair = order[at + kAhead].pair;
      for (const auto& [from, to] : arrays) {
        __builtin_prefetch(from + source.starts[pair]);
        __builtin_prefetch(from + source.starts[pair + 1] - 1);
      }
    }
    const auto [pair, vertex] = order[at];
    made.neighbors[at] = vertex;
    made.starts[at] = copy;
    const std::uint64_t first = source.starts[pair], last = source.starts[pair + 1];
    for (const auto& [from, to] : arrays) std::copy(from + first, from + last, to + copy);
    copy += last - first;
  }
  made.starts[pairs] = copy;
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
