// Random graphs with the degrees of a given one, by swaps of the ends of two edges.
//
//   a -> b      a    b          a - b      a   b           a -> b        a <- b
//           to    \/                   to    X     or                to             (of three arcs)
//   c -> d      c /\ d          c - d      c   d           \  c  /       /  c  \.
//
// A swap that would make a self-loop or an edge that is there is left out. So is one that would change what
// else is to be kept. A proposal is as likely as its inverse and proposals are independent of the graph's
// state, so in the long run all graphs that can be reached are equally likely. Reversed 3-cycles join
// directed graphs that swaps alone do not (Rao, Jana and Bandyopadhyay, Sankhya A, 1996).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"

namespace motiflux::census {

struct Wiring {
  std::uint32_t vertices;
  bool directed;
  bool keeps_mutual;  // of directed ones: mutual arcs stay mutual pairs, and no other pair becomes mutual
  // The edges of all layers, one layer after the other; edges of two layers may join the same vertices. Those
  // of a layer ascend by source, and are different.
  std::span<const std::uint32_t> sources;
  std::span<const std::uint32_t> targets;
  std::span<const std::uint64_t> layers;  // the end of each layer
  std::span<const std::uint32_t>
      labels;  // of vertices, if the labels of the ends of edges are kept; else empty
};

struct Rewired {
  std::vector<std::uint32_t> sources, targets;
  std::uint64_t swaps = 0;  // proposals that were done
};

// A random graph: `proposals` for each edge of a layer, drawn by `seed` and the number of the graph. Equal
// arguments give equal graphs. Throws Cancelled.
Rewired rewired(const Wiring& wiring, double proposals, std::uint64_t seed, std::uint64_t number,
                const Workers& workers);

// How a chain of swaps leaves the given graph behind: after each of `rounds` rounds of one proposal for each
// edge, the number of edges of the given graph, and the number of swaps so far.
struct Overlaps {
  std::vector<std::uint64_t> kept, swaps;
};
Overlaps overlaps(const Wiring& wiring, std::uint64_t rounds, std::uint64_t seed, const Workers& workers);

}  // namespace motiflux::census
