// The first versions of rows: a warp writes 32 rows of a graph, which hold from one moment on.
#pragma once

#include "motiflux/lanes/group.hpp"
#include "motiflux/streaming/graph.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::streaming {

struct LoadArgs {
  view::Adjacency rows;
  view::RowHead* heads;  // of the same rows
  Pool pool;
  std::uint64_t moment;
  std::uint32_t first_row;  // the number of the first one
  std::uint32_t row_count;
  std::uint32_t* failed;  // becomes 1 if memory does not suffice
};

MOTIFLUX_DEVICE void write_first_version(const lanes::Group<32>& warp, const LoadArgs& args,
                                         std::uint32_t row, std::uint32_t block) {
  view::Version& version = *args.pool.at<view::Version>(block);
  const auto size = static_cast<std::uint32_t>(args.rows.degree(row));
  if (warp.leads())
    version = {kNoBlock, size, args.moment, 0, view::Life::kForever, args.first_row + row, 0, {}};
  warp.sync();
  const std::uint32_t* neighbors = args.rows.begin(row);
  for (std::uint32_t entry = warp.lane(); entry < size; entry += 32) {
    version.ids()[entry] = neighbors[entry];
    version.lives()[entry] = {0, view::Life::kForever};
  }
}

// Row `first` + lane is that of a lane; memory is carved for all at once.
MOTIFLUX_DEVICE void load_rows(const lanes::Group<32>& warp, const LoadArgs& args, std::uint32_t first) {
  const std::uint32_t row = first + warp.lane();
  const std::uint64_t size = row < args.row_count ? args.rows.degree(row) : 0;
  const std::uint64_t bytes = size > 0 ? view::bytes_of_version(size) : 0;
  const std::uint64_t units = size > 0 ? units_for(bytes) : 0;
  const std::uint64_t all = warp.sum(units), all_bytes = warp.sum(bytes);
  std::uint32_t block = kNoBlock;
  if (warp.leads() && all > 0) {
    block = carve(args.pool, all);
    if (block != kNoBlock) detail::count_taken(args.pool, all, all_bytes);
    if (block == kNoBlock) device::device_wide(*args.failed).store(1u, device::Order::kRelaxed);
  }
  block = warp.broadcast(block);
  const std::uint32_t own = block + warp.sums_before(static_cast<std::uint32_t>(units));
  const bool has_version = block != kNoBlock && size > 0;
  for_each_bit(warp.ballot(has_version), [&](std::uint32_t lane) {
    write_first_version(warp, args, first + lane, warp.broadcast(own, lane));
  });
  if (row < args.row_count) args.heads[row] = view::head_of(has_version ? args.moment << 32 | own : 0);
}

MOTIFLUX_DEVICE void load(const LoadArgs& args) {
  const lanes::Group<32> warp;
  const std::uint32_t warps = gridDim.x * (blockDim.x / 32);
  for (std::uint64_t first = 32 * std::uint64_t{warp.in_grid()}; first < args.row_count;
       first += 32 * std::uint64_t{warps})
    load_rows(warp, args, static_cast<std::uint32_t>(first));
}

}  // namespace motiflux::streaming

extern "C" __global__ void motiflux_load_versions(
    const __grid_constant__ motiflux::streaming::LoadArgs args) {
  motiflux::streaming::load(args);
}
