// Local counts by a histogram of wedges: T_x[z] is the number of paths from x over a middle vertex to z.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "common/total.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

// Rows of the arcs from ends to middles, and from middles to ends, over the same vertices.
struct WedgeRows {
  view::Adjacency first;
  view::Adjacency second;
  std::uint32_t vertices;
};

// Middles of one kind: their rows, and the number of different middles chosen in order.
struct Middles {
  WedgeRows rows;
  int number;
};

// The wedges that count: ascending lists are cut, so that hubs are reached only from lighter vertices.
enum class Below : int { kAll = 0, kEnd = 1, kBoth = 2 };  // all; z < x; middle < x and z < x

// The sum over x, and z other than x, of the ordered choices of different middles of each kind; middles of
// two kinds may be the same. Throws std::overflow_error, or Cancelled.
Total wedge_total(std::span<const Middles> kinds, Below below, const Workers& workers);

// The same for each x.
std::vector<Total> wedges_of_ends(std::span<const Middles> kinds, const Workers& workers);

// The number of 4-cycles through each arc, counted once per ordered pair of the two other vertices; `rows`
// are symmetric.
std::vector<std::uint64_t> four_cycles_of_arcs(const view::Adjacency& rows, std::uint32_t vertices,
                                               const Workers& workers);

// The number of triangles at each arc; `rows` are symmetric.
std::vector<std::uint64_t> triangles_of_arcs(const view::Adjacency& rows, std::uint32_t vertices,
                                             const Workers& workers);

// For each vertex, the sum over the 4-cycles through it, each in both directions c, b, a, d, of the weight of
// the arc from b to a; `rows` are symmetric. Throws std::overflow_error if the weights' sum passes 62 bits.
std::vector<Total> weighted_cycles(const view::Adjacency& rows, std::uint32_t vertices,
                                   std::span<const std::uint64_t> weights, const Workers& workers);

}  // namespace motiflux::local_counts
