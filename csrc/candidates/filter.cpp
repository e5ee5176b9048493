#include "candidates/filter.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <new>

#include "motiflux/bits.hpp"
#include "motiflux/candidates/limits.hpp"
#include "motiflux/view/plan.hpp"

namespace motiflux::candidates {
namespace {

// Vertices that a thread takes at once: few, since the last ones are hubs.
constexpr std::size_t kGrain = 1 << 7;
constexpr std::uint64_t kArcsPerCheck = 16;  // arcs between checks whether all needs are met

// `places` packs a position and a bit into 32.
constexpr std::size_t kMostCandidates = 0x7FFFFFFE;

constexpr std::uint32_t bit(std::uint32_t query_vertex) {
  return std::uint32_t{1} << query_vertex;
}

}  // namespace

Words::Words(std::size_t count)
    : words_(
          static_cast<std::uint32_t*>(std::calloc(std::max<std::size_t>(count, 1), sizeof(std::uint32_t)))) {
  if (!words_) throw std::bad_alloc();
}

Filter::Filter(const DataGraph& graph, const Query& query, const Workers& workers)
    : graph_(graph), query_(query), workers_(workers), serves_(graph.vertices()) {
  describe();
}

// Computes the needs and groups of each query vertex.
void Filter::describe() {
  const std::size_t size = query_.vertices.size();
  needs_.resize(size);
  groups_.resize(size);
  const auto need = [&](std::uint32_t at, std::uint32_t kind, std::uint32_t other) {
    auto& needs = needs_[at];
    auto known = std::find_if(needs.begin(), needs.end(), [&](const Need& n) { return n.kind == kind; });
    if (known == needs.end()) known = needs.insert(needs.end(), {kind, 0});
    known->mask |= bit(other);
  };
  for (const QueryEdge& edge : query_.edges) {
    need(edge.source, edge.forward, edge.target);
    need(edge.target, edge.backward, edge.source);
  }
  for (std::size_t u = 0; query_.injective && u < size; ++u) {
    for (const Need& all : needs_[u]) {
      for (std::uint32_t rest = all.mask; rest != 0;) {
        // Query vertices with the same labels compete for the same neighbours.
        const auto& labels = query_.vertices[static_cast<std::size_t>(std::countr_zero(rest))].labels;
        std::uint32_t alike = 0;
        for_each_bit(rest, [&](std::uint32_t w) {
          if (query_.vertices[w].labels == labels) alike |= bit(w);
        });
        rest &= ~alike;
        if (std::popcount(alike) > 1) groups_[u].push_back({all.kind, alike, std::popcount(alike)});
        if (alike == all.mask) break;
      }
    }
  }
  out_kinds_.assign(graph_.edge_labels, 0);
  in_kinds_.assign(graph_.edge_labels, 0);
  for (std::size_t k = 0; k < query_.kinds.size(); ++k) {
    const ArcKind& kind = query_.kinds[k];
    for (std::uint32_t label = 0; label < graph_.edge_labels; ++label) {
      if (!passes(kind.edge_labels, label)) continue;
      if (kind.out) out_kinds_[label] |= std::uint64_t{1} << k;
      if (kind.in) in_kinds_[label] |= std::uint64_t{1} << k;
    }
  }
  plain_ = query_.kinds.size() == 1 && query_.kinds[0].out && !query_.kinds[0].in &&
           query_.kinds[0].edge_labels.empty() && query_.kinds[0].out_arcs.empty();
}

Outcome Filter::run(const FilterOptions& options) {
  if (start(options.max_bytes) == Outcome::kTooLarge) return Outcome::kTooLarge;
  while (rounds_ < options.rounds && !any_empty()) {
    ++rounds_;
    if (!sweep()) break;
  }
  for (std::size_t u = 0; u < sets_.size(); ++u) {
    workers_.check();
    std::erase_if(sets_[u],
                  [&](std::uint32_t v) { return !(serves_[v] & bit(static_cast<std::uint32_t>(u))); });
  }
  return Outcome::kMade;
}

// Fills the sets by label, degree and condition.
Outcome Filter::start(std::uint64_t max_bytes) {
  const std::size_t size = query_.vertices.size();
  sets_.resize(size);
  active_.resize(size);
  checked_.resize(size);
  left_.assign(size, 0);
  std::uint64_t bytes = 0;
  const auto groups = static_cast<std::uint32_t>(graph_.label_offsets.size() - 1);
  for (std::size_t u = 0; u < size; ++u) {
    const QueryVertex& vertex = query_.vertices[u];
    auto& set = sets_[u];
    const auto take = [&](std::uint32_t v) {
      if (degree(graph_.out, v) < vertex.min_out_degree || degree(graph_.in, v) < vertex.min_in_degree)
        return;
      if (passes(vertex.allowed, v)) set.push_back(v);
    };
    const bool any = vertex.labels.empty();
    if (any) {
      for (std::uint32_t v = 0; v < graph_.vertices(); ++v) take(v);
    } else {
      for (std::uint32_t label : vertex.labels) {
        if (label >= groups) continue;
        const auto first = graph_.label_offsets[label], last = graph_.label_offsets[label + 1];
        for (std::uint64_t at = first; at < last; ++at) take(graph_.by_label[at]);
      }
      if (vertex.labels.size() > 1) std::sort(set.begin(), set.end());
    }
    workers_.check();
    bytes += set.size() * sizeof(std::uint32_t);
    if (bytes > max_bytes || set.size() > kMostCandidates) return Outcome::kTooLarge;
    left_[u] = set.size();
    for (std::uint32_t v : set) {
      if (serves_[v] == 0) active_[u].push_back(v);
      serves_[v] |= bit(static_cast<std::uint32_t>(u));
    }
  }
  return Outcome::kMade;
}

// One round over all vertices that serve any query vertex; false if another round would not pay.
bool Filter::sweep() {
  std::array<std::uint64_t, view::kMaxLevels> removed{};
  if (graph_.out.neighbors.size() < kArcsForThreads)
    sweep_in_turn(removed.data());
  else
    sweep_by_lists(removed.data());
  std::uint64_t total_removed = 0, total_left = 0;
  for (std::size_t u = 0; u < left_.size(); ++u) {
    left_[u] -= removed[u];
    total_removed += removed[u];
    total_left += left_[u];
  }
  if (total_removed == 0) return false;
  for (auto& vertices : active_) std::erase_if(vertices, [&](std::uint32_t v) { return serves_[v] == 0; });
  return total_removed * kLeastShare >= total_left;
}

// Each vertex sees the new words of all vertices before it, which saves rounds.
void Filter::sweep_in_turn(std::uint64_t* removed) {
  for (const auto& vertices : active_) {
    for (std::size_t at = 0; at < vertices.size(); ++at) {
      if (at % kGrain == 0) workers_.check();
      std::uint32_t& word = serves_[vertices[at]];
      const std::uint32_t after = checked(vertices[at]);
      for_each_bit(word & ~after, [&](std::uint32_t u) { ++removed[u]; });
      word = after;
    }
  }
}

// Vertices are in lists by the first query vertex that they served. All vertices of a list are checked before
// any of their words is written; the vertices of the next list see the new words. So no word changes while it
// may be read, and the result is the same on any number of threads.
void Filter::sweep_by_lists(std::uint64_t* removed) {
  std::vector<std::size_t> counts;
  for (std::size_t u = 0; u < active_.size(); ++u) {
    checked_[u].resize(active_[u].size());
    counts.insert(counts.end(), 2, active_[u].size());
  }
  parallel_stages(workers_, counts, kGrain, [&](std::size_t stage, std::size_t begin, std::size_t end) {
    const auto& vertices = active_[stage / 2];
    auto& after = checked_[stage / 2];
    if (stage % 2 == 0) {
      for (std::size_t at = begin; at < end; ++at) after[at] = checked(vertices[at]);
      return;
    }
    std::array<std::uint64_t, view::kMaxLevels> gone{};
    for (std::size_t at = begin; at < end; ++at) {
      std::uint32_t& word = serves_[vertices[at]];
      for_each_bit(word & ~after[at], [&](std::uint32_t u) { ++gone[u]; });
      word = after[at];
    }
    for (std::size_t u = 0; u < left_.size(); ++u)
      std::atomic_ref(removed[u]).fetch_add(gone[u], std::memory_order_relaxed);
  });
}

// The query vertices that `vertex` may still serve, according to its neighbours.
std::uint32_t Filter::checked(std::uint32_t vertex) const {
  const std::uint32_t before = serves_[vertex];
  std::uint32_t served = plain_ ? checked_plain(vertex, before) : checked_kinds(vertex, before);
  for_each_bit(served, [&](std::uint32_t u) {
    for (const Group& group : groups_[u])
      if (!enough(vertex, group)) {
        served &= ~bit(u);
        break;
      }
  });
  return served;
}

std::uint32_t Filter::checked_plain(std::uint32_t vertex, std::uint32_t served) const {
  std::uint32_t wanted = 0, reached = 0;
  for_each_bit(served, [&](std::uint32_t u) { wanted |= needs_[u][0].mask; });
  const std::uint64_t last = graph_.out.offsets[vertex + 1];
  for (std::uint64_t at = graph_.out.offsets[vertex]; at < last && (reached & wanted) != wanted;) {
    const std::uint64_t stop = std::min(last, at + kArcsPerCheck);
    for (; at < stop; ++at) reached |= serves_[graph_.out.neighbors[at]];
  }
  for_each_bit(served, [&](std::uint32_t u) {
    if (needs_[u][0].mask & ~reached) served &= ~bit(u);
  });
  return served;
}

std::uint32_t Filter::checked_kinds(std::uint32_t vertex, std::uint32_t served) const {
  std::array<std::uint32_t, kMaxKinds> reached{};
  reach(vertex, reached.data());
  for_each_bit(served, [&](std::uint32_t u) {
    for (const Need& need : needs_[u])
      if (need.mask & ~reached[need.kind]) {
        served &= ~bit(u);
        break;
      }
  });
  return served;
}

// For each kind of arc, the query vertices that some neighbour along such arcs serves.
void Filter::reach(std::uint32_t vertex, std::uint32_t* reached) const {
  const auto along = [&](const graph::ArcRows& rows, const std::vector<std::uint64_t>& kinds_of, bool out) {
    for (std::uint64_t at = rows.offsets[vertex]; at < rows.offsets[vertex + 1]; ++at) {
      const std::uint32_t serves = serves_[rows.neighbors[at]];
      if (serves == 0) continue;
      for (std::uint64_t kinds = kinds_of[rows.labels.empty() ? 0 : rows.labels[at]]; kinds != 0;
           kinds &= kinds - 1) {
        const auto k = static_cast<std::size_t>(std::countr_zero(kinds));
        if (passes(out ? query_.kinds[k].out_arcs : query_.kinds[k].in_arcs, at)) reached[k] |= serves;
      }
    }
  };
  const auto any = [](const std::vector<std::uint64_t>& kinds_of) {
    return std::any_of(kinds_of.begin(), kinds_of.end(), [](std::uint64_t kinds) { return kinds != 0; });
  };
  if (any(out_kinds_)) along(graph_.out, out_kinds_, true);
  if (any(in_kinds_)) along(graph_.in, in_kinds_, false);
}

// Neighbours joined both ways are counted twice: an upper bound, which is sound.
bool Filter::enough(std::uint32_t vertex, const Group& group) const {
  const ArcKind& kind = query_.kinds[group.kind];
  int found = 0;
  const auto along = [&](const graph::ArcRows& rows, std::span<const std::uint8_t> arcs) {
    std::uint64_t counted = UINT64_MAX;  // the last neighbour counted: parallel arcs are adjacent
    for (std::uint64_t at = rows.offsets[vertex]; at < rows.offsets[vertex + 1] && found < group.least;
         ++at) {
      const std::uint32_t neighbor = rows.neighbors[at];
      if (neighbor == counted || !(serves_[neighbor] & group.mask)) continue;
      if (!passes(kind.edge_labels, rows.labels.empty() ? 0 : rows.labels[at]) || !passes(arcs, at)) continue;
      counted = neighbor;
      ++found;
    }
  };
  if (kind.out) along(graph_.out, kind.out_arcs);
  if (kind.in) along(graph_.in, kind.in_arcs);
  return found >= group.least;
}

bool Filter::any_empty() const {
  return std::find(left_.begin(), left_.end(), 0) != left_.end();
}

}  // namespace motiflux::candidates
