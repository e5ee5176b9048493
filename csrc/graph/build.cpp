#include "graph/build.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>

namespace motiflux::graph {
namespace {

constexpr std::size_t kEdgeGrain = 1 << 16;
constexpr std::size_t kRowArcs = 1 << 16;

// An arc seen from its row: neighbour in the high half so that integer order is (neighbour, label) order.
struct LabelledEntry {
  using Word = std::uint64_t;
  static Word pack(std::uint32_t neighbor, std::uint32_t label) { return Word{neighbor} << 32 | label; }
  static std::uint32_t neighbor(Word word) { return static_cast<std::uint32_t>(word >> 32); }
  static std::uint32_t label(Word word) { return static_cast<std::uint32_t>(word); }
  static constexpr bool kLabelled = true;
};

struct PlainEntry {
  using Word = std::uint32_t;
  static Word pack(std::uint32_t neighbor, std::uint32_t) { return neighbor; }
  static std::uint32_t neighbor(Word word) { return word; }
  static std::uint32_t label(Word) { return 0; }
  static constexpr bool kLabelled = false;
};

void add(std::uint32_t& counter) {
  std::atomic_ref<std::uint32_t>(counter).fetch_add(1, std::memory_order_relaxed);
}

void check_edges(const EdgeList& edges, std::uint32_t vertices, const Workers& workers) {
  parallel_for(workers, edges.sources.size(), kEdgeGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) {
      const std::uint32_t source = edges.sources[e], target = edges.targets[e];
      if (source >= vertices || target >= vertices)
        throw std::invalid_argument("edge " + std::to_string(e) + ": vertex out of range");
      if (source == target) throw std::invalid_argument("edge " + std::to_string(e) + ": self-loop");
    }
  });
}

// Vertices by ascending degree, ties by id: a counting sort.
std::vector<std::uint32_t> degree_order(const EdgeList& edges, std::uint32_t vertices,
                                        const Workers& workers) {
  std::vector<std::uint32_t> degree(vertices, 0);
  parallel_for(workers, edges.sources.size(), kEdgeGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) {
      add(degree[edges.sources[e]]);
      add(degree[edges.targets[e]]);
    }
  });
  const std::uint32_t largest = vertices ? *std::max_element(degree.begin(), degree.end()) : 0;
  std::vector<std::uint64_t> place(std::size_t{largest} + 2, 0);
  for (std::uint32_t d : degree) ++place[std::size_t{d} + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<std::uint32_t> order(vertices);
  for (std::uint32_t v = 0; v < vertices; ++v) order[place[degree[v]]++] = v;
  return order;
}

template <class Visit>
void for_each_arc(const EdgeList& edges, bool forward, bool both, std::size_t begin, std::size_t end,
                  Visit&& visit) {
  for (std::size_t e = begin; e < end; ++e) {
    const std::uint32_t label = edges.labels.empty() ? 0 : edges.labels[e];
    if (forward || both) visit(edges.sources[e], edges.targets[e], label);
    if (!forward || both) visit(edges.targets[e], edges.sources[e], label);
  }
}

// The rows of one direction before equal arcs are folded together.
template <class Entry>
struct RawRows {
  std::vector<std::uint64_t> offsets;
  std::vector<typename Entry::Word> arcs;
};

