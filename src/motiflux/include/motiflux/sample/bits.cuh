// The kernel that writes rows of a candidate graph as bits (graph.hpp): a warp takes a row. Precondition: the
// bits are 0.
#pragma once

#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/lanes/group.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::sample {

struct BitsArgs {
  view::Adjacency rows;
  std::uint32_t* bits;
  std::uint32_t starts;  // number of rows
  std::uint32_t words;   // words per row
};

MOTIFLUX_DEVICE void write_bits(const BitsArgs& args) {
  const lanes::Group<32> lanes;
  const std::uint32_t warps = gridDim.x * (blockDim.x / 32);
  for (std::uint32_t start = lanes.in_grid(); start < args.starts; start += warps) {
    const std::uint32_t* row = args.rows.begin(start);
    std::uint32_t* bits = args.bits + std::uint64_t{args.words} * start;
    for (std::uint64_t i = lanes.lane(); i < args.rows.degree(start); i += 32)
      device::fast_or(bits[row[i] / 32], 1u << row[i] % 32);
  }
}

}  // namespace motiflux::sample
