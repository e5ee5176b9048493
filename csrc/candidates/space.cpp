#include "candidates/space.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "candidates/filter.hpp"
#include "candidates/narrow.hpp"

namespace motiflux::candidates {
namespace {

constexpr std::size_t kRowsAtOnce = 1 << 8;

std::uint64_t kind_degree(const DataGraph& graph, const ArcKind& kind, std::uint32_t vertex) {
  return (kind.out ? degree(graph.out, vertex) : 0) + (kind.in ? degree(graph.in, vertex) : 0);
}

std::uint64_t total_degree(const DataGraph& graph, const ArcKind& kind,
                           const std::vector<std::uint32_t>& vertices) {
  std::uint64_t total = 0;
  for (std::uint32_t v : vertices) total += kind_degree(graph, kind, v);
  return total;
}

// Appends the positions of the neighbours of `vertex` along `kind` that serve `query_vertex`, ascending,
// without repeats.
void append_row(const DataGraph& graph, const ArcKind& kind, std::uint32_t vertex, const Words& serves,
                const Words& position, std::uint32_t query_vertex, std::vector<std::uint32_t>& row) {
  const std::size_t begin = row.size();
  const auto along = [&](const graph::ArcRows& rows, std::span<const std::uint8_t> arcs) {
    const std::size_t start = row.size();
    for (std::uint64_t at = rows.offsets[vertex]; at < rows.offsets[vertex + 1]; ++at) {
      const std::uint32_t neighbor = rows.neighbors[at];
      if (!(serves[neighbor] >> query_vertex & 1)) continue;
      if (!passes(kind.edge_labels, rows.labels.empty() ? 0 : rows.labels[at]) || !passes(arcs, at)) continue;
      const std::uint32_t place = position[neighbor];
      if (row.size() == start || row.back() != place) row.push_back(place);
    }
  };
  if (kind.out) along(graph.out, kind.out_arcs);
  if (!kind.in) return;
  const std::size_t middle = row.size();
  along(graph.in, kind.in_arcs);
  const auto at = [&](std::size_t index) { return row.begin() + static_cast<std::ptrdiff_t>(index); };
  if (middle == begin || middle == row.size()) return;
  std::inplace_merge(at(begin), at(middle), row.end());
  row.erase(std::unique(at(begin), row.end()), row.end());
}

SpaceView view_of(const std::vector<std::vector<std::uint32_t>>& sets, const std::vector<EdgeRows>& edges) {
  SpaceView view;
  for (const auto& set : sets) view.sets.emplace_back(set);
  for (const EdgeRows& edge : edges)
    view.edges.push_back({edge.source, edge.target, edge.forward.view(), edge.backward.view()});
  return view;
}

std::uint64_t bytes_of(const SpaceView& view) {
  std::uint64_t total = 0;
  for (const auto& set : view.sets) total += set.size_bytes();
  for (const SpaceView::Edge& edge : view.edges)
    for (const RowsView* rows : {&edge.forward, &edge.backward})
      total += rows->offsets.size_bytes() + rows->neighbors.size_bytes();
  return total;
}

}  // namespace

Space::Space(const DataGraph& graph, const Query& query, const Options& options, const Workers& workers) {
  for (const QueryEdge& edge : query.edges) edges_.push_back({edge.source, edge.target, 0, {}, {}});
  Filter filter(graph, query, workers);
  if (filter.run({options.rounds, options.max_bytes}) == Outcome::kTooLarge) {
    state_ = State::kTooLarge;
    return;
  }
  sets_ = std::move(filter.sets());
  const auto any_empty = [&] {
    return std::any_of(sets_.begin(), sets_.end(), [](const auto& set) { return set.empty(); });
  };
  if (!any_empty()) {
    make_rows(graph, query, filter, options, workers);
    // Narrowing needs the rows of both ends.
    if (state_ == State::kReady && bytes_of(view_of(sets_, edges_)) <= options.max_bytes / 2)
      narrow(sets_, edges_, {options.cycles, query.injective}, workers);
  }
  if (state_ == State::kReady && any_empty()) state_ = State::kEmpty;
  view_ = view_of(sets_, edges_);
  view_.rounds = filter.rounds();
  find_classes();
}

Space::Space(SpaceView view, std::shared_ptr<const void> keeper)
    : view_(std::move(view)), keeper_(std::move(keeper)) {
  for (const SpaceView::Edge& edge : view_.edges) edges_.push_back({edge.source, edge.target, {}, {}});
  find_classes();
}

void Space::find_classes() {
  for (const auto& set : view_.sets) {
    const auto same = [&](std::span<const std::uint32_t> other) {
      return other.size() == set.size() &&
             (other.data() == set.data() || std::equal(set.begin(), set.end(), other.begin()));
    };
    const auto first = std::find_if(view_.sets.begin(), view_.sets.end(), same);
    classes_.push_back(static_cast<std::size_t>(first - view_.sets.begin()));
  }
}

SpaceView Space::view() const {
  const std::lock_guard lock(*mutex_);
  return view_;
}

std::uint64_t Space::arcs(std::size_t edge) const {
  const std::lock_guard lock(*mutex_);
  const SpaceView::Edge& ends = view_.edges[edge];
  return (ends.forward.offsets.empty() ? ends.backward : ends.forward).neighbors.size();
}

// Takes query edges by the end that their rows lead to, so that the positions of each set are written once.
void Space::make_rows(const DataGraph& graph, const Query& query, const Filter& filter,
                      const Options& options, const Workers& workers) {
  const Words& serves = filter.serves();
  Words position(graph.vertices());
  std::vector<std::vector<std::pair<std::size_t, bool>>> into(sets_.size());
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    const QueryEdge& edge = query.edges[e];
    const bool from_source = total_degree(graph, query.kinds[edge.forward], sets_[edge.source]) <=
                             total_degree(graph, query.kinds[edge.backward], sets_[edge.target]);
    into[from_source ? edge.target : edge.source].emplace_back(e, from_source);
  }
  std::uint64_t bytes = bytes_of(view_of(sets_, edges_));
  for (std::size_t u = 0; u < sets_.size(); ++u) {
    if (into[u].empty()) continue;
    for (std::size_t i = 0; i < sets_[u].size(); ++i) position[sets_[u][i]] = static_cast<std::uint32_t>(i);
    for (const auto& [e, from_source] : into[u]) {
      const QueryEdge& edge = query.edges[e];
      const ArcKind& kind = query.kinds[from_source ? edge.forward : edge.backward];
      const auto& starts = sets_[from_source ? edge.source : edge.target];
      Rows& rows = from_source ? edges_[e].forward : edges_[e].backward;
      rows.offsets.reserve(starts.size() + 1);
      rows.offsets.push_back(0);
      for (std::size_t i = 0; i < starts.size(); ++i) {
        if (i % kRowsAtOnce == 0) workers.check();
        append_row(graph, kind, starts[i], serves, position, static_cast<std::uint32_t>(u), rows.neighbors);
        rows.offsets.push_back(rows.neighbors.size());
        if (bytes + rows.neighbors.size() * sizeof(std::uint32_t) > options.max_bytes) {
          state_ = State::kTooLarge;
          for (EdgeRows& made : edges_) made.forward = made.backward = {};
          return;
        }
      }
      edges_[e].arcs = rows.neighbors.size();
      bytes += rows.offsets.size() * sizeof(std::uint64_t) + rows.neighbors.size() * sizeof(std::uint32_t);
    }
  }
}