template <class Entry>
RawRows<Entry> fill_rows(const EdgeList& edges, const std::vector<std::uint32_t>& new_id, bool forward,
                         bool both, const Workers& workers) {
  const std::size_t vertices = new_id.size();
  std::vector<std::uint32_t> fill(vertices, 0);
  parallel_for(workers, edges.sources.size(), kEdgeGrain, [&](std::size_t begin, std::size_t end) {
    for_each_arc(edges, forward, both, begin, end,
                 [&](std::uint32_t from, std::uint32_t, std::uint32_t) { add(fill[new_id[from]]); });
  });
  RawRows<Entry> raw;
  raw.offsets.assign(vertices + 1, 0);
  for (std::size_t v = 0; v < vertices; ++v) raw.offsets[v + 1] = raw.offsets[v] + fill[v];
  raw.arcs.resize(raw.offsets.back());
  std::fill(fill.begin(), fill.end(), 0);
  parallel_for(workers, edges.sources.size(), kEdgeGrain, [&](std::size_t begin, std::size_t end) {
    for_each_arc(edges, forward, both, begin, end,
                 [&](std::uint32_t from, std::uint32_t to, std::uint32_t label) {
                   const std::uint32_t row = new_id[from];
                   const std::uint32_t slot =
                       std::atomic_ref<std::uint32_t>(fill[row]).fetch_add(1, std::memory_order_relaxed);
                   raw.arcs[raw.offsets[row] + slot] = Entry::pack(new_id[to], label);
                 });
  });
  parallel_rows(workers, raw.offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      auto first = raw.arcs.begin();
      std::sort(first + static_cast<std::ptrdiff_t>(raw.offsets[v]),
                first + static_cast<std::ptrdiff_t>(raw.offsets[v + 1]));
    }
  });
  return raw;
}

template <class Entry>
Rows fold_copies(const RawRows<Entry>& raw, const Workers& workers) {
  const std::size_t vertices = raw.offsets.size() - 1;
  const auto& arcs = raw.arcs;
  Rows rows;
  rows.offsets.assign(vertices + 1, 0);
  parallel_rows(workers, raw.offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      std::uint64_t distinct = 0;
      for (std::uint64_t a = raw.offsets[v]; a < raw.offsets[v + 1]; ++a)
        distinct += a == raw.offsets[v] || arcs[a] != arcs[a - 1];
      rows.offsets[v + 1] = distinct;
    }
  });
  std::partial_sum(rows.offsets.begin(), rows.offsets.end(), rows.offsets.begin());
  const std::size_t distinct = rows.offsets.back();
  const bool repeated = distinct != arcs.size();
  rows.neighbors.resize(distinct);
  if (Entry::kLabelled) rows.labels.resize(distinct);
  if (repeated) rows.copies.resize(distinct);
  parallel_rows(workers, raw.offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      std::uint64_t out = rows.offsets[v];
      for (std::uint64_t a = raw.offsets[v]; a < raw.offsets[v + 1];) {
        const std::uint64_t first = a;
        while (a < raw.offsets[v + 1] && arcs[a] == arcs[first]) ++a;
        rows.neighbors[out] = Entry::neighbor(arcs[first]);
        if (Entry::kLabelled) rows.labels[out] = Entry::label(arcs[first]);
        if (repeated) rows.copies[out] = static_cast<std::uint32_t>(a - first);
        ++out;
      }
    }
  });
  return rows;
}

template <class Entry>
void build_rows(Built& built, const EdgeList& edges, const std::vector<std::uint32_t>& new_id, bool directed,
                const Workers& workers) {
  const std::size_t arcs_per_edge = directed ? 1 : 2;
  built.forward = fold_copies<Entry>(fill_rows<Entry>(edges, new_id, true, !directed, workers), workers);
  if (directed)
    built.reverse = fold_copies<Entry>(fill_rows<Entry>(edges, new_id, false, false, workers), workers);
  built.duplicates = edges.sources.size() - built.forward.neighbors.size() / arcs_per_edge;
}

}  // namespace

Built build(const EdgeList& edges, std::uint32_t vertices, bool directed, const Workers& workers) {
  if (edges.sources.size() >= std::uint64_t{1} << 31)
    throw std::invalid_argument("more than 2^31 - 1 edges in one list");
  check_edges(edges, vertices, workers);
  Built built;
  built.order = degree_order(edges, vertices, workers);
  std::vector<std::uint32_t> new_id(vertices);
  for (std::uint32_t v = 0; v < vertices; ++v) new_id[built.order[v]] = v;
  if (edges.labels.empty())
    build_rows<PlainEntry>(built, edges, new_id, directed, workers);
  else
    build_rows<LabelledEntry>(built, edges, new_id, directed, workers);
  return built;
}

}  // namespace motiflux::graph
