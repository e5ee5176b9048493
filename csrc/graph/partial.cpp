#include "graph/partial.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace motiflux::graph {
namespace {

constexpr std::size_t kRowsAtOnce = 1 << 10;
constexpr std::size_t kValuesAtOnce = 1 << 18;

// Calls use(from, to, label) for each arc.
template <class Use>
void for_each_arc(const Entries& entries, const Workers& workers, Use&& use) {
  for (std::size_t row = 0; row < entries.rows.size(); ++row) {
    if (row % kRowsAtOnce == 0) workers.check();
    const std::uint32_t own = entries.rows[row];
    for (std::uint64_t at = entries.offsets[row]; at < entries.offsets[row + 1]; ++at) {
      const std::uint32_t other = entries.neighbors[at];
      const std::uint32_t label = entries.labels.empty() ? 0 : entries.labels[at];
      const unsigned sides = entries.sides.empty() ? kFromRow | kToRow : entries.sides[at];
      if (sides & kFromRow) use(own, other, label);
      if (sides & kToRow) use(other, own, label);
    }
  }
}

void check_entries(const Entries& entries, std::uint32_t vertices) {
  const auto inside = [&](std::uint32_t vertex) { return vertex < vertices; };
  if (!std::all_of(entries.rows.begin(), entries.rows.end(), inside) ||
      !std::all_of(entries.neighbors.begin(), entries.neighbors.end(), inside))
    throw std::invalid_argument("vertices below the number of vertices expected");
}

// Sorts each row, drops repeated arcs, and moves the rows together.
void sort_rows(PartialRows& rows, const Workers& workers) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> labelled;
  std::uint64_t kept = 0;
  for (std::size_t v = 0; v + 1 < rows.offsets.size(); ++v) {
    if (v % kRowsAtOnce == 0) workers.check();
    const std::uint64_t begin = rows.offsets[v], end = rows.offsets[v + 1];
    rows.offsets[v] = kept;
    if (rows.labels.empty()) {
      const auto first = rows.neighbors.begin() + begin, last = rows.neighbors.begin() + end;
      if (last - first > 1 && *first > *(last - 1)) std::reverse(first, last);  // of ids in reverse order
      if (!std::is_sorted(first, last)) std::sort(first, last);
      const auto unique = std::unique(first, last);
      std::copy(first, unique, rows.neighbors.begin() + kept);
      kept += static_cast<std::uint64_t>(unique - first);
      continue;
    }
    labelled.clear();
    for (std::uint64_t at = begin; at < end; ++at) labelled.emplace_back(rows.neighbors[at], rows.labels[at]);
    std::sort(labelled.begin(), labelled.end());
    labelled.erase(std::unique(labelled.begin(), labelled.end()), labelled.end());
    for (const auto& [neighbor, label] : labelled) {
      rows.neighbors[kept] = neighbor;
      rows.labels[kept++] = label;
    }
  }
  rows.offsets.back() = kept;
  rows.neighbors.resize(kept);
  if (!rows.labels.empty()) rows.labels.resize(kept);
}

}  // namespace

PartialRows partial_rows(const Entries& entries, std::uint32_t vertices, const Workers& workers) {
  check_entries(entries, vertices);
  PartialRows rows;
  rows.offsets.assign(std::size_t{vertices} + 1, 0);
  for_each_arc(entries, workers, [&](std::uint32_t from, std::uint32_t, std::uint32_t) {
    ++rows.offsets[std::size_t{from} + 1];
  });
  for (std::size_t v = 0; v < vertices; ++v) rows.offsets[v + 1] += rows.offsets[v];
  rows.neighbors.resize(rows.offsets.back());
  if (!entries.labels.empty()) rows.labels.resize(rows.offsets.back());
  // offsets[v] moves to the end of row v, and back by one row afterwards.
  for_each_arc(entries, workers, [&](std::uint32_t from, std::uint32_t to, std::uint32_t label) {
    const std::uint64_t at = rows.offsets[from]++;
    rows.neighbors[at] = to;
    if (!rows.labels.empty()) rows.labels[at] = label;
  });
  for (std::size_t v = vertices; v > 0; --v) rows.offsets[v] = rows.offsets[v - 1];
  rows.offsets[0] = 0;
  sort_rows(rows, workers);
  return rows;
}

void to_positions(std::span<const std::uint32_t> ids, std::span<std::uint32_t> values,
                  const Workers& workers) {
  // starts[b] is the position of the first id whose highest bits are at least b: about one bucket for each
  // id.
  const int bits = ids.empty() ? 0 : std::bit_width(ids.back());
  const int shift = std::max(0, bits - std::min(24, static_cast<int>(std::bit_width(ids.size()))));
  std::vector<std::uint32_t> starts(ids.empty() ? 1 : (std::size_t{ids.back()} >> shift) + 2);
  for (std::size_t bucket = 0, at = 0; bucket < starts.size(); ++bucket) {
    while (at < ids.size() && (ids[at] >> shift) < bucket) ++at;
    starts[bucket] = static_cast<std::uint32_t>(at);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % kValuesAtOnce == 0) workers.check();
    const std::size_t bucket = values[i] >> shift;
    if (bucket + 1 >= starts.size()) throw std::invalid_argument("a value that is no id");
    const auto last = ids.begin() + starts[bucket + 1];
    const auto found = std::lower_bound(ids.begin() + starts[bucket], last, values[i]);
    if (found == last || *found != values[i]) throw std::invalid_argument("a value that is no id");
    values[i] = static_cast<std::uint32_t>(found - ids.begin());
  }
}

void narrow_rows(std::span<const std::uint32_t> neighbors, std::span<std::int64_t> begins,
                 std::span<std::int64_t> ends, std::span<const std::int64_t> least,
                 std::span<const std::int64_t> most, const Workers& workers) {
  for (std::size_t row = 0; row < begins.size(); ++row) {
    if (row % kRowsAtOnce == 0) workers.check();
    if (begins[row] < 0 || ends[row] < begins[row] ||
        static_cast<std::uint64_t>(ends[row]) > neighbors.size())
      throw std::invalid_argument("rows within the neighbours expected");
    const auto first = neighbors.begin() + begins[row], last = neighbors.begin() + ends[row];
    const auto from = std::lower_bound(first, last, least[row]);
    const auto to = std::lower_bound(from, last, most[row]);
    begins[row] = from - neighbors.begin();
    ends[row] = to - neighbors.begin();
  }
}

}  // namespace motiflux::graph
