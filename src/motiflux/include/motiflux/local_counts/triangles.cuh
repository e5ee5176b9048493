// The triangles at each arc of symmetric rows: for each vertex u, the neighbours of its lesser neighbours v
// that are also neighbours of u.
//
// The heaviest vertices are shared by several blocks, each with the row's entries at a stride. Rows of hubs
// are bits, in shared memory if they fit; rows of light vertices are hash tables, or searched directly. The
// walked row is v's, which is not longer: ids ascend by degree. Each edge is handled once and its two arcs
// written once, so blocks need no common sums.
#pragma once

#include "motiflux/local_counts/hash.cuh"
#include "motiflux/local_counts/roots.cuh"
#include "motiflux/sets/span.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

struct TriangleArgs {
  view::Adjacency rows;
  const std::uint32_t* ranks;
  Frame frame;
  Roots roots;
  const std::uint32_t* slices;  // of each heavy root: the part and the number of parts, a half word each
  std::uint32_t vertices;
  std::uint32_t near_words;  // words of a block in shared memory, behind the scratch
  std::uint32_t hash_slots;  // of these, per warp
  std::uint64_t far_words;   // bits of a block in device memory, zero; none if `near_words` hold them
  std::uint32_t* far;
  std::uint64_t* out;  // [arcs]
};

// The vertices of one row, as bits.
struct BitRow {
  std::uint32_t* words;

  MOTIFLUX_DEVICE void insert(std::uint32_t vertex) const {
    device::fast_or(words[vertex / 32], 1u << vertex % 32);
  }
  MOTIFLUX_DEVICE void erase(std::uint32_t vertex) const { words[vertex / 32] = 0; }
  MOTIFLUX_DEVICE bool contains(std::uint32_t vertex) const { return words[vertex / 32] >> vertex % 32 & 1; }
};

class Triangles {
 public:
  MOTIFLUX_DEVICE Triangles(const TriangleArgs& args, unsigned char* shared)
      : args_(args),
        scratch_(*reinterpret_cast<Scratch*>(shared)),
        near_(reinterpret_cast<std::uint32_t*>(shared + kScratchBytes)) {}

  MOTIFLUX_DEVICE void run() {
    if (args_.far_words == 0) {
      for (std::uint32_t at = threadIdx.x; at < args_.near_words; at += blockDim.x) near_[at] = 0;
      heavy(BitRow{near_});
    } else {
      heavy(BitRow{args_.far + blockIdx.x * args_.far_words});
    }
    const std::uint32_t warp = lanes_.in_block();
    std::uint32_t* const mine = near_ + std::uint64_t{2} * args_.hash_slots * warp;
    Hash hash{mine, mine + args_.hash_slots, 0};
    for_each_light(args_.roots, args_.frame, lanes_,
                   [&](std::uint32_t u, std::uint32_t) { take_light(u, hash); });
  }

 private:
  // A row's entries at a stride, from a given entry on.
  struct Slice {
    std::uint64_t first;
    std::uint64_t stride;
  };

  MOTIFLUX_DEVICE void heavy(BitRow bits) {
    const Team team{lanes_.in_block(), blockDim.x / Lanes::kLanes};
    for_each_heavy(
        args_.roots, args_.frame, scratch_, [&](std::uint32_t u, std::uint32_t, std::uint64_t which) {
          const Slice slice{args_.slices[which] >> 16, args_.slices[which] & 0xffffu};
          const std::uint32_t* const end = args_.rows.end(u);
          for (const std::uint32_t* at = args_.rows.begin(u) + threadIdx.x; at < end; at += blockDim.x)
            bits.insert(*at);
          __syncthreads();
          take(u, slice, team, [&](std::uint32_t vertex) { return bits.contains(vertex); });
          __syncthreads();
          for (const std::uint32_t* at = args_.rows.begin(u) + threadIdx.x; at < end; at += blockDim.x)
            bits.erase(*at);
        });
  }

  MOTIFLUX_DEVICE void take_light(std::uint32_t u, Hash& hash) {
    const sets::Span row{args_.rows.begin(u), args_.rows.end(u)};
    if (2 * row.size() > args_.hash_slots)
      return take(u, {0, 1}, {0, 1}, [&](std::uint32_t vertex) { return sets::contains(row, vertex); });
    hash.clear(lanes_, static_cast<std::uint32_t>(row.size()), args_.hash_slots);
    for (const std::uint32_t* at = row.first + lanes_.lane(); at < row.last; at += Lanes::kLanes)
      hash.place(*at);
    lanes_.sync();
    take(u, {0, 1}, {0, 1}, [&](std::uint32_t vertex) { return hash.has(vertex); });
  }

  // Counts, for each lesser neighbour v of u in the part, the neighbours of v that are in u's row.
  template <class Has>
  MOTIFLUX_DEVICE void take(std::uint32_t u, Slice slice, Team team, Has&& has) {
    const std::uint64_t row = args_.rows.offsets[u] + slice.first;
    const std::uint64_t entries = (args_.rows.degree(u) + slice.stride - 1 - slice.first) / slice.stride;
    const auto look = [&](std::uint64_t at, std::uint64_t& begin, std::uint32_t& size) {
      const std::uint32_t v = args_.rows.neighbors[row + at * slice.stride];
      if (v >= u) return;
      begin = args_.rows.offsets[v];
      size = static_cast<std::uint32_t>(args_.rows.offsets[v + 1] - begin);
    };
    const auto count = [&](std::uint64_t at, std::uint64_t begin, std::uint32_t size) {
      std::uint64_t found = 0;
      for_each_neighbor(lanes_, args_.rows.neighbors + begin, size,
                        [&](std::uint64_t, std::uint32_t vertex) { found += has(vertex); });
      found = lanes_.sum(found);
      if (!lanes_.leads()) return;
      const std::uint64_t arc = row + at * slice.stride;
      args_.out[arc] = found;
      args_.out[begin + args_.ranks[arc]] = found;
    };
    for_each_chunk(lanes_, args_.frame, team, entries, look, count);
  }

  const TriangleArgs& args_;
  Lanes lanes_;
  Scratch& scratch_;
  std::uint32_t* near_;
};

// The body of the kernel.
MOTIFLUX_DEVICE void triangles_of_arcs(const TriangleArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  Triangles(args, shared_memory).run();
}

}  // namespace motiflux::local_counts
