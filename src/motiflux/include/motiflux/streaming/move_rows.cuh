// Gives rows other numbers: vertices are reserved, or plans read other rows. While no other kernel runs, and
// all updates are collected: rows have no version but the newest, which tells its row.
#pragma once

#include "motiflux/streaming/graph.hpp"

namespace motiflux::streaming {

struct MoveArgs {
  const view::RowHead* from;
  view::RowHead* to;  // all 0 at first
  Pool pool;
  std::uint32_t first_from, first_to;
  std::uint32_t count;
  std::uint32_t drops;  // whether the versions are given back instead
};

MOTIFLUX_DEVICE void move_row(const MoveArgs& args, std::uint32_t row) {
  const std::uint64_t newest = args.from[args.first_from + row].newest;
  const auto block = static_cast<std::uint32_t>(newest);
  if (block == kNoBlock) return;
  view::Version& version = *args.pool.at<view::Version>(block);
  if (args.drops != 0) return give(args.pool, block, view::bytes_of_version(version.size));
  version.row = args.first_to + row;
  args.to[args.first_to + row] = view::head_of(newest);
}

}  // namespace motiflux::streaming

extern "C" __global__ void motiflux_move_rows(const __grid_constant__ motiflux::streaming::MoveArgs args) {
  for (std::uint64_t row = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < args.count;
       row += std::uint64_t{gridDim.x} * blockDim.x)
    motiflux::streaming::move_row(args, static_cast<std::uint32_t>(row));
}
