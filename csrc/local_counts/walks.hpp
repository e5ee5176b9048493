// Local counts of two vertices that need not be joined, for one of them at a time: from each vertex a, the
// number of ways to reach every other vertex.
//
//   register 0:  value[x] = 1 for each neighbour x of a              kSeed
//   register 1:  value[b] = sum of register 0 over neighbours of b   kPush
//   the answer:  sum over edges b, c of value[b] * value[c]          kEdges: 5-cycles and degenerate ones
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "common/total.hpp"
#include "local_counts/words.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

enum class Move : int {
  kSeed = 0,   // into[v] = weight, of the arcs from a
  kPush = 1,   // into[v] = sum over the arcs to v of weight * from
  kPull = 2,   // into[v] *= (sum over the arcs of v of weight * from) ^ power
  kEnds = 3,   // into[v] *= (number of arcs of v) ^ power
  kTimes = 4,  // into[v] *= from[v] ^ power
  kScale = 5,  // into[v] *= weight of v
  kPower = 6,  // into[v] = into[v] ^ power
};

// One step of a walk. Rows of kPush go from `from` to `into`, rows of kPull and kEnds back.
struct Step {
  Move move;
  std::size_t into;
  std::size_t from;
  view::Adjacency rows;                    // kSeed, kPush, kPull, kEnds
  std::span<const std::uint64_t> weights;  // of arcs, or of vertices; empty: all 1
  int power;
  bool below;  // only arcs to vertices less than a
};

enum class Finish : int {
  kSum = 0,    // the sum of the last register's values
  kEdges = 1,  // the sum over the arcs of value times value
  kArcs = 2,   // its value at each arc from a
};

struct Walk {
  std::vector<Step> steps;
  std::size_t registers;  // the result is in the last step's register
  bool apart;             // walks do not return to a
  Finish finish;
  view::Adjacency rows;  // of kEdges, symmetric; of kArcs
  std::uint32_t vertices;
};

// A number for each a, or for each arc. Throws std::overflow_error beyond 128 bits.
OwnedTable walk_counts(const Walk& walk, const Workers& workers);

// The work of the walks from each of some vertices, in entries of rows read; stops after the first vertices
// whose work exceeds `most` in total. A walk that takes many times as much is left, and the rest of its work
// estimated.
std::vector<double> walk_work(const Walk& walk, std::span<const std::uint32_t> roots, double most);

}  // namespace motiflux::local_counts
