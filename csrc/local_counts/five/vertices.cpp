#include "local_counts/five/vertices.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <stdexcept>

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

// Sums of vertices, to which several threads add.
template <class Word>
class Sums {
 public:
  Sums(std::uint32_t vertices, const Workers& workers)
      : alone_(workers.threads == 1), words_(zeros<Word>(std::size_t{vertices} * kSums, workers)) {}

  void add(std::uint32_t vertex, std::size_t orbit, Word more) {
    if (more != 0) local_counts::add(at(vertex, orbit), more, alone_);
  }
  Word& at(std::uint32_t vertex, std::size_t orbit) { return words_[vertex * kSums + orbit - kOrbits]; }
  Uncleared<Word>& words() { return words_; }

 private:
  const bool alone_;
  Uncleared<Word> words_;
};

// Sums over the triangles of each vertex v, of numbers of the opposite edge: found from its other vertices u.
template <class Word>
class Opposites {
 public:
  Opposites(const Triangles& triangles, const OfArcs<Word>& arcs, Sums<Word>& sums, const Workers& workers)
      : triangles_(triangles), arcs_(arcs), sums_(sums), workers_(workers), edges_(triangles.vertices) {}

  void search(std::uint32_t u) {
    const view::Adjacency& rows = triangles_.rows;
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc) {
      if (const std::uint64_t closed = triangles_.closed[arc]; closed > 0)
        edges_[rows.neighbors[arc]] = {arcs_.ends[arc], arcs_.cycles[arc], squared(Word{closed}),
                                       arcs_.sides[arc], arcs_.cliques[arc]};
    }
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc) {
      if (triangles_.closed[arc] == 0) continue;
      workers_.check();
      const std::uint32_t v = rows.neighbors[arc];
      Edge sum;
      for (const std::uint32_t w : triangles_.common(arc, u, v, room_)) {
        const Edge& edge = edges_[w];
        sum.ends += edge.ends;
        sum.cycles += edge.cycles;
        sum.squares += edge.squares;
        sum.sides += edge.sides;
        sum.cliques += edge.cliques;
      }
      sums_.add(v, 46, sum.ends);
      sums_.add(v, 52, sum.cycles);
      sums_.add(v, 54, sum.squares);
      sums_.add(v, 59, sum.sides);
      sums_.add(v, 65, sum.cliques);
    }
  }

 private:
  struct Edge {
    Word ends = 0, cycles = 0, squares = 0, sides = 0, cliques = 0;
  };

  const Triangles& triangles_;
  const OfArcs<Word>& arcs_;
  Sums<Word>& sums_;
  const Workers& workers_;
  std::vector<Edge> edges_;  // from u to each neighbour; only those in triangles are read
  std::vector<std::uint32_t> room_;
};

// Sums over the subgraphs of the neighbours of each vertex.
template <class Word>
class Hubs {
 public:
  Hubs(const Triangles& triangles, OfArcs<Word>& arcs, Sums<Word>& sums, const Workers& workers)
      : arcs_(arcs), sums_(sums), workers_(workers), hub_(triangles), search_(triangles) {}

  void search(std::uint32_t vertex) {
    hub_.open(vertex);
    if (hub_.size() == 0) return;
    found_.clear(hub_.size());
    search_.add(hub_, found_, workers_);
    rims_.assign(hub_.size(), 0);
    sums_.add(vertex, 69, cycles_.add(hub_, rims_, workers_, [](std::size_t, std::uint64_t) {}));
    sums_.add(vertex, 71, found_.squares);
    sums_.add(vertex, 72, found_.own_fives);
    for (std::size_t at = 0; at < hub_.size(); ++at) {
      const std::uint32_t member = hub_.members[at];
      arcs_.cliques[hub_.arcs[at]] = found_.cliques[at];
      sums_.add(member, 66, found_.opposite[at]);
      sums_.add(member, 68, rims_[at]);
      sums_.add(member, 70, found_.apexes[at]);
      sums_.add(member, 72, found_.fives[at]);
    }
  }

