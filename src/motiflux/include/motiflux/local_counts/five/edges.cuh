// What numbers of the ends u, v of each edge, and of its arcs, give: the orbits of up to four vertices, and
// sums of orbits of five.
#pragma once

#include "motiflux/local_counts/five/arrays.cuh"

namespace motiflux::local_counts {

struct EdgeArgs {
  FiveGraph graph;          // without sums if only `small` is to be written
  view::Adjacency above;    // arcs to greater vertices: the edges
  const std::uint64_t* of;  // [kRowSums][vertices]
  std::uint64_t* small;     // [edges][kSmallEdgeOrbits]
  Frame frame;
};

class EdgeCloser {
 public:
  MOTIFLUX_DEVICE EdgeCloser(const EdgeArgs& args) : args_(args), graph_(args.graph) {}

  // A warp takes a vertex, each lane an edge.
  MOTIFLUX_DEVICE void run() {
    const Lanes lanes;
    const std::uint32_t warps = gridDim.x * (blockDim.x / Lanes::kLanes);
    bool failed = false;
    for (std::uint64_t u = lanes.in_grid(); u < graph_.vertices; u += warps) {
      const std::uint64_t begin = args_.above.offsets[u], size = args_.above.offsets[u + 1] - begin;
      const std::uint64_t first = graph_.rows.offsets[u + 1] - size;
      for (std::uint64_t at = lanes.lane(); at < size; at += Lanes::kLanes) {
        const Arc arc = arc_of(static_cast<std::uint32_t>(u), first + at);
        const Arc back = arc_of(arc.to, graph_.reverse[first + at]);
        failed |= write_small(begin + at, arc, back);
        if (graph_.sums != nullptr) write_sums(static_cast<std::uint32_t>(begin + at), arc, back);
      }
    }
    fail(args_.frame, failed);
  }

 private:
  struct Arc {
    std::uint32_t from, to;
    std::uint64_t degree;  // of the source
    std::uint64_t closed, cycles;
    std::uint64_t ends, sides, cliques;  // 0 without triangles
  };

  MOTIFLUX_DEVICE Arc arc_of(std::uint32_t from, std::uint64_t arc) const {
    const std::uint64_t closed = graph_.closed[arc];
    Arc found{from, graph_.rows.neighbors[arc], graph_.rows.degree(from), closed, graph_.squares[arc], 0, 0,
              0};
    if (closed == 0) return found;
    found.ends = graph_.ends[arc];
    found.sides = graph_.sides[arc];
    found.cliques = graph_.cliques[arc];
    return found;
  }

  MOTIFLUX_DEVICE std::uint64_t of(RowSum which, std::uint32_t vertex) const {
    return args_.of[which * graph_.vertices + vertex];
  }

  MOTIFLUX_DEVICE static std::uint64_t pairs_among(std::uint64_t number) {
    return number < 2 ? 0 : number * (number - 1) / 2;
  }

