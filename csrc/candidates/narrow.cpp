#include "candidates/narrow.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace motiflux::candidates {
namespace {

constexpr std::size_t kCheckedRows = 1 << 8;
constexpr int kRounds = 3;
// A round that removes less than this share of the arcs is the last one.
constexpr std::uint64_t kLeastShare = 16;
constexpr int kSweeps = 8;
constexpr std::uint32_t kManyMiddles = ~std::uint32_t{0};
// The budget of elements to read: a fixed number, some for each arc (less time than making the rows), and
// more for each removed arc.
constexpr std::uint64_t kWorkAtLeast = 1 << 16;
constexpr std::uint64_t kWorkPerArc = 4;
constexpr std::uint64_t kWorkPerGone = 64;
// Elements read between checks for cancellation: the row of one hub may use the whole budget.
constexpr std::uint64_t kCheckedWork = 1 << 18;

// A query edge followed from one of its ends.
struct Way {
  std::size_t edge;
  bool from_source;
};

// Another path between the ends of a query edge: an edge, or edges over one or two query vertices.
struct Detour {
  std::vector<Way> out;     // from the source to the target or to the last vertex before it
  std::optional<Way> back;  // from the target to that vertex
};

// For a reached candidate: the stamp, and the vertex it was reached over, if only one.
struct Mark {
  std::uint32_t stamp;
  std::uint32_t over;
};

class Narrowing {
 public:
  Narrowing(std::vector<std::vector<std::uint32_t>>& sets, std::vector<EdgeRows>& edges,
            const NarrowOptions& options, const Workers& workers)
      : sets_(sets), edges_(edges), options_(options), workers_(workers) {
    std::size_t most = 0;
    for (const auto& set : sets_) most = std::max(most, set.size());
    marks_.assign(most, {0, kManyMiddles});
    for (EdgeRows& edge : edges_) {
      if (edge.forward.offsets.empty())
        edge.forward = turned(edge.backward.view(), sets_[edge.source].size(), workers_);
      if (edge.backward.offsets.empty())
        edge.backward = turned(edge.forward.view(), sets_[edge.target].size(), workers_);
    }
    ways_.resize(sets_.size());
    for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
      ways_[edges_[edge].source].push_back({edge, true});
      ways_[edges_[edge].target].push_back({edge, false});
    }
    left_ = kWorkAtLeast + kWorkPerArc * arcs();
  }

  void run() {
    for (int round = 0; round < kRounds && left_ > 0; ++round) {
      const std::uint64_t before = arcs();
      for (int length = 2; length <= options_.longest; ++length)
        for (std::size_t edge : by_arcs()) {
          close({edge, true}, length);
        }
      drop_candidates();
      if ((before - arcs()) * kLeastShare < before) break;
    }
    renumber();
  }

