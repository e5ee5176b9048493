// Embeddings of a frontier sorted by the tiles of a table: first those whose row is in tile 0, then those of
// tile 1, and so on. The next phase reads a tile once, for all embeddings that need it.
//
// `places` has the number of embeddings of each tile (the first kernel), or the place of the next one (the
// second). A warp takes 32 embeddings; those of one tile share an addition.
#pragma once

#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/lanes/group.hpp"
#include "motiflux/pvm/phase_args.hpp"

namespace motiflux::pvm {

// The tile of an id: the last one whose least id is not greater. The least id of tile 0 is 0.
MOTIFLUX_DEVICE std::uint32_t tile_of(const BucketArgs& args, std::uint32_t id) {
  return view::Bisection{}(args.least_ids, 0, args.tiles, id);
}

MOTIFLUX_DEVICE std::uint32_t id_of(const BucketArgs& args, std::uint32_t vertex) {
  return args.renamed == nullptr ? vertex : args.renamed[vertex];
}

template <bool Writes>
MOTIFLUX_DEVICE void bucket(const BucketArgs& args) {
  const lanes::Group<32> warp;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / 32);
  const std::uint64_t batches = (args.size + kBatch - 1) / kBatch;
  for (std::uint64_t batch = warp.in_grid(); batch < batches; batch += warps) {
    const std::uint64_t embedding = batch * kBatch + warp.lane();
    const bool live = embedding < args.size;
    const std::uint32_t tile =
        live ? tile_of(args, id_of(args, args.in.read(args.column, embedding))) : args.tiles;
    std::uint32_t left = warp.ballot(live);
    while (left != 0) {
      const std::uint32_t chosen = warp.broadcast(tile, lowest_bit(left));
      const std::uint32_t same = warp.ballot(tile == chosen);
      left &= ~same;
      std::uint64_t place = 0;
      if (warp.leads()) place = device::fast_add(args.places[chosen], std::uint64_t{count_bits(same)});
      if constexpr (Writes) {
        place = warp.broadcast(place) + count_bits(same & bits_below(warp.lane()));
        if (tile == chosen)
          for (std::uint32_t column = 0; column < args.width; ++column)
            args.out.words[column * args.out.capacity + place] = args.in.read(column, embedding);
      }
    }
  }
}

}  // namespace motiflux::pvm