  // Writes the induced numbers; returns whether one passed 63 bits.
  MOTIFLUX_DEVICE bool write_small(std::uint64_t edge, const Arc& arc, const Arc& back) const {
    const std::uint64_t a = arc.degree - 1, b = back.degree - 1;  // other neighbours
    const std::uint64_t closed = arc.closed;
    std::uint64_t n[kSmallEdgeOrbits];
    n[0] = a + b - 2 * closed;
    n[1] = closed;
    n[2] = of(kEnds, arc.from) - arc.degree + of(kEnds, arc.to) - back.degree - a - b - 2 * closed;
    n[3] = a * b - closed;
    n[4] = pairs_among(a) + pairs_among(b);
    n[5] = arc.cycles;
    n[6] = of(kCorners, arc.from) / 2 + of(kCorners, arc.to) / 2 - 2 * closed;
    n[7] = arc.ends - 2 * closed;
    n[8] = closed * (arc.degree + back.degree - 4);
    n[9] = arc.sides + back.sides - 2 * closed;
    n[10] = pairs_among(closed);
    n[11] = arc.cliques / 2;
    // Each subgraph has the edge in the place of sparser ones on the same vertices so often.
    n[10] -= n[11];
    n[9] -= 4 * n[11];
    n[8] -= n[9] + 4 * n[10] + 4 * n[11];
    n[7] -= n[9] + 2 * n[11];
    n[6] -= n[9] + 2 * n[11];
    n[5] -= n[9] + 2 * n[11];
    n[4] -= n[6] + n[8] + n[9] + 2 * n[10] + 2 * n[11];
    n[3] -= n[5] + n[8] + n[9] + 2 * n[10] + 2 * n[11];
    n[2] -= 2 * n[5] + 2 * n[6] + 2 * n[7] + 3 * n[9] + 4 * n[11];
    bool passed = false;
    for (std::uint32_t orbit = 0; orbit < kSmallEdgeOrbits; ++orbit) {
      passed |= n[orbit] >> 63 != 0;
      args_.small[edge * kSmallEdgeOrbits + orbit] = n[orbit];
    }
    return passed;
  }

  MOTIFLUX_DEVICE void write_sums(std::uint32_t edge, const Arc& arc, const Arc& back) const {
    const auto put = [&](std::uint32_t orbit, auto&& number) {
      graph_.edge_sum(orbit, edge) = number(arc, back.degree) + number(back, arc.degree);
    };
    const auto put_end = [&](std::uint32_t orbit, RowSum which) {
      graph_.edge_sum(orbit, edge) = of(which, arc.from) + of(which, arc.to);
    };
    using Number = std::uint64_t;
    put_end(12, kSeconds);
    put(13, [&](const Arc& at, Number there) { return there * of(kEnds, at.from); });
    put_end(14, kSquares);
    put(15, [&](const Arc& at, Number) { return at.degree * of(kEnds, at.from); });
    put(16, [&](const Arc& at, Number there) { return squared(at.degree) * there; });
    put(17, [&](const Arc& at, Number) { return squared(at.degree) * at.degree; });
    put_end(18, kTailed);
    put_end(21, kNeighbors);
    put(22, [&](const Arc& at, Number there) { return of(kCorners, at.from) * there; });
    put(25, [&](const Arc& at, Number) { return of(kCorners, at.from) * at.degree; });
    put_end(29, kCycles);
    put(31, [&](const Arc& at, Number) { return at.cycles * at.degree; });
    put_end(32, kClosed);
    put_end(38, kApart);
    put_end(49, kCliques);
    put(19, [&](const Arc& at, Number) { return at.degree * at.ends; });
    put(20, [&](const Arc& at, Number there) { return at.closed * at.degree * there; });
    put(24, [&](const Arc& at, Number) { return at.closed * of(kEnds, at.from); });
    put(27, [&](const Arc& at, Number) { return at.closed * squared(at.degree); });
    put(34, [&](const Arc& at, Number) { return at.degree * at.sides; });
    put(35, [&](const Arc& at, Number) { return squared(at.closed) * at.degree; });
    put(37, [&](const Arc& at, Number) { return at.closed * of(kCorners, at.from); });
    put(40, [&](const Arc& at, Number there) { return there * at.sides; });
    put(41, [&](const Arc& at, Number) { return at.closed * at.ends; });
    put(46, [&](const Arc& at, Number) { return at.closed * at.cycles; });
    put(48, [&](const Arc& at, Number) { return squared(at.closed) * at.closed; });
    put(51, [&](const Arc& at, Number) { return at.cliques * at.degree; });
    put(55, [&](const Arc& at, Number) { return at.closed * at.sides; });
    put(62, [&](const Arc& at, Number) { return at.cliques * at.closed; });
  }

  const EdgeArgs& args_;
  const FiveGraph& graph_;
};

// The body of the kernel.
MOTIFLUX_DEVICE void close_edges(const EdgeArgs& args) {
  EdgeCloser(args).run();
}

}  // namespace motiflux::local_counts
