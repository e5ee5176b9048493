#include "local_counts/five/edges.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "common/total.hpp"
#include "local_counts/five/equations.hpp"
#include "local_counts/five/hub_cycles.hpp"
#include "local_counts/five/pairs.hpp"
#include "local_counts/five/tables.hpp"
#include "local_counts/five/trees.hpp"
#include "local_counts/five/walks.hpp"
#include "local_counts/search_all.hpp"
#include "local_counts/wedges.hpp"

namespace motiflux::local_counts::five {
namespace {

// The number of the edge of each arc.
std::vector<std::uint64_t> edges_of_arcs(const Triangles& triangles, const Workers& workers) {
  const view::Adjacency& rows = triangles.rows;
  std::vector<std::uint64_t> edges(triangles.closed.size());
  std::uint64_t next = 0;
  for (std::uint32_t u = 0; u < triangles.vertices; ++u) {
    workers.check();
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc) {
      if (rows.neighbors[arc] < u) continue;
      edges[arc] = edges[triangles.reverse[arc]] = next++;
    }
  }
  return edges;
}

// Sums of edges, to which several threads add. Each is the sum of those of both arcs.
template <class Word>
class EdgeSums {
 public:
  EdgeSums(const Triangles& triangles, const Workers& workers)
      : alone_(workers.threads == 1),
        edges_(edges_of_arcs(triangles, workers)),
        words_(zeros<Word>(edges_.size() / 2 * kEdgeSums, workers)) {}

  void add(std::uint64_t arc, std::size_t orbit, Word more) {
    if (more != 0) local_counts::add(at(arc, orbit), more, alone_);
  }
  Uncleared<Word>& words() { return words_; }

 private:
  Word& at(std::uint64_t arc, std::size_t orbit) {
    return words_[edges_[arc] * kEdgeSums + orbit - kEdgeOrbits];
  }

  const bool alone_;
  const std::vector<std::uint64_t> edges_;
  Uncleared<Word> words_;
};

// Sums over the triangles u, v, w of each arc u -> v, of numbers of w and of the arc from u to w.
template <class Word>
class EdgeSides {
 public:
  EdgeSides(const Triangles& triangles, const OfArcs<Word>& arcs, const OfVertices<Word>& of,
            const Trees<Word>& trees, EdgeSums<Word>& sums, const Workers& workers)
      : triangles_(triangles),
        arcs_(arcs),
        of_(of),
        trees_(trees),
        sums_(sums),
        workers_(workers),
        numbers_(triangles.vertices) {}

  void search(std::uint32_t u) {
    const view::Adjacency& rows = triangles_.rows;
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc) {
      if (triangles_.closed[arc] == 0) continue;
      const std::uint32_t w = rows.neighbors[arc];
      const Word closed = triangles_.closed[arc], degree = rows.degree(w);
      numbers_[w] = {
          trees_.ends[w],   squared(degree),   closed * degree, of_.corners[w],
          arcs_.ends[arc],  arcs_.cycles[arc], squared(closed), arcs_.sides[triangles_.reverse[arc]],
          arcs_.sides[arc], arcs_.cliques[arc]};
    }
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc) {
      if (triangles_.closed[arc] == 0) continue;
      workers_.check();
      std::array<Word, kOrbitsHere.size()> sum{};
      for (const std::uint32_t w : triangles_.common(arc, u, rows.neighbors[arc], room_))
        for (std::size_t at = 0; at < sum.size(); ++at) sum[at] += numbers_[w][at];
      for (std::size_t at = 0; at < sum.size(); ++at) sums_.add(arc, kOrbitsHere[at], sum[at]);
    }
  }

 private:
  static constexpr std::array<std::size_t, 10> kOrbitsHere = {23, 26, 33, 36, 39, 45, 47, 52, 53, 59};

  const Triangles& triangles_;
  const OfArcs<Word>& arcs_;
  const OfVertices<Word>& of_;
  const Trees<Word>& trees_;
  EdgeSums<Word>& sums_;
  const Workers& workers_;
  std::vector<std::array<Word, kOrbitsHere.size()>> numbers_;  // only those of triangles with u are read
  std::vector<std::uint32_t> room_;
};

// Numbers of 4-cliques at each arc, and sums over the subgraphs of the neighbours of each vertex.
template <class Word>
class EdgeHubs {
 public:
  EdgeHubs(const Triangles& triangles, OfArcs<Word>& arcs, EdgeSums<Word>& sums, const Workers& workers)
      : arcs_(arcs), sums_(sums), workers_(workers), hub_(triangles), search_(triangles) {}

