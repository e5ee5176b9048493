// Numbers of arcs and vertices from which sums of five vertices are made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "local_counts/five/triangles.hpp"
#include "local_counts/search_all.hpp"

namespace motiflux::local_counts::five {

template <class Word>
Word squared(Word number) {
  return number * number;
}

// Calls use(v) for all vertices.
template <class Use>
void each_vertex(const Triangles& triangles, const Workers& workers, Use&& use) {
  const std::span offsets(triangles.rows.offsets, std::size_t{triangles.vertices} + 1);
  parallel_rows(workers, offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      workers.check();
      use(static_cast<std::uint32_t>(v));
    }
  });
}

// Numbers of each arc.
template <class Word>
struct OfArcs {
  explicit OfArcs(std::size_t arcs) : ends(arcs, 0), sides(arcs, 0), cliques(arcs, 0) {}

  std::vector<std::uint64_t> cycles;  // u -> v: its 4-cycles
  std::vector<Word> ends;             // over common neighbours w: the degree of w
  std::vector<Word> sides;            // over common neighbours w: the triangles of u w
  std::vector<Word> cliques;          // its 4-cliques, each twice
};

// Sums over the triangles at each arc, of numbers of the arcs from u.
template <class Word>
class Sides {
 public:
  Sides(const Triangles& triangles, OfArcs<Word>& arcs, const Workers& workers)
      : triangles_(triangles), arcs_(arcs), workers_(workers), closed_(triangles.vertices, 0) {}

  void search(std::uint32_t u) {
    const view::Adjacency& rows = triangles_.rows;
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc)
      closed_[rows.neighbors[arc]] = triangles_.closed[arc];
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc) {
      if (triangles_.closed[arc] == 0) continue;
      workers_.check();
      Word ends = 0, sides = 0;
      for (const std::uint32_t w : triangles_.common(arc, u, rows.neighbors[arc], room_)) {
        ends += rows.degree(w);
        sides += closed_[w];
      }
      arcs_.ends[arc] = ends;
      arcs_.sides[arc] = sides;
    }
  }

 private:
  const Triangles& triangles_;
  OfArcs<Word>& arcs_;
  const Workers& workers_;
  std::vector<std::uint64_t> closed_;  // of the arc from u to each neighbour; only these are read
  std::vector<std::uint32_t> room_;
};

// Numbers of each vertex.
template <class Word>
struct OfVertices {
  OfVertices(const Triangles& triangles, const OfArcs<Word>& arcs, const Workers& workers) {
    const view::Adjacency& rows = triangles.rows;
    for (auto* one : {&corners, &tailed, &squares, &cycles, &cliques, &apart, &cornered, &neighbors})
      one->resize(triangles.vertices, 0);
    each_vertex(triangles, workers, [&](std::uint32_t v) {
      for (std::uint64_t arc = rows.offsets[v]; arc != rows.offsets[v + 1]; ++arc) {
        const Word closed = triangles.closed[arc];
        corners[v] += closed;
        tailed[v] += closed * rows.degree(rows.neighbors[arc]);
        squares[v] += squared(closed);
        cycles[v] += arcs.cycles[arc];
        cliques[v] += arcs.cliques[arc];
        apart[v] += arcs.sides[triangles.reverse[arc]];
      }
      cornered[v] = corners[v] * rows.degree(v);
    });
    each_vertex(triangles, workers, [&](std::uint32_t v) {
      for (const std::uint32_t* u = rows.begin(v); u != rows.end(v); ++u) neighbors[v] += corners[*u];
    });
  }

  std::vector<Word> corners;    // triangles, each twice
  std::vector<Word> tailed;     // over triangles, the degrees of the two others
  std::vector<Word> squares;    // over arcs, the squares of their triangles
  std::vector<Word> cycles;     // 4-cycles, each twice
  std::vector<Word> cliques;    // 4-cliques, each six times
  std::vector<Word> apart;      // over triangles, twice the triangles of the opposite edge
  std::vector<Word> cornered;   // corners times the degree
  std::vector<Word> neighbors;  // over neighbours, their corners
};

}  // namespace motiflux::local_counts::five
