// The kernels of a packed memory array, in the order of a batch of updates.
//
//   locate          updates                  ->  the leaf of each
//   mark_windows    these                    ->  the smallest window within bounds around each leaf
//   list_windows    these                    ->  the largest of them: small, medium and large
//   rewrite_small, rewrite_medium, copy_large, rewrite_large
//   sum_tiles, add_up_tiles, sum_leaves      ->  the entries before each leaf
//   find_rows, empty_rows, write_headers     ->  where rows are
//
// The other kernels: extend_rows makes room for new vertices; merge_packed and restore_headers open and close
// the rows of a run of updates.
#pragma once

#include "motiflux/changing/gpma_merge.cuh"

#define MOTIFLUX_GPMA_KERNEL(name)                                                        \
  extern "C" __global__ void __launch_bounds__(motiflux::changing::kPackedThreads)        \
      motiflux_gpma_##name(const __grid_constant__ motiflux::changing::PackedArgs args) { \
    motiflux::changing::name(args);                                                       \
  }

MOTIFLUX_GPMA_KERNEL(locate)
MOTIFLUX_GPMA_KERNEL(mark_windows)
MOTIFLUX_GPMA_KERNEL(list_windows)
MOTIFLUX_GPMA_KERNEL(rewrite_small)
MOTIFLUX_GPMA_KERNEL(rewrite_medium)
MOTIFLUX_GPMA_KERNEL(copy_large)
MOTIFLUX_GPMA_KERNEL(rewrite_large)
MOTIFLUX_GPMA_KERNEL(sum_tiles)
MOTIFLUX_GPMA_KERNEL(add_up_tiles)
MOTIFLUX_GPMA_KERNEL(sum_leaves)
MOTIFLUX_GPMA_KERNEL(find_rows)
MOTIFLUX_GPMA_KERNEL(empty_rows)
MOTIFLUX_GPMA_KERNEL(write_headers)
MOTIFLUX_GPMA_KERNEL(extend_rows)

#undef MOTIFLUX_GPMA_KERNEL

extern "C" __global__ void __launch_bounds__(motiflux::changing::kPackedThreads)
    motiflux_gpma_merge(const __grid_constant__ motiflux::changing::PackedMergeArgs args) {
  motiflux::changing::merge_packed(args);
}

extern "C" __global__ void __launch_bounds__(motiflux::changing::kPackedThreads)
    motiflux_gpma_restore(const __grid_constant__ motiflux::changing::PackedMergeArgs args) {
  motiflux::changing::restore_headers(args);
}
