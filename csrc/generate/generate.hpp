// Edges and values of random graphs, drawn by number: a call that draws numbers first..first+size-1 gets the
// same as a call that draws them all. Numbers come from motiflux/random/philox.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "motiflux/generate/rmat.hpp"
#include "motiflux/random/permutation.hpp"

namespace motiflux::generate {

// Where edges are drawn to; both have one size.
struct Ends {
  std::span<std::uint32_t> sources;
  std::span<std::uint32_t> targets;
};

struct Edges {
  std::vector<std::uint32_t> sources;
  std::vector<std::uint32_t> targets;
};

void draw_rmat(const Rmat& rmat, std::uint64_t first, Ends out, const Workers& workers);

// Edges number first, ... of a random order of all pairs of `vertices` vertices: no two are the same.
void draw_pairs(std::uint64_t seed, std::uint64_t vertices, bool directed, std::uint64_t first, Ends out,
                const Workers& workers);

// The pairs that come up, each with the same probability in (0, 1), among those of the blocks first..last-1
// of `block` numbers each.
Edges skip_pairs(std::uint64_t seed, std::uint64_t vertices, bool directed, double probability,
                 std::uint64_t block, std::uint64_t first, std::uint64_t last, const Workers& workers);

// How often a vertex is drawn: floor(vertices u^power) for u in [0, 1), then sent through `ids` if it
// permutes.
struct Skew {
  std::uint64_t vertices;
  double power;
  bool permutes;
  random::Permutation ids;
};

// Sources and targets on their own, drawn again while they are equal.
void draw_skewed(std::uint64_t seed, std::uint32_t stream, const Skew& source, const Skew& target,
                 bool directed, std::uint64_t first, Ends out, const Workers& workers);

// Numbers of [0, 1).
void draw_units(std::uint64_t seed, std::uint32_t stream, std::uint64_t first, std::span<double> out,
                const Workers& workers);

// Code k where a number of 0..2^32-1 is below ends[k] and not below ends[k - 1]; the last code where it is
// below none.
void draw_codes(std::uint64_t seed, std::uint32_t stream, std::span<const std::uint32_t> ends,
                std::uint64_t first, std::span<std::uint32_t> out, const Workers& workers);

// Moves each edge once to the front, ascending by source, then target; returns how many they are. What is
// behind them is of no use then, nor is any of it if this throws.
std::size_t keep_distinct(Ends edges, const Workers& workers);

}  // namespace motiflux::generate