 private:
  std::uint64_t arcs() const {
    std::uint64_t total = 0;
    for (const EdgeRows& edge : edges_) total += edge.arcs;
    return total;
  }
  // The query edges, ordered by their numbers of arcs.
  std::vector<std::size_t> by_arcs() const {
    std::vector<std::size_t> order(edges_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return edges_[a].arcs < edges_[b].arcs; });
    return order;
  }
  const Rows& rows(Way way) const {
    return way.from_source ? edges_[way.edge].forward : edges_[way.edge].backward;
  }
  std::uint32_t end(Way way) const {
    return way.from_source ? edges_[way.edge].target : edges_[way.edge].source;
  }

  std::vector<Detour> detours(Way way, int length) const {
    const std::uint32_t source = end({way.edge, !way.from_source}), target = end(way);
    std::vector<Detour> found;
    if (length == 2) {
      for (const Way& other : ways_[source])
        if (end(other) == target && other.edge != way.edge) found.push_back({{other}, std::nullopt});
      return found;
    }
    for (const Way& back : ways_[target]) {
      if (end(back) == source) continue;
      for (const Way& first : ways_[source]) {
        if (end(first) == target) continue;
        if (length == 3 && end(first) == end(back)) found.push_back({{first}, back});
        if (length != 4 || end(first) == end(back)) continue;
        for (const Way& second : ways_[end(first)])
          if (end(second) == end(back)) found.push_back({{first, second}, back});
      }
    }
    return found;
  }

  // Removes arcs of a query edge over which one of its pattern cycles of this length cannot close.
  void close(Way way, int length) {
    EdgeRows& closed = edges_[way.edge];
    Rows& here = way.from_source ? closed.forward : closed.backward;
    for (const Detour& detour : detours(way, length)) close(here, way, detour);
    if (here.neighbors.size() == closed.arcs) return;
    left_ += kWorkPerGone * (closed.arcs - here.neighbors.size());
    closed.arcs = here.neighbors.size();
    (way.from_source ? closed.backward : closed.forward) =
        turned(here.view(), sets_[end(way)].size(), workers_);
  }

  void close(Rows& closed, Way way, const Detour& detour) {
    const Rows* back = detour.back ? &rows(*detour.back) : nullptr;
    const auto &starts = sets_[end({way.edge, !way.from_source})], &ends = sets_[end(way)];
    std::uint64_t kept = 0, begin = 0;
    for (std::size_t a = 0; a < starts.size(); ++a) {
      if (a % kCheckedRows == 0) workers_.check();
      const std::uint64_t last = closed.offsets[a + 1];
      if (left_ == 0 && kept == begin) return;  // nothing was removed and nothing will be
      const bool looks = left_ > 0 && begin < last;
      if (looks) mark(a, starts[a], detour.out);
      for (std::uint64_t at = begin; at < last; ++at) {
        const std::uint32_t b = closed.neighbors[at];
        if (!looks || (back ? meets(*back, b, ends[b]) : marks_[b].stamp == stamp_))
          closed.neighbors[kept++] = b;
      }
      begin = last;
      closed.offsets[a + 1] = kept;
    }
    closed.neighbors.resize(kept);
  }

  // Marks the candidates that a candidate (position `a`, data vertex `vertex`) reaches along a detour.
  void mark(std::size_t a, std::uint32_t vertex, const std::vector<Way>& out) {
    ++stamp_;
    const Rows& first = rows(out[0]);
    const std::uint64_t from = first.offsets[a], to = first.offsets[a + 1];
    spend(to - from + 1);
    if (out.size() == 1) {
      for (std::uint64_t at = from; at < to; ++at) marks_[first.neighbors[at]] = {stamp_, kManyMiddles};
      return;
    }
    const auto &middle = sets_[end(out[0])], &last = sets_[end(out[1])];
    const Rows& second = rows(out[1]);
    for (std::uint64_t at = from; at < to; ++at) {
      const std::uint32_t x = first.neighbors[at];
      spend(second.degree(x));
      for (std::uint64_t next = second.offsets[x]; next < second.offsets[x + 1]; ++next) {
        Mark& mark = marks_[second.neighbors[next]];
        mark = {stamp_, mark.stamp == stamp_ || !options_.injective ? kManyMiddles : middle[x]};
      }
    }
    if (!options_.injective) return;
    const auto place = std::lower_bound(last.begin(), last.end(), vertex);
    if (place != last.end() && *place == vertex)
      marks_[static_cast<std::size_t>(place - last.begin())].stamp = 0;
  }

  // Whether a candidate of the target (position `b`, data vertex `vertex`) is joined to a marked one that was
  // not reached over `vertex`.
  bool meets(const Rows& back, std::uint32_t b, std::uint32_t vertex) {
    for (std::uint64_t at = back.offsets[b]; at < back.offsets[b + 1]; ++at) {
      const Mark& mark = marks_[back.neighbors[at]];
      if (mark.stamp == stamp_ && mark.over != vertex) {
        spend(at - back.offsets[b] + 1);
        return true;
      }
    }
    spend(back.degree(b));
    return false;
  }

  void spend(std::uint64_t work) {
    left_ -= std::min(left_, work);
    unchecked_ += work;
    if (unchecked_ < kCheckedWork) return;
    unchecked_ = 0;
    workers_.check();
  }

  // Removes, in a few rounds, the arcs of candidates that lack an arc of some query edge.
  void drop_candidates() {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const auto lives = alive();
      bool dropped = false;
      for (EdgeRows& edge : edges_) dropped |= drop(edge, lives[edge.source], lives[edge.target]);
      if (!dropped) return;
    }
  }

  std::vector<std::vector<std::uint8_t>> alive() const {
    std::vector<std::vector<std::uint8_t>> lives;
    for (const auto& set : sets_) lives.emplace_back(set.size(), std::uint8_t{1});
    for (const EdgeRows& edge : edges_) {
      for (std::size_t a = 0; a < lives[edge.source].size(); ++a)
        if (edge.forward.degree(a) == 0) lives[edge.source][a] = 0;
      for (std::size_t b = 0; b < lives[edge.target].size(); ++b)
        if (edge.backward.degree(b) == 0) lives[edge.target][b] = 0;
    }
    return lives;
  }

  bool drop(EdgeRows& edge, const std::vector<std::uint8_t>& sources,
            const std::vector<std::uint8_t>& targets) {
    Rows& forward = edge.forward;
    std::uint64_t kept = 0, begin = 0;
    for (std::size_t a = 0; a < sources.size(); ++a) {
      if (a % kCheckedRows == 0) workers_.check();
      const std::uint64_t last = forward.offsets[a + 1];
      for (std::uint64_t at = begin; at < last; ++at)
        if (sources[a] && targets[forward.neighbors[at]]) forward.neighbors[kept++] = forward.neighbors[at];
      begin = last;
      forward.offsets[a + 1] = kept;
    }
    if (kept == forward.neighbors.size()) return false;
    forward.neighbors.resize(kept);
    edge.arcs = kept;
    edge.backward = turned(forward.view(), targets.size(), workers_);
    return true;
  }

  // Removes candidates without arcs from the sets and renumbers positions.
  void renumber() {
    const auto lives = alive();
    std::vector<std::vector<std::uint32_t>> places;
    for (std::size_t u = 0; u < sets_.size(); ++u) {
      std::vector<std::uint32_t> place(sets_[u].size());
      std::exclusive_scan(lives[u].begin(), lives[u].end(), place.begin(), std::uint32_t{0});
      std::size_t kept = 0;
      for (std::size_t i = 0; i < sets_[u].size(); ++i)
        if (lives[u][i]) sets_[u][kept++] = sets_[u][i];
      sets_[u].resize(kept);
      places.push_back(std::move(place));
    }
    for (EdgeRows& edge : edges_) {
      drop(edge, lives[edge.source], lives[edge.target]);
      renumber(edge.forward, lives[edge.source], places[edge.target]);
      edge.backward = {};
    }
  }

  static void renumber(Rows& rows, const std::vector<std::uint8_t>& starts,
                       const std::vector<std::uint32_t>& places) {
    std::size_t kept = 0;
    for (std::size_t a = 0; a < starts.size(); ++a)
      if (starts[a]) rows.offsets[++kept] = rows.offsets[a + 1];
    rows.offsets.resize(kept + 1);
    for (std::uint32_t& neighbor : rows.neighbors) neighbor = places[neighbor];
  }

  std::vector<std::vector<std::uint32_t>>& sets_;
  std::vector<EdgeRows>& edges_;
  const NarrowOptions options_;
  const Workers& workers_;
  std::vector<std::vector<Way>> ways_;  // query edges by the vertex they are followed from
  std::uint64_t left_ = 0;              // elements that may still be read
  std::uint64_t unchecked_ = 0;         // elements read since the last check for cancellation
  std::vector<Mark> marks_;             // by position
  std::uint32_t stamp_ = 0;
};

}  // namespace

void narrow(std::vector<std::vector<std::uint32_t>>& sets, std::vector<EdgeRows>& edges,
            const NarrowOptions& options, const Workers& workers) {
  if (options.longest < 3) return;
  Narrowing(sets, edges, options, workers).run();
}

Rows turned(const RowsView& rows, std::size_t starts, const Workers& workers) {
  Rows result;
  result.offsets.assign(starts + 1, 0);
  const std::size_t ends = rows.offsets.empty() ? 0 : rows.offsets.size() - 1;
  for (std::size_t i = 0; i < ends; ++i) {
    if (i % kCheckedRows == 0) workers.check();
    for (std::uint64_t at = rows.offsets[i]; at < rows.offsets[i + 1]; ++at)
      ++result.offsets[rows.neighbors[at] + 1];
  }
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  std::vector<std::uint64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  result.neighbors.resize(rows.neighbors.size());
  for (std::size_t i = 0; i < ends; ++i) {
    if (i % kCheckedRows == 0) workers.check();
    for (std::uint64_t at = rows.offsets[i]; at < rows.offsets[i + 1]; ++at)
      result.neighbors[next[rows.neighbors[at]]++] = static_cast<std::uint32_t>(i);
  }
  return result;
}

}  // namespace motiflux::candidates
