// Numbers of subgraphs of three and four vertices, induced or not, by the kinds of their adjacent pairs.
// Induced ones follow from them by subtraction (plan/census.py).
//
// With k kinds, each shape has an array whose index is a number of base k, a digit for each pair named below,
// the first digit the highest. kind(u, v) is seen from u.
//
//   pairs      u < v:                       uv
//   wedges     middle u, ends v, w:         uv uw             the first digit at most the second
//   triangles  u < v < w:                   uv uw vw
//   stars      middle u, ends v, w, x:      uv uw ux          ascending digits
//   paths      w-u-v-x, u < v:              uv uw vx
//   paws       triangle u, v, w, tail u-x:  uv uw vw ux       each twice: v and w exchanged
//   cycles     u-v-w-x-u:                   uv wv ux wx       u the greatest; the first two at most the
//   others diamonds   u < v, both adjacent to w, x:uv uw vw ux vx    the second two at most the last two
//   cliques    u < v < w < x:               uv uw ux vw vx wx
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "census/typed_rows.hpp"
#include "common/parallel.hpp"
#include "common/total.hpp"

namespace motiflux::census {

enum Shape : int {
  kPairs,
  kWedges,
  kTriangles,
  kStars,
  kPaths,
  kPaws,
  kCycles,
  kDiamonds,
  kCliques,
};

inline constexpr std::array<int, 9> kDigits = {1, 2, 3, 3, 3, 4, 4, 5, 6};

constexpr std::size_t power(int kinds, int digits) {
  std::size_t result = 1;
  for (int at = 0; at < digits; ++at) result *= static_cast<std::size_t>(kinds);
  return result;
}

// Where the array of a shape begins.
constexpr std::size_t first_bin(int kinds, int shape) {
  std::size_t result = 0;
  for (int at = 0; at < shape; ++at) result += power(kinds, kDigits[static_cast<std::size_t>(at)]);
  return result;
}

// The number of bins of a census of 3 or 4 vertices.
constexpr std::size_t num_bins(int kinds, int size) {
  return first_bin(kinds, size == 3 ? static_cast<int>(kStars) : static_cast<int>(kCliques) + 1);
}

// No bin passes 2^127: each subgraph has an arc, of less than 2^60, and two more vertices of less than 2^32;
// it is counted at most four times.
using Bins = std::vector<Total>;

// The bins of a graph of a census of 3 or 4 vertices, from the arcs from each vertex and to it (as
// typed_rows); of one kind, all pairs are alike. Of 4 vertices, it takes 4 kinds^2 bytes for each pair, and
// for each vertex and thread. Throws Cancelled.
Bins count_bins(const view::Adjacency& forward, const view::Adjacency& reverse, std::uint32_t vertices,
                int kinds, int size, const Workers& workers);

// Its two cases.
Bins count_triads(const view::Adjacency& forward, const view::Adjacency& reverse, std::uint32_t vertices,
                  int kinds, const Workers& workers);
Bins count_tetrads(const TypedRows& rows, int kinds, const Workers& workers);

}  // namespace motiflux::census
