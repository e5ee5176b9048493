// One edge of an R-MAT graph (Chakrabarti, Zhan and Faloutsos, SDM 2004): it falls into one quadrant of the
// adjacency matrix, into one quadrant of that, and so on, one bit of both ids at each level.
#pragma once

#include "motiflux/platform.hpp"
#include "motiflux/random/permutation.hpp"
#include "motiflux/random/philox.hpp"

namespace motiflux::generate {

inline constexpr std::uint32_t kMaxLevels = 31;
inline constexpr std::uint32_t kRmatStream = 1;
// Parts of the random stream per attempt at an edge: four levels each.
inline constexpr std::uint32_t kPartsOfAttempt = 8;

// The ends of the first three of the four quadrants, as parts of 2^31.
struct Quadrants {
  std::uint32_t end[3];
};

struct Rmat {
  std::uint64_t seed;
  random::Permutation ids;          // of 0..2^levels-1
  Quadrants quadrants[kMaxLevels];  // per level, the most significant bit first
  std::uint32_t levels;
  std::uint32_t permutes;    // whether ids are permuted
  std::uint32_t undirected;  // whether the smaller id comes first
};

struct Edge {
  std::uint32_t source;
  std::uint32_t target;
};

// Edge number `index`. A self-loop is drawn again, with new numbers.
MOTIFLUX_HOST_DEVICE inline Edge rmat_edge(const Rmat& rmat, std::uint64_t index) {
  Edge edge;
  std::uint32_t part = 0;
  do {
    edge = {0, 0};
    for (std::uint32_t level = 0; level < rmat.levels; level += 4) {
      const random::Words words = random::draw(rmat.seed, kRmatStream, index, part + level / 4);
      for (std::uint32_t i = 0; i < 4 && level + i < rmat.levels; ++i) {
        const Quadrants& quadrants = rmat.quadrants[level + i];
        const std::uint32_t drawn = words.word[i] >> 1;
        const std::uint32_t below = drawn >= quadrants.end[1];
        const std::uint32_t right = (drawn >= quadrants.end[0]) ^ below ^ (drawn >= quadrants.end[2]);
        edge.source = edge.source << 1 | below;
        edge.target = edge.target << 1 | right;
      }
    }
    part += kPartsOfAttempt;
  } while (edge.source == edge.target);
  if (rmat.permutes) {
    edge.source = static_cast<std::uint32_t>(random::permuted(rmat.ids, edge.source));
    edge.target = static_cast<std::uint32_t>(random::permuted(rmat.ids, edge.target));
  }
  if (rmat.undirected && edge.source > edge.target) return {edge.target, edge.source};
  return edge;
}

}  // namespace motiflux::generate