 private:
  OfArcs<Word>& arcs_;
  Sums<Word>& sums_;
  const Workers& workers_;
  Hub hub_;
  HubSearch<Word> search_;
  HubCycles<Word> cycles_;
  HubSums<Word> found_{false};
  std::vector<Word> rims_;
};

// Sums over pairs of vertices with common neighbours.
template <class Word>
class VertexPairs {
 public:
  VertexPairs(const Triangles& triangles, Sums<Word>& sums, const Workers& workers)
      : triangles_(triangles), sums_(sums), workers_(workers), pairs_(triangles) {}

  void search(std::uint32_t p) {
    const view::Adjacency& rows = triangles_.rows;
    pairs_.open(p, workers_, [&](std::uint64_t first, std::uint64_t arc, Word number) {
      sums_.add(rows.neighbors[first], 64, number);
      sums_.add(rows.neighbors[arc], 64, number);
    });
    Word roofs = 0;
    for (std::uint64_t first = rows.offsets[p]; first != rows.offsets[p + 1]; ++first) {
      workers_.check();
      Word squares = 0, edges = 0;
      pairs_.for_each_behind(first, [&](std::uint64_t arc, const auto& other) {
        const Word more = other.common - 1;
        squares += squared(more);
        edges += other.edges;
        roofs += more * triangles_.closed[arc];
      });
      sums_.add(rows.neighbors[first], 49, squares);
      sums_.add(rows.neighbors[first], 62, edges);
    }
    Word opposite = 0, thrice = 0, chords = 0;
    pairs_.close([&](std::uint32_t q, const auto& other) {
      const Word twice = Word{other.common} * (other.common - 1);
      opposite += twice * rows.degree(q);
      thrice += twice * other.common;
      chords += other.edges * other.common;
    });
    sums_.add(p, 36, opposite);
    sums_.add(p, 50, thrice);
    sums_.add(p, 51, roofs);
    sums_.add(p, 63, chords);
  }

 private:
  const Triangles& triangles_;
  Sums<Word>& sums_;
  const Workers& workers_;
  Pairs<Word> pairs_;
};

template <class Word>
class VertexWalks {
 public:
  VertexWalks(const Triangles& triangles, Sums<Word>& sums, const Workers& workers)
      : sums_(sums), workers_(workers), walks_(triangles) {}

  void search(std::uint32_t x) {
    walks_.search(x, workers_, [&](std::uint32_t vertex, Word number) { sums_.add(vertex, 34, number); });
  }

 private:
  Sums<Word>& sums_;
  const Workers& workers_;
  Walks<Word> walks_;
};

// Sums over the arcs from each vertex.
template <class Word>
class Closing {
 public:
  Closing(const Triangles& triangles, const OfArcs<Word>& arcs, const OfVertices<Word>& of,
          const Trees<Word>& trees, Sums<Word>& sums, const Workers& workers)
      : rows_(triangles.rows), triangles_(triangles), arcs_(arcs), of_(of), trees_(trees), sums_(sums) {
    each_vertex(triangles, workers, [&](std::uint32_t v) { close(v); });
  }

