// Local counts of two vertices that need not be joined, held for one of them at a time: from each vertex a,
// how many ways there are to reach every other vertex.
//
//   register 0:  value[x] = 1 for each neighbour x of a              kSeed
//   register 1:  value[b] = sum of register 0 over neighbours of b   kPush
//   the answer:  sum over edges b, c of value[b] * value[c]          kEdges: 5-cycles, but for what overlaps
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

// One step of a walk. Rows of kPush go from the one end to the other, those of kPull and kEnds back.
struct Step {
  Move move;
  std::size_t into;
  std::size_t from;
  view::Adjacency rows;                    // kSeed, kPush, kPull, kEnds
  std::span<const std::uint64_t> weights;  // of arcs, or of vertices; empty where all are one
  int power;
  bool below;  // arcs to vertices less than a only
};

enum class Finish : int {
  kSum = 0,    // the sum of the last register's values
  kEdges = 1,  // the sum over the arcs of value times value
  kArcs = 2,   // its value at each arc from a
};

struct Walk {
  std::vector<Step> steps;
  std::size_t registers;  // the last step's is what remains
  bool apart;             // walks do not come back to a
  Finish finish;
  view::Adjacency rows;  // of kEdges, symmetric; of kArcs
  std::uint32_t vertices;
};

// A number for each a, or for each arc. Throws std::overflow_error beyond 128 bits.
OwnedTable walk_counts(const Walk& walk, const Workers& workers);

// What the walks from some vertices take, each in entries of rows that are read; from the first ones only
// once these took `most` together.
std::vector<double> walk_work(const Walk& walk, std::span<const std::uint32_t> roots, double most);

}  // namespace motiflux::local_counts
