// The kernel that draws R-MAT edges: a grid of any size; each thread takes edges at a stride.
//
//   sources  [count]   of the edges first, first + 1, ...
//   targets  [count]
#pragma once

#include "motiflux/generate/rmat.hpp"

namespace motiflux::generate {

struct RmatArgs {
  Rmat rmat;
  std::uint64_t first;
  std::uint64_t count;
  std::uint32_t* sources;
  std::uint32_t* targets;
};

#if defined(MOTIFLUX_SIMT)

MOTIFLUX_DEVICE void draw_edges(const RmatArgs& args) {
  const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  const std::uint64_t thread = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::uint64_t i = thread; i < args.count; i += threads) {
    const Edge edge = rmat_edge(args.rmat, args.first + i);
    args.sources[i] = edge.source;
    args.targets[i] = edge.target;
  }
}

#endif

}  // namespace motiflux::generate

#if defined(MOTIFLUX_SIMT)

extern "C" __global__ void motiflux_rmat(const __grid_constant__ motiflux::generate::RmatArgs args) {
  motiflux::generate::draw_edges(args);
}

#endif
