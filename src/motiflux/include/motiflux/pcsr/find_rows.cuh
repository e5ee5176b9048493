// Finds the rows of vertices in one partition: for tests, and to time the search alone.
//
// The number of entries and the first ones are added up, so that no search is left out by the compiler; where
// rows are is written only if the caller has room for it.
#pragma once

#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/pcsr/find_args.hpp"
#include "motiflux/view/label_group.hpp"

namespace motiflux::pcsr {

template <class Rows>
MOTIFLUX_DEVICE std::uint32_t vertex_of(const FindArgs<Rows>& args, std::uint64_t number) {
  return args.vertices == nullptr ? static_cast<std::uint32_t>(number) : args.vertices[number];
}

// Writes where a row is, and returns a number to add up.
template <class Rows>
MOTIFLUX_DEVICE std::uint64_t note(const FindArgs<Rows>& args, std::uint64_t number, sets::Span row,
                                   bool writes) {
  const std::uint64_t size = row.size();
  const std::uint64_t first = size == 0 ? 0 : static_cast<std::uint64_t>(row.first - args.rows.neighbors);
  if (args.found != nullptr && writes) args.found[number] = {first, size};
  return size + 31 * first;
}

// open(group, vertex) gives the row of a vertex.
template <class Rows, class Open>
MOTIFLUX_DEVICE void find_rows(const FindArgs<Rows>& args, Open&& open) {
  const lanes::Group<32> warp;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / 32);
  std::uint64_t total = 0;
  for (std::uint64_t number = warp.in_grid(); number < args.count; number += warps) {
    sets::Span row = open(warp, vertex_of(args, number));
    if (args.labels != nullptr) row = view::label_group(warp, row, args.labels, args.label);
    total += note(args, number, row, warp.leads());
  }
  if (warp.leads()) device::fast_add(*args.total, total);
}

// The same by each lane, for a vertex of its own: open(vertex).
template <class Rows, class Open>
MOTIFLUX_DEVICE void find_rows_alone(const FindArgs<Rows>& args, Open&& open) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t total = 0;
  for (std::uint64_t number = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; number < args.count;
       number += threads)
    total += note(args, number, open(vertex_of(args, number)), true);
  const lanes::Group<32> warp;
  total = warp.sum(total);
  if (warp.leads()) device::fast_add(*args.total, total);
}

MOTIFLUX_DEVICE view::IntervalIndex index_of(const FindArgs<view::IntervalRows>& args) {
  MOTIFLUX_DYNAMIC_SHARED(memory);
  const view::IntervalIndex index =
      view::load_index(args.rows, reinterpret_cast<std::uint32_t*>(memory), args.index_words);
  __syncthreads();
  return index;
}

MOTIFLUX_DEVICE void find_by_interval(const FindArgs<view::IntervalRows>& args) {
  const view::IntervalIndex index = index_of(args);
  find_rows(args, [&](const lanes::Group<32>& warp, std::uint32_t vertex) {
    return index.open(warp, args.rows, vertex);
  });
}

MOTIFLUX_DEVICE void find_by_interval_alone(const FindArgs<view::IntervalRows>& args) {
  const view::IntervalIndex index = index_of(args);
  find_rows_alone(args, [&](std::uint32_t vertex) { return index.open(args.rows, vertex); });
}

MOTIFLUX_DEVICE void find_by_hash(const FindArgs<view::HashRows>& args) {
  find_rows(args,
            [&](const lanes::Group<32>& warp, std::uint32_t vertex) { return args.rows.open(warp, vertex); });
}

MOTIFLUX_DEVICE void find_by_hash_alone(const FindArgs<view::HashRows>& args) {
  find_rows_alone(args, [&](std::uint32_t vertex) { return args.rows.open(vertex); });
}

}  // namespace motiflux::pcsr

#define MOTIFLUX_FIND_KERNEL(name, Rows)                                                             \
  extern "C" __global__ void __launch_bounds__(motiflux::pcsr::kFindThreads)                         \
      motiflux_##name(const __grid_constant__ motiflux::pcsr::FindArgs<motiflux::view::Rows> args) { \
    motiflux::pcsr::name(args);                                                                      \
  }

MOTIFLUX_FIND_KERNEL(find_by_interval, IntervalRows)
MOTIFLUX_FIND_KERNEL(find_by_interval_alone, IntervalRows)
MOTIFLUX_FIND_KERNEL(find_by_hash, HashRows)
MOTIFLUX_FIND_KERNEL(find_by_hash_alone, HashRows)

#undef MOTIFLUX_FIND_KERNEL