  void search(std::uint32_t vertex) {
    hub_.open(vertex);
    if (hub_.size() == 0) return;
    hub_.find_arcs();
    found_.clear(hub_.size());
    search_.add(hub_, found_, workers_);
    rims_.assign(hub_.size(), 0);
    at_rims_.assign(hub_.others.size(), 0);
    cycles_.add(hub_, rims_, workers_,
                [&](std::size_t entry, std::uint64_t number) { at_rims_[entry] += number; });
    for (std::size_t entry = 0; entry < at_rims_.size(); ++entry)
      sums_.add(hub_.between[entry], 63, at_rims_[entry]);
    for (std::size_t at = 0; at < hub_.size(); ++at) {
      const std::uint64_t arc = hub_.arcs[at];
      arcs_.cliques[arc] = found_.cliques[at];
      sums_.add(arc, 50, found_.ends[at]);
      sums_.add(arc, 54, found_.fans[at]);
      sums_.add(arc, 60, found_.far[at]);
      sums_.add(arc, 61, found_.opposite[at]);
      sums_.add(arc, 64, rims_[at]);
      sums_.add(arc, 65, found_.apexes[at]);
      sums_.add(arc, 66, found_.squares_at[at]);
      sums_.add(arc, 67, found_.fives[at]);
    }
  }

 private:
  OfArcs<Word>& arcs_;
  EdgeSums<Word>& sums_;
  const Workers& workers_;
  Hub hub_;
  HubSearch<Word> search_;
  HubCycles<Word> cycles_;
  HubSums<Word> found_{true};
  std::vector<Word> rims_, at_rims_;
};

// Sums over pairs of vertices p, q with common neighbours.
template <class Word>
class EdgePairs {
 public:
  EdgePairs(const Triangles& triangles, EdgeSums<Word>& sums, const Workers& workers)
      : triangles_(triangles), sums_(sums), workers_(workers), pairs_(triangles) {}

  void search(std::uint32_t p) {
    const view::Adjacency& rows = triangles_.rows;
    pairs_.open(p, workers_, [&](std::uint64_t first, std::uint64_t arc, Word number) {
      sums_.add(first, 57, number);
      sums_.add(triangles_.arc_to(first, p, rows.neighbors[arc]), 57, number);
      sums_.add(arc, 58, number);
    });
    for (std::uint64_t first = rows.offsets[p]; first != rows.offsets[p + 1]; ++first) {
      workers_.check();
      Word ends = 0, squares = 0, roofs = 0, beside = 0, edges = 0;
      pairs_.for_each_behind(first, [&](std::uint64_t arc, const auto& other) {
        const Word more = other.common - 1, closed = triangles_.closed[arc];
        ends += more * rows.degree(rows.neighbors[arc]);
        squares += squared(more);
        roofs += other.roofs - closed;
        beside += more * closed;
        edges += other.edges;
      });
      sums_.add(first, 30, ends);
      sums_.add(first, 42, squares);
      sums_.add(first, 43, roofs);
      sums_.add(first, 44, beside);
      sums_.add(first, 56, edges);
    }
    pairs_.close([](std::uint32_t, const auto&) {});
  }

 private:
  const Triangles& triangles_;
  EdgeSums<Word>& sums_;
  const Workers& workers_;
  Pairs<Word> pairs_;
};

template <class Word>
class EdgeWalks {
 public:
  EdgeWalks(const Triangles& triangles, EdgeSums<Word>& sums, const Workers& workers)
      : sums_(sums), workers_(workers), walks_(triangles) {}

  void search(std::uint32_t x) {
    walks_.search_edges(x, workers_, [&](std::uint64_t arc, Word number) { sums_.add(arc, 28, number); });
  }

 private:
  EdgeSums<Word>& sums_;
  const Workers& workers_;
  Walks<Word> walks_;
};

// Adds what numbers of the ends u, v of each arc, and of the arc, give.
template <class Word>
void close_edges(const Triangles& triangles, const OfArcs<Word>& arcs, const OfVertices<Word>& of,
                 const Trees<Word>& trees, EdgeSums<Word>& sums, const Workers& workers) {
  const view::Adjacency& rows = triangles.rows;
  each_vertex(triangles, workers, [&](std::uint32_t u) {
    const Word own = rows.degree(u);
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc) {
      const std::uint32_t v = rows.neighbors[arc];
      const Word there = rows.degree(v), closed = triangles.closed[arc];
      const auto add = [&](std::size_t orbit, Word number) { sums.add(arc, orbit, number); };
      add(12, trees.seconds[u]);
      add(13, there * trees.ends[u]);
      add(14, trees.squares[u]);
      add(15, own * trees.ends[u]);
      add(16, squared(own) * there);
      add(17, squared(own) * own);
      add(18, of.tailed[u]);
      add(21, of.neighbors[u]);
      add(22, of.corners[u] * there);
      add(25, of.cornered[u]);
      add(29, of.cycles[u]);
      add(31, arcs.cycles[arc] * own);
      add(32, of.squares[u]);
      add(38, of.apart[u]);
      add(49, of.cliques[u]);
      if (closed == 0) continue;
      add(19, own * arcs.ends[arc]);
      add(20, closed * own * there);
      add(24, closed * trees.ends[u]);
      add(27, closed * squared(own));
      add(34, own * arcs.sides[arc]);
      add(35, squared(closed) * own);
      add(37, closed * of.corners[u]);
      add(40, there * arcs.sides[arc]);
      add(41, closed * arcs.ends[arc]);
      add(46, closed * arcs.cycles[arc]);
      add(48, squared(closed) * closed);
      add(51, arcs.cliques[arc] * own);
      add(55, closed * arcs.sides[arc]);
      add(62, arcs.cliques[arc] * closed);
    }
  });
}

