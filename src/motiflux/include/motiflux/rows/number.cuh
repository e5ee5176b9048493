// The kernel that turns vertices into the ids that the user knows: out[i] = ids[vertices[i]].
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::rows {

struct NumberArgs {
  const std::uint32_t* vertices;
  const std::int64_t* ids;
  std::int64_t* out;
  std::uint64_t count;
};

#if defined(MOTIFLUX_SIMT)

MOTIFLUX_DEVICE void number(const NumberArgs& args) {
  const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  const std::uint64_t thread = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::uint64_t i = thread; i < args.count; i += threads) args.out[i] = args.ids[args.vertices[i]];
}

#endif

}  // namespace motiflux::rows

#if defined(MOTIFLUX_SIMT)

extern "C" __global__ void motiflux_number(const __grid_constant__ motiflux::rows::NumberArgs args) {
  motiflux::rows::number(args);
}

#endif
