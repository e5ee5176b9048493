// Writing changed rows of the candidate table (match/filtered_plans.hpp), before a run is matched.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::changing {

struct CandidateArgs {
  std::uint8_t* table;
  const std::uint32_t* vertices;  // whose rows have changed
  const std::uint8_t* rows;       // of these vertices
  std::uint32_t count;            // of vertices
  std::uint32_t row_bytes;
};

}  // namespace motiflux::changing

#if defined(MOTIFLUX_SIMT)

extern "C" __global__ void motiflux_candidates(
    const __grid_constant__ motiflux::changing::CandidateArgs args) {
  const std::uint64_t bytes = std::uint64_t{args.count} * args.row_bytes;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < bytes; at += threads)
    args.table[std::uint64_t{args.vertices[at / args.row_bytes]} * args.row_bytes + at % args.row_bytes] =
        args.rows[at];
}

#endif