template <class Word>
Uncleared<Word> all_sums_of_edges(const view::Adjacency& rows, std::uint32_t vertices,
                                  const Workers& workers) {
  const Triangles triangles(rows, vertices, workers);
  const Trees<Word> trees(rows, vertices, workers);
  EdgeSums<Word> sums(triangles, workers);
  OfArcs<Word> arcs(triangles.closed.size());
  arcs.cycles = four_cycles_of_arcs(rows, vertices, workers);
  search_all(rows, vertices, workers,
             [&] { return std::make_unique<Sides<Word>>(triangles, arcs, workers); });
  search_all(rows, vertices, workers,
             [&] { return std::make_unique<EdgeHubs<Word>>(triangles, arcs, sums, workers); });
  const OfVertices<Word> of(triangles, arcs, workers);
  search_all(rows, vertices, workers,
             [&] { return std::make_unique<EdgeSides<Word>>(triangles, arcs, of, trees, sums, workers); });
  search_all(rows, vertices, workers,
             [&] { return std::make_unique<EdgePairs<Word>>(triangles, sums, workers); });
  search_all(rows, vertices, workers,
             [&] { return std::make_unique<EdgeWalks<Word>>(triangles, sums, workers); });
  close_edges(triangles, arcs, of, trees, sums, workers);
  return std::move(sums.words());
}

// The orbits of up to four vertices of edges, each row after a 1, from those of all arcs.
Orbits without_reverse_arcs(const Orbits& of_arcs, const view::Adjacency& rows, std::uint32_t vertices,
                            const Workers& workers) {
  constexpr std::size_t kWidth = 1 + kEdgeOrbits;
  Orbits found{Uncleared<std::uint64_t>(rows.offsets[vertices] / 2 * kWidth), {}};
  std::size_t next = 0;
  std::size_t above = 0;
  std::vector<std::pair<std::size_t, Total>> sorted = of_arcs.above;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint32_t u = 0; u < vertices; ++u) {
    workers.check();
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc) {
      if (rows.neighbors[arc] < u) continue;
      const std::size_t first = arc * kEdgeOrbits;
      found.words[next] = 1;
      for (; above < sorted.size() && sorted[above].first < first + kEdgeOrbits; ++above)
        found.above.emplace_back(sorted[above].first - first + next + 1, sorted[above].second);
      std::copy_n(of_arcs.words.data() + first, kEdgeOrbits, found.words.data() + next + 1);
      next += kWidth;
    }
  }
  return found;
}

}  // namespace

Uncleared<std::uint64_t> sums_of_edges(const view::Adjacency& rows, std::uint32_t vertices,
                                       const Workers& workers) {
  return all_sums_of_edges<std::uint64_t>(rows, vertices, workers);
}

Orbits all_orbits_of_edges(const view::Adjacency& rows, std::uint32_t vertices,
                           std::span<const std::uint64_t> coefficients, const Workers& workers) {
  const Orbits small =
      without_reverse_arcs(orbits_of_edges(rows, vertices, workers), rows, vertices, workers);
  const std::size_t edges = small.words.size() / (1 + kEdgeOrbits);
  const Equations equations(coefficients, 1 + kEdgeOrbits, 1 + kAllEdgeOrbits, 1);
  // An edge is in no more subgraphs than its ends.
  const double most = greatest_number_of_trees(rows, vertices, workers);
  if (most * static_cast<double>(equations.greatest()) < 0x1p63)
    return equations.solved(small, all_sums_of_edges<std::uint64_t>(rows, vertices, workers), edges, workers);
  // Numbers of 128 bits have no atomic additions.
  const Workers one{1, workers.stop};
  return equations.solved(small, all_sums_of_edges<Total>(rows, vertices, one), edges, one);
}

}  // namespace motiflux::local_counts::five
