// Diamonds and 4-cliques at each vertex of symmetric rows, from the triangles at each arc.
//
// A triangle is found at its least vertex x, whose greater neighbours are the members:
//
//   many members, a block   | bits of member 0 | bits of member 1 | ... |    shared memory if they fit
//                           bit j of member i: they are adjacent
//   up to 32, a warp        bits of member i in lane i: adjacent members behind it
//
// A triangle x, y, z with t triangles at the arc from y to z makes t - 1 diamonds whose missing edge ends in
// x; likewise for y and z. A 4-clique is a triangle of members.
#pragma once

#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/local_counts/roots.cuh"
#include "motiflux/sets/span.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

struct DiamondArgs {
  view::Adjacency rows;
  view::Adjacency above;           // arcs to greater vertices: the end of each row
  const std::uint64_t* triangles;  // [arcs of rows]
  Frame frame;
  Roots roots;               // by number of members; light roots have up to 32
  std::uint32_t near_words;  // words of a block in shared memory, behind the scratch
  std::uint32_t unused;
  std::uint64_t far_words;  // words of a block in device memory, zero; none if the longest row needs none
  std::uint32_t* far;
  std::uint64_t* cliques;  // [vertices], zero: twice the 4-cliques
  std::uint64_t* apart;    // [vertices], zero: diamonds in which the vertex is an end of the missing edge
};

class DiamondCounter {
 public:
  MOTIFLUX_DEVICE DiamondCounter(const DiamondArgs& args, unsigned char* shared)
      : args_(args),
        scratch_(*reinterpret_cast<Scratch*>(shared)),
        near_(reinterpret_cast<std::uint32_t*>(shared + kScratchBytes)),
        team_{lanes_.in_block(), blockDim.x / Lanes::kLanes} {}

  MOTIFLUX_DEVICE void run() {
    for (std::uint32_t at = threadIdx.x; at < args_.near_words; at += blockDim.x) near_[at] = 0;
    for_each_heavy(args_.roots, args_.frame, scratch_,
                   [&](std::uint32_t x, std::uint32_t size, std::uint64_t) { take_heavy(x, size); });
    for_each_light(args_.roots, args_.frame, lanes_,
                   [&](std::uint32_t x, std::uint32_t size) { take_light(x, size); });
  }

 private:
  // Whether to stop, for all lanes alike.
  MOTIFLUX_DEVICE bool stopped() const {
    return lanes_.broadcast(static_cast<std::uint32_t>(lanes_.leads() && is_stopped(args_.frame))) != 0;
  }

  // The triangles at the arcs to the greater neighbours of a vertex.
  MOTIFLUX_DEVICE const std::uint64_t* triangles_above(std::uint32_t vertex) const {
    return args_.triangles + (args_.rows.offsets[vertex + 1] - args_.above.degree(vertex));
  }

  // Calls use(j) on some lane for each member j behind member i that is adjacent to it, and adds the diamonds
  // of their triangles with x at y and z. Returns those at x, each lane its share.
  template <class Use>
  MOTIFLUX_DEVICE std::uint64_t walk(std::uint32_t x, std::uint32_t i, Use&& use) const {
    const sets::Span members{args_.above.begin(x), args_.above.end(x)};
    const std::uint64_t* const of_x = triangles_above(x);
    const std::uint32_t y = members.first[i];
    const std::uint64_t others = of_x[i] - 1;
    if (of_x[i] == 0) return 0;
    const std::uint64_t* const of_y = triangles_above(y);
    const std::uint32_t* const behind = members.first + i + 1;
    std::uint64_t at_x = 0, at_y = 0;
    for_each_neighbor(lanes_, args_.above.begin(y), static_cast<std::uint32_t>(args_.above.degree(y)),
                      [&](std::uint64_t at, std::uint32_t z) {
                        const std::uint32_t* const place = sets::lower_bound(behind, members.last, z);
                        if (place == members.last || *place != z) return;
                        const auto j = static_cast<std::uint32_t>(place - members.first);
                        at_x += of_y[at] - 1;
                        at_y += of_x[j] - 1;
                        if (others > 0) device::fast_add(args_.apart[z], others);
                        use(j);
                      });
    at_y = lanes_.sum(at_y);
    if (lanes_.leads() && at_y > 0) device::fast_add(args_.apart[y], at_y);
    return at_x;
  }

  MOTIFLUX_DEVICE void add_apart(std::uint32_t x, std::uint64_t share) const {
    const std::uint64_t found = lanes_.sum(share);
    if (lanes_.leads() && found > 0) device::fast_add(args_.apart[x], found);
  }