const std::uint32_t* Space::places_between(std::size_t from, std::size_t to) {
  const std::lock_guard lock(*mutex_);
  auto [known, fresh] = places_.try_emplace({classes_[from], classes_[to]});
  if (fresh) known->second = places(view_.sets[from], view_.sets[to]);
  return known->second.data();
}

std::uint64_t Space::bytes() const {
  return bytes_of(view());
}

view::Adjacency Space::rows(std::size_t edge, bool from_source) const {
  const RowsView& rows = from_source ? view_.edges[edge].forward : view_.edges[edge].backward;
  return {rows.offsets.data(), rows.neighbors.data()};
}

void Space::orient(std::size_t edge, bool from_source) {
  const std::lock_guard lock(*mutex_);
  SpaceView::Edge& ends = view_.edges[edge];
  RowsView& wanted = from_source ? ends.forward : ends.backward;
  const RowsView& made = from_source ? ends.backward : ends.forward;
  if (!wanted.offsets.empty() || made.offsets.empty()) return;
  Rows& own = from_source ? edges_[edge].forward : edges_[edge].backward;
  own = turned(made, view_.sets[from_source ? ends.source : ends.target].size(), {});
  wanted = own.view();
}

std::vector<std::uint32_t> places(std::span<const std::uint32_t> from, std::span<const std::uint32_t> to) {
  std::vector<std::uint32_t> result(from.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    while (at < to.size() && to[at] < from[i]) ++at;
    const bool same = at < to.size() && to[at] == from[i];
    result[i] = static_cast<std::uint32_t>(2 * at + (same ? 1 : 0));
  }
  return result;
}

}  // namespace motiflux::candidates
