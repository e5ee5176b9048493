// Edges and values of random graphs, drawn by number: a call that draws numbers first..first+size-1 gets the
// same items as a call that draws all. Random numbers come from motiflux/random/philox.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "motiflux/generate/rmat.hpp"
#include "motiflux/random/permutation.hpp"

namespace motiflux::generate {

// The numbers of the items that a call draws: `given`, as many as items, or first, first + 1, ... where it is
// empty.
struct Numbers {
  std::uint64_t first = 0;
  std::span<const std::uint64_t> given = {};

  std::uint64_t operator[](std::size_t i) const { return given.empty() ? first + i : given[i]; }
};

// The output of edges; both spans have the same size.
struct Ends {
  std::span<std::uint32_t> sources;
  std::span<std::uint32_t> targets;
};

struct Edges {
  std::vector<std::uint32_t> sources;
  std::vector<std::uint32_t> targets;
};

void draw_rmat(const Rmat& rmat, std::uint64_t first, Ends out, const Workers& workers);

// Edges number first, ... of a random order of all pairs of `vertices` vertices, without repeats.
void draw_pairs(std::uint64_t seed, std::uint64_t vertices, bool directed, std::uint64_t first, Ends out,
                const Workers& workers);

// Draws each pair with the same probability in (0, 1), among the pairs of the blocks first..last-1 of `block`
// numbers each.
Edges skip_pairs(std::uint64_t seed, std::uint64_t vertices, bool directed, double probability,
                 std::uint64_t block, std::uint64_t first, std::uint64_t last, const Workers& workers);

// The distribution of a drawn vertex: floor(vertices u^power) for u in [0, 1), then permuted by `ids`, if
// any.
struct Skew {
  std::uint64_t vertices;
  double power;
  bool permutes;
  random::Permutation ids;
};

// Draws sources and targets independently, again while they are equal.
void draw_skewed(std::uint64_t seed, std::uint32_t stream, const Skew& source, const Skew& target,
                 bool directed, const Numbers& numbers, Ends out, const Workers& workers);

// Numbers of [0, 1).
void draw_units(std::uint64_t seed, std::uint32_t stream, const Numbers& numbers, std::span<double> out,
                const Workers& workers);

// Code k if a number of 0..2^32-1 is below ends[k] and not below ends[k - 1]; the last code if it is below
// none.
void draw_codes(std::uint64_t seed, std::uint32_t stream, std::span<const std::uint32_t> ends,
                const Numbers& numbers, std::span<std::uint32_t> out, const Workers& workers);

// Moves each distinct edge to the front, ascending by source, then target; returns their number. The elements
// behind them are undefined then, and all of them after an exception.
std::size_t keep_distinct(Ends edges, const Workers& workers);

// Moves an edge to the front, in their order, unless one of its ends has `most` edges that were moved before;
// returns their number. The elements behind them are undefined then.
std::size_t keep_first_at_each(Ends edges, std::uint64_t vertices, std::uint32_t most,
                               const Workers& workers);

}  // namespace motiflux::generate
