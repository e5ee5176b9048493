// The numbers of induced subgraphs of each vertex or edge, from sums that are linear in them.
//
// Sums and products wrap; results do not, since each is divided when all else was subtracted. The caller has
// seen to that each result, times its coefficient, is below 2^61.
#pragma once

#include "motiflux/local_counts/five/arrays.cuh"

namespace motiflux::local_counts {

struct SolveArgs {
  const std::uint64_t* small;         // [places][small numbers]: of the first orbits
  const std::uint64_t* sums;          // [sums][places]
  const std::uint64_t* coefficients;  // [sums][all numbers]
  std::uint64_t* orbits;              // [places][all orbits]
  Frame frame;
  std::uint64_t places;
  std::uint32_t known;  // numbers that are no unknowns: the first orbits, and for edges the edge alone before
  std::uint32_t unknown;  // as many as sums; sum s has number `known + s`, and later ones
  std::uint32_t unnamed;  // 1 for edges: the first number is 1, and no orbit
  std::uint32_t unused;
};

// The body of the kernel: a thread for each place. A sum that is no multiple of its coefficient is a failure.
MOTIFLUX_DEVICE void solve_orbits(const SolveArgs& args) {
  bool failed = false;
  const std::uint32_t known = args.known - args.unnamed, all = args.known + args.unknown,
                      first = args.unnamed;
  for (std::uint64_t place = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; place < args.places;
       place += std::uint64_t{gridDim.x} * blockDim.x) {
    std::uint64_t* const numbers = args.orbits + place * (all - first);
    for (std::uint32_t at = 0; at < known; ++at) numbers[at] = args.small[place * known + at];
    for (std::uint32_t sum = args.unknown; sum-- > 0;) {
      const std::uint64_t* const of = args.coefficients + std::uint64_t{sum} * all;
      std::uint64_t rest = args.sums[sum * args.places + place];
      if (first != 0) rest -= of[0];
      for (std::uint32_t at = first; at < args.known; ++at) rest -= of[at] * numbers[at - first];
      for (std::uint32_t at = args.known + sum + 1; at < all; ++at) rest -= of[at] * numbers[at - first];
      const std::uint64_t own = of[args.known + sum];
      failed |= rest % own != 0;
      numbers[known + sum] = rest / own;
    }
  }
  fail(args.frame, failed);
}

}  // namespace motiflux::local_counts