  MOTIFLUX_DEVICE void take_heavy(std::uint32_t x, std::uint32_t size) {
    const std::uint32_t words = (size + 31) / 32, pitch = words | 1;  // rows begin in different banks
    const std::uint64_t all = std::uint64_t{size} * pitch;
    std::uint32_t* const bits = all <= args_.near_words ? near_ : args_.far + blockIdx.x * args_.far_words;
    std::uint64_t at_x = 0;
    for (std::uint32_t i = team_.warp; i < size && !stopped(); i += team_.warps)
      at_x += walk(x, i, [&](std::uint32_t j) {
        device::fast_or(bits[std::uint64_t{i} * pitch + j / 32], 1u << j % 32);
        device::fast_or(bits[std::uint64_t{j} * pitch + i / 32], 1u << i % 32);
      });
    add_apart(x, at_x);
    __syncthreads();
    bool passed = false;
    const Number found = sum_of_block(lanes_, scratch_, {pairs_of(x, size, bits, words, pitch), 0}, passed);
    // A clique of x is found at three pairs.
    if (threadIdx.x == 0 && found.low > 0) device::fast_add(args_.cliques[x], found.low / 3 * 2);
    __syncthreads();
    for (std::uint64_t at = threadIdx.x; at < all; at += blockDim.x) bits[at] = 0;
  }

  // For each pair of adjacent members, adds the members adjacent to both to the numbers of the two: each
  // clique twice at each. Returns the sum, each thread its share.
  MOTIFLUX_DEVICE std::uint64_t pairs_of(std::uint32_t x, std::uint32_t size, const std::uint32_t* bits,
                                         std::uint32_t words, std::uint32_t pitch) const {
    const std::uint32_t* const members = args_.above.begin(x);
    std::uint64_t whole = 0;
    for (std::uint32_t i = team_.warp; i < size && !stopped(); i += team_.warps) {
      const std::uint32_t* const row = bits + std::uint64_t{i} * pitch;
      std::uint64_t at_i = 0;
      for (std::uint32_t j = i + 1 + lanes_.lane(); j < size; j += Lanes::kLanes) {
        if ((row[j / 32] >> j % 32 & 1) == 0) continue;
        const std::uint32_t* const other = bits + std::uint64_t{j} * pitch;
        std::uint32_t common = 0;
        for (std::uint32_t word = 0; word < words; ++word) common += count_bits(row[word] & other[word]);
        if (common == 0) continue;
        at_i += common;
        device::fast_add(args_.cliques[members[j]], std::uint64_t{common});
      }
      whole += at_i;
      at_i = lanes_.sum(at_i);
      if (lanes_.leads() && at_i > 0) device::fast_add(args_.cliques[members[i]], at_i);
    }
    return whole;
  }

  // A clique is found at the first two of its members.
  MOTIFLUX_DEVICE void take_light(std::uint32_t x, std::uint32_t size) {
    std::uint32_t mine = 0;  // lane i: the members behind member i that are adjacent to it
    std::uint64_t at_x = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      std::uint32_t behind = 0;
      at_x += walk(x, i, [&](std::uint32_t j) { behind |= 1u << j; });
      behind = lanes_.unite(behind);
      if (lanes_.lane() == i) mine = behind;
    }
    add_apart(x, at_x);
    std::uint64_t whole = 0, cliques = 0;
    for (std::uint32_t i = 0; i + 2 < size; ++i) {
      const std::uint32_t of_i = lanes_.broadcast(mine, i);
      for_each_bit(of_i, [&](std::uint32_t j) {
        const std::uint32_t both = of_i & lanes_.broadcast(mine, j);
        if (lanes_.lane() == i || lanes_.lane() == j) cliques += count_bits(both);
        cliques += both >> lanes_.lane() & 1;
        whole += count_bits(both);
      });
    }
    if (cliques > 0) device::fast_add(args_.cliques[args_.above.begin(x)[lanes_.lane()]], 2 * cliques);
    if (lanes_.leads() && whole > 0) device::fast_add(args_.cliques[x], 2 * whole);
  }

  const DiamondArgs& args_;
  Lanes lanes_;
  Scratch& scratch_;
  std::uint32_t* near_;
  Team team_;
};

// The body of the kernel.
MOTIFLUX_DEVICE void count_diamonds(const DiamondArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  DiamondCounter(args, shared_memory).run();
}

}  // namespace motiflux::local_counts
