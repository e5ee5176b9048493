// Rows of partitions, written by several threads, against rows that are looked up in the graph.
#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "check.hpp"
#include "motiflux/view/hash_rows.hpp"
#include "motiflux/view/interval_rows.hpp"
#include "pcsr/hash_rows.hpp"
#include "pcsr/interval_rows.hpp"
#include "pcsr/renaming.hpp"

namespace {

using namespace motiflux;
using Row = std::vector<std::uint32_t>;
using Numbers = std::vector<std::uint32_t>;

struct Graph {
  std::vector<std::uint64_t> offsets{0};
  Numbers neighbors, labels, vertex_labels;
};

Graph draw(std::mt19937& random, std::uint32_t vertices, std::uint32_t codes) {
  Graph graph;
  for (std::uint32_t v = 0; v < vertices; ++v) {
    const std::uint32_t degree = random() % 4 == 0 ? 0 : random() % 12;
    Row row;
    for (std::uint32_t arc = 0; arc < degree; ++arc) row.push_back(random() % vertices);
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    for (const std::uint32_t neighbor : row) {
      graph.neighbors.push_back(neighbor);
      graph.labels.push_back(random() % codes);
    }
    graph.offsets.push_back(graph.neighbors.size());
    graph.vertex_labels.push_back(random() % 3);
  }
  return graph;
}

// Rows by partition and vertex.
std::map<std::pair<std::uint32_t, std::uint32_t>, Row> true_rows(const Graph& graph, bool by_target) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Row> rows;
  for (std::uint32_t v = 0; v + 1 < graph.offsets.size(); ++v)
    for (std::uint64_t arc = graph.offsets[v]; arc < graph.offsets[v + 1]; ++arc) {
      const std::uint32_t neighbor = graph.neighbors[arc];
      rows[{by_target ? graph.vertex_labels[neighbor] : graph.labels[arc], v}].push_back(neighbor);
    }
  if (!by_target)
    for (auto& [name, row] : rows)
      std::stable_sort(row.begin(), row.end(), [&](std::uint32_t a, std::uint32_t b) {
        return graph.vertex_labels[a] < graph.vertex_labels[b];
      });
  return rows;
}

Row copy_of(sets::Span row) {
  return {row.begin(), row.end()};
}

// Looks all vertices up as kernels do: with an index of that many words.
void check_intervals(const Graph& graph, const pcsr::Division& division, bool wide, std::uint32_t words,
                     const Workers& workers) {
  const std::uint32_t vertices = static_cast<std::uint32_t>(division.vertices());
  const auto expected = true_rows(graph, division.by_target);
  const pcsr::Membership membership = pcsr::collect(division, workers);
  const Numbers renamed = pcsr::rename(membership.offsets, membership.partitions, division.partitions(),
                                       pcsr::kComparedSteps, workers);
  const pcsr::IntervalRows made =
      pcsr::interval_rows(division, membership, renamed, wide ? 0 : 0xFFFFFFFF, workers);
  CHECK(made.neighbors.size() == graph.neighbors.size());
  for (std::uint32_t p = 0; p < division.partitions(); ++p) {
    const auto intervals = static_cast<std::uint32_t>(made.first_interval[p + 1] - made.first_interval[p]);
    const std::uint64_t first_offset = made.first_row[p] + p;
    const view::IntervalRows rows{renamed.data(),
                                  made.firsts.data() + made.first_interval[p],
                                  made.rows_before.data() + made.first_interval[p] + p,
                                  wide ? nullptr : made.offsets.data() + first_offset,
                                  wide ? made.wide_offsets.data() + first_offset : nullptr,
                                  made.neighbors.data() + made.first_arc[p],
                                  intervals,
                                  0};
    Numbers memory(words);
    const view::IntervalIndex index = view::IntervalIndex::in(memory.data(), words, intervals);
    CHECK(index.count + (index.stride == 1 ? index.count + 1 : 0) <= words);
    for (std::uint32_t at = 0; at < index.count; ++at) {
      memory[at] = rows.firsts[at * index.stride];
      if (index.stride == 1) memory[index.count + at] = rows.rows_before[at];
    }
    if (index.stride == 1) memory[2 * index.count] = rows.rows_before[intervals];
    for (std::uint32_t v = 0; v < vertices; ++v) {
      const auto known = expected.find({p, v});
      CHECK(copy_of(index.open(rows, v)) == (known == expected.end() ? Row{} : known->second));
    }
  }
}

// Looks all keys up in the table, a word after the other.
void check_hashes(std::mt19937& random, std::uint32_t keys, const Workers& workers) {
  using view::HashGroup;
  Numbers ids(keys), offsets{0};
  std::uint32_t id = 0;
  for (std::uint32_t& one : ids) {
    one = id += 1 + random() % 5;
    offsets.push_back(offsets.back() + random() % 4);
  }
  Numbers neighbors(offsets.back());
  std::iota(neighbors.begin(), neighbors.end(), 0u);
  const pcsr::HashRows made = pcsr::hash_rows(ids, offsets, neighbors, workers);
  CHECK(made.groups.size() == std::size_t{keys} * HashGroup::kWords);
  for (std::uint32_t row = 0; row < keys; ++row) {
    std::uint32_t group = HashGroup::of(ids[row], keys), turns = 0;
    Row found;
    for (bool done = false; !done;) {
      CHECK(++turns <= keys);
      CHECK(group != HashGroup::kNone);
      const std::uint32_t* line = made.groups.data() + std::size_t{group} * HashGroup::kWords;
      for (std::uint32_t key = 0; key < HashGroup::kKeys && !done; ++key) {
        if (line[2 * key] != ids[row]) continue;
        const bool last = key + 1 == HashGroup::kKeys || line[2 * key + 2] == HashGroup::kNone;
        const std::uint32_t end = last ? line[HashGroup::kEnd] : line[2 * key + 3];
        found.assign(made.neighbors.data() + line[2 * key + 1], made.neighbors.data() + end);
        done = true;
      }
      group = line[HashGroup::kNext];
    }
    CHECK(found == Row(neighbors.begin() + offsets[row], neighbors.begin() + offsets[row + 1]));
  }
}

}  // namespace

int main() {
  std::mt19937 random(5);
  const Workers workers{3, nullptr};
  for (const std::uint32_t vertices : {1u, 40u, 2500u})
    for (const std::uint32_t codes : {1u, 4u, 90u}) {
      const Graph graph = draw(random, vertices, codes);
      const pcsr::Direction arcs{graph.offsets, graph.neighbors, graph.labels};
      for (const std::uint32_t words : {1u, 2u, 7u, 4000u})
        check_intervals(graph, {{&arcs, 1}, graph.vertex_labels, codes, false}, words == 7, words, workers);
      check_intervals(graph, {{&arcs, 1}, graph.vertex_labels, 3, true}, false, 100, workers);
    }
  for (const std::uint32_t keys : {0u, 1u, 2u, 500u, 5000u}) check_hashes(random, keys, workers);
}
