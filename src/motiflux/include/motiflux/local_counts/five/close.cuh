// Sums over the row of each vertex, in three passes: those of the last need numbers of the neighbours' rows.
// Sums at edges need the first two.
#pragma once

#include "motiflux/local_counts/five/arrays.cuh"

namespace motiflux::local_counts {

struct CloseArgs {
  FiveGraph graph;
  Frame frame;
  std::uint64_t* of;   // [kRowSums][vertices]
  std::uint64_t step;  // of the three passes
};

class RowCloser {
 public:
  MOTIFLUX_DEVICE RowCloser(const CloseArgs& args) : args_(args), graph_(args.graph) {}

  MOTIFLUX_DEVICE void run() {
    const std::uint32_t warps = gridDim.x * (blockDim.x / Lanes::kLanes);
    for (std::uint64_t after = lanes_.in_grid(); after < graph_.vertices; after += warps) {
      v_ = static_cast<std::uint32_t>(graph_.vertices - 1 - after);  // the last rows are the longest
      switch (args_.step) {
        case 0:
          sum_arcs();
          break;
        case 1:
          sum_neighbors();
          break;
        default:
          sum_all();
      }
    }
  }

 private:
  MOTIFLUX_DEVICE std::uint64_t& of(RowSum which, std::uint32_t vertex) const {
    return args_.of[which * graph_.vertices + vertex];
  }

  // Adds up use(arc, neighbour, numbers) over the row; calls put(at, sum) with each of its sums on one lane.
  template <std::uint32_t size, class Use, class Put>
  MOTIFLUX_DEVICE void over_row(Use&& use, Put&& put) const {
    std::uint64_t numbers[size] = {};
    for (std::uint64_t arc = graph_.rows.offsets[v_] + lanes_.lane(); arc < graph_.rows.offsets[v_ + 1];
         arc += Lanes::kLanes)
      use(arc, graph_.rows.neighbors[arc], numbers);
#pragma unroll
    for (std::uint32_t at = 0; at < size; ++at) {
      const std::uint64_t found = lanes_.sum(numbers[at]);
      if (lanes_.lane() == at % Lanes::kLanes) put(at, found);
    }
  }

  MOTIFLUX_DEVICE void sum_arcs() const {
    over_row<kSeconds>(
        [&](std::uint64_t arc, std::uint32_t u, std::uint64_t* n) {
          const std::uint64_t degree = graph_.rows.degree(u), closed = graph_.closed[arc];
          n[kEnds] += degree;
          n[kSquares] += squared(degree);
          n[kCubes] += squared(degree) * degree;
          n[kCycles] += graph_.squares[arc];
          if (closed == 0) return;
          n[kCorners] += closed;
          n[kTailed] += closed * degree;
          n[kClosed] += squared(closed);
          n[kCliques] += graph_.cliques[arc];
          n[kApart] += graph_.sides[graph_.reverse[arc]];
        },
        [&](std::uint32_t at, std::uint64_t sum) { of(static_cast<RowSum>(at), v_) = sum; });
  }

  MOTIFLUX_DEVICE void sum_neighbors() const {
    over_row<4>(
        [&](std::uint64_t, std::uint32_t u, std::uint64_t* n) {
          n[0] += of(kEnds, u);
          n[1] += of(kSquares, u);
          n[2] += graph_.rows.degree(u) * of(kEnds, u);
          n[3] += of(kCorners, u);
        },
        [&](std::uint32_t at, std::uint64_t sum) { of(static_cast<RowSum>(kSeconds + at), v_) = sum; });
  }

  MOTIFLUX_DEVICE void sum_all() const {
    // Of the neighbours' rows, then of the triangles at arcs.
    constexpr std::uint32_t kOrbitsOf[] = {15, 24, 27, 31, 35, 37, 39, 45, 56, 25, 29,
                                           32, 40, 41, 43, 48, 53, 55, 57, 60, 61, 67};
    over_row<22>(
        [&](std::uint64_t arc, std::uint32_t u, std::uint64_t* n) {
          const std::uint64_t there = graph_.rows.degree(u), closed = graph_.closed[arc];
          const std::uint64_t cycles = graph_.squares[arc];
          n[0] += of(kSeconds, u);
          n[1] += of(kTailed, u);
          n[2] += of(kNeighbors, u);
          n[3] += of(kCorners, u) * there;
          n[4] += of(kCycles, u);
          n[5] += cycles * there;
          n[6] += of(kClosed, u);
          n[7] += of(kApart, u);
          n[8] += of(kCliques, u);
          if (closed == 0) return;
          const std::uint64_t ends = graph_.ends[arc], cliques = graph_.cliques[arc];
          const std::uint64_t sides = graph_.sides[arc], back = graph_.sides[graph_.reverse[arc]];
          n[9] += there * ends;
          n[10] += closed * of(kEnds, u);
          n[11] += closed * squared(there);
          n[12] += there * back;
          n[13] += squared(closed) * there;
          n[14] += closed * of(kCorners, u);
          n[15] += closed * ends;
          n[16] += closed * cycles;
          n[17] += squared(closed) * closed;
          n[18] += cliques * there;
          n[19] += closed * back;
          n[20] += closed * sides;
          n[21] += cliques * closed;
        },
        [&](std::uint32_t at, std::uint64_t sum) { graph_.sum(kOrbitsOf[at], v_) = sum; });
    if (lanes_.leads()) close();
  }

  // Writes the sums that are products of numbers of the vertex.
  MOTIFLUX_DEVICE void close() const {
    const std::uint64_t own = graph_.rows.degree(v_), ends = of(kEnds, v_), corners = of(kCorners, v_);
    const auto put = [&](std::uint32_t orbit, std::uint64_t sum) { graph_.sum(orbit, v_) = sum; };
    put(16, own * of(kSeconds, v_));
    put(17, squared(ends));
    put(18, of(kForks, v_));
    put(19, of(kTreeSides, v_));
    put(20, own * of(kSquares, v_));
    put(21, squared(own) * ends);
    put(22, of(kCubes, v_));
    put(23, squared(squared(own)));
    put(26, own * of(kTailed, v_));
    put(28, own * of(kNeighbors, v_));
    put(30, corners * ends);
    put(33, squared(own) * corners);
    put(38, own * of(kCycles, v_));
    put(42, own * of(kClosed, v_));
    put(44, squared(corners));
    put(47, own * of(kApart, v_));
    put(58, own * of(kCliques, v_));
    graph_.sum(69, v_) /= 4;  // each 4-cycle was found from its four members (hub.cuh)
  }

  const CloseArgs& args_;
  const FiveGraph& graph_;
  Lanes lanes_;
  std::uint32_t v_ = 0;
};

// The body of the kernel.
MOTIFLUX_DEVICE void close_rows(const CloseArgs& args) {
  RowCloser(args).run();
}

}  // namespace motiflux::local_counts
