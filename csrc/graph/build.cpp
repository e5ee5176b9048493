#include "graph/build.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "graph/grain.hpp"

namespace motiflux::graph {
namespace {

// An arc in its row: the neighbour is in the high half, so that integer order is (neighbour, label) order.
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
    }
  });
}

// Calls visit(from, to, label) for the arcs of all edges that are not self-loops.
template <class Visit>
void for_each_arc(const EdgeList& edges, bool forward, bool both, std::size_t begin, std::size_t end,
                  Visit&& visit) {
  for (std::size_t e = begin; e < end; ++e) {
    if (edges.sources[e] == edges.targets[e]) continue;
    const std::uint32_t label = edges.labels.empty() ? 0 : edges.labels[e];
    if (forward || both) visit(edges.sources[e], edges.targets[e], label);
    if (!forward || both) visit(edges.targets[e], edges.sources[e], label);
  }
}

// The number of arcs out of each vertex if `forward`, into it if not, or `both`; without self-loops.
std::vector<std::uint32_t> count_arcs(const EdgeList& edges, std::uint32_t vertices, bool forward, bool both,
                                      const Workers& workers) {
  std::vector<std::uint32_t> counts(vertices, 0);
  parallel_for(workers, edges.sources.size(), kEdgeGrain, [&](std::size_t begin, std::size_t end) {
    for_each_arc(edges, forward, both, begin, end,
                 [&](std::uint32_t from, std::uint32_t, std::uint32_t) { add(counts[from]); });
  });
  return counts;
}

// Vertices by ascending degree, ties by id: a counting sort.
std::vector<std::uint32_t> degree_order(const std::vector<std::uint32_t>& degree) {
  const auto vertices = static_cast<std::uint32_t>(degree.size());
  const std::uint32_t largest = vertices ? *std::max_element(degree.begin(), degree.end()) : 0;
  std::vector<std::uint64_t> place(std::size_t{largest} + 2, 0);
  for (std::uint32_t d : degree) ++place[std::size_t{d} + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<std::uint32_t> order(vertices);
  for (std::uint32_t v = 0; v < vertices; ++v) order[place[degree[v]]++] = v;
  return order;
}

// The rows of one direction before equal arcs are merged.
template <class Entry>
struct RawRows {
  std::vector<std::uint64_t> offsets;
  std::vector<typename Entry::Word> arcs;
};

// `counts` are the arcs of each row, by the vertex's id in the edge list.
template <class Entry>
RawRows<Entry> fill_rows(const EdgeList& edges, const std::vector<std::uint32_t>& new_id,
                         const std::vector<std::uint32_t>& counts, bool forward, bool both,
                         const Workers& workers) {
  const std::size_t vertices = new_id.size();
  RawRows<Entry> raw;
  raw.offsets.assign(vertices + 1, 0);
  for (std::size_t v = 0; v < vertices; ++v) raw.offsets[new_id[v] + 1] = counts[v];
  std::partial_sum(raw.offsets.begin(), raw.offsets.end(), raw.offsets.begin());
  raw.arcs.resize(raw.offsets.back());
  std::vector<std::uint32_t> fill(vertices, 0);
  parallel_for(workers, edges.sources.size(), kEdgeGrain, [&](std::size_t begin, std::size_t end) {
    for_each_arc(edges, forward, both, begin, end,
                 [&](std::uint32_t from, std::uint32_t to, std::uint32_t label) {
                   const std::uint32_t row = new_id[from];
                   const std::uint32_t position =
                       std::atomic_ref<std::uint32_t>(fill[row]).fetch_add(1, std::memory_order_relaxed);
                   raw.arcs[raw.offsets[row] + position] = Entry::pack(new_id[to], label);
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

// Reuses the memory of `raw` if possible.
template <class Entry>
Rows fold_copies(RawRows<Entry> raw, const Workers& workers) {
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
  if constexpr (!Entry::kLabelled) {
    if (!repeated) {
      rows.neighbors = std::move(raw.arcs);
      return rows;
    }
  }
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
void build_rows(Built& built, const EdgeList& edges, const std::vector<std::uint32_t>& new_id,
                std::vector<std::uint32_t> degree, bool directed, const Workers& workers) {
  const auto vertices = static_cast<std::uint32_t>(new_id.size());
  if (directed) degree = count_arcs(edges, vertices, true, false, workers);
  built.forward =
      fold_copies<Entry>(fill_rows<Entry>(edges, new_id, degree, true, !directed, workers), workers);
  const auto arcs = std::accumulate(degree.begin(), degree.end(), std::uint64_t{0});
  built.duplicates = (arcs - built.forward.neighbors.size()) / (directed ? 1 : 2);
  if (!directed) return;
  degree = count_arcs(edges, vertices, false, false, workers);
  built.reverse = fold_copies<Entry>(fill_rows<Entry>(edges, new_id, degree, false, false, workers), workers);
}

}  // namespace

Built build(const EdgeList& edges, std::uint32_t vertices, bool directed, const Workers& workers) {
  if (edges.sources.size() >= std::uint64_t{1} << 31)
    throw std::invalid_argument("more than 2^31 - 1 edges in one list");
  check_edges(edges, vertices, workers);
  Built built;
  std::vector<std::uint32_t> degree = count_arcs(edges, vertices, true, true, workers);
  built.order = degree_order(degree);
  std::vector<std::uint32_t> new_id(vertices);
  for (std::uint32_t v = 0; v < vertices; ++v) new_id[built.order[v]] = v;
  if (edges.labels.empty())
    build_rows<PlainEntry>(built, edges, new_id, std::move(degree), directed, workers);
  else
    build_rows<LabelledEntry>(built, edges, new_id, std::move(degree), directed, workers);
  return built;
}

}  // namespace motiflux::graph