 private:
  void close(std::uint32_t v) {
    const Word degree = rows_.degree(v);
    const auto put = [&](std::size_t orbit, Word sum) { sums_.at(v, orbit) = sum; };
    Word sums[kAllOrbits] = {};
    for (std::uint64_t arc = rows_.offsets[v]; arc != rows_.offsets[v + 1]; ++arc) {
      const std::uint32_t u = rows_.neighbors[arc];
      const std::uint64_t reverse = triangles_.reverse[arc];
      const Word closed = triangles_.closed[arc], there = rows_.degree(u);
      sums[24] += of_.tailed[u];
      sums[27] += of_.neighbors[u];
      sums[31] += of_.cornered[u];
      sums[35] += of_.cycles[u];
      sums[37] += arcs_.cycles[arc] * there;
      sums[39] += of_.squares[u];
      sums[45] += of_.apart[u];
      sums[56] += of_.cliques[u];
      if (closed == 0) continue;
      sums[25] += there * arcs_.ends[arc];
      sums[29] += closed * trees_.ends[u];
      sums[32] += closed * squared(there);
      sums[40] += there * arcs_.sides[reverse];
      sums[41] += squared(closed) * there;
      sums[43] += closed * of_.corners[u];
      sums[48] += closed * arcs_.ends[arc];
      sums[53] += closed * arcs_.cycles[arc];
      sums[55] += squared(closed) * closed;
      sums[57] += arcs_.cliques[arc] * there;
      sums[60] += closed * arcs_.sides[reverse];
      sums[61] += closed * arcs_.sides[arc];
      sums[67] += arcs_.cliques[arc] * closed;
    }
    sums[26] = degree * of_.tailed[v];
    sums[28] = degree * of_.neighbors[v];
    sums[30] = of_.corners[v] * trees_.ends[v];
    sums[33] = squared(degree) * of_.corners[v];
    sums[38] = degree * of_.cycles[v];
    sums[42] = degree * of_.squares[v];
    sums[44] = squared(of_.corners[v]);
    sums[47] = degree * of_.apart[v];
    sums[58] = degree * of_.cliques[v];
    for (const std::size_t orbit : {24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 35, 37, 38, 39, 40,
                                    41, 42, 43, 44, 45, 47, 48, 53, 55, 56, 57, 58, 60, 61, 67})
      put(orbit, sums[orbit]);
    const auto of_trees = trees_.of(v);
    for (std::size_t at = 0; at < of_trees.size(); ++at) put(kOrbits + at, of_trees[at]);
  }

  const view::Adjacency rows_;
  const Triangles& triangles_;
  const OfArcs<Word>& arcs_;
  const OfVertices<Word>& of_;
  const Trees<Word>& trees_;
  Sums<Word>& sums_;
};

template <class Word>
Uncleared<Word> all_sums(const view::Adjacency& rows, std::uint32_t vertices, const Trees<Word>& trees,
                         const Workers& workers) {
  const Triangles triangles(rows, vertices, workers);
  Sums<Word> sums(vertices, workers);
  OfArcs<Word> arcs(triangles.closed.size());
  arcs.cycles = four_cycles_of_arcs(rows, vertices, workers);
  search_all(rows, vertices, workers,
             [&] { return std::make_unique<Sides<Word>>(triangles, arcs, workers); });
  search_all(rows, vertices, workers,
             [&] { return std::make_unique<Hubs<Word>>(triangles, arcs, sums, workers); });
  search_all(rows, vertices, workers,
             [&] { return std::make_unique<Opposites<Word>>(triangles, arcs, sums, workers); });
  search_all(rows, vertices, workers,
             [&] { return std::make_unique<VertexPairs<Word>>(triangles, sums, workers); });
  search_all(rows, vertices, workers,
             [&] { return std::make_unique<VertexWalks<Word>>(triangles, sums, workers); });
  Closing<Word>(triangles, arcs, OfVertices<Word>(triangles, arcs, workers), trees, sums, workers);
  return std::move(sums.words());
}

}  // namespace

Uncleared<std::uint64_t> sums_of_vertices(const view::Adjacency& rows, std::uint32_t vertices,
                                          const Workers& workers) {
  return all_sums<std::uint64_t>(rows, vertices, Trees<std::uint64_t>(rows, vertices, workers), workers);
}

Orbits all_orbits_of_vertices(const view::Adjacency& rows, std::uint32_t vertices,
                              std::span<const std::uint64_t> coefficients, const Workers& workers) {
  const Orbits small = orbits_of_vertices(rows, vertices, workers);
  const Equations equations(coefficients, kOrbits, kAllOrbits);
  const double most = greatest_number_of_trees(rows, vertices, workers);
  if (most * static_cast<double>(equations.greatest()) < 0x1p63) {
    const Trees<std::uint64_t> trees(rows, vertices, workers);
    return equations.solved(small, all_sums(rows, vertices, trees, workers), vertices, workers);
  }
  // Numbers of 128 bits have no atomic additions.
  const Workers one{1, workers.stop};
  const Trees<Total> trees(rows, vertices, one);
  return equations.solved(small, all_sums(rows, vertices, trees, one), vertices, workers);
}

}  // namespace motiflux::local_counts::five
