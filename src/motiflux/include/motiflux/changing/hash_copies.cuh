// The hash table of copied rows (view/row_copies.hpp), from their vertices and places.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/view/row_copies.hpp"

namespace motiflux::changing {

// Half of the slots at least stay empty; all are zero before.
struct HashArgs {
  const std::uint32_t* rowidx;
  const view::CopiedRow* rowptr;
  view::HashedRow* slots;
  std::uint32_t count;
  std::uint32_t mask;
};

#if defined(MOTIFLUX_SIMT)

MOTIFLUX_DEVICE void insert_hashed(const HashArgs& args, std::uint32_t vertex, const view::CopiedRow& row) {
  std::uint32_t slot = view::HashedRow::hash(vertex) & args.mask;
  for (;; slot = (slot + 1) & args.mask) {
    std::uint32_t found = 0;
    const auto key = device::device_wide(args.slots[slot].key);
    while (found == 0)
      if (key.compare_exchange(found, vertex + 1, device::Order::kRelaxed)) break;
    if (found == 0) break;
  }
  args.slots[slot].size = static_cast<std::uint32_t>(row.behind - row.first);
  args.slots[slot].first = row.first;
}

#endif

}  // namespace motiflux::changing

#if defined(MOTIFLUX_SIMT)

extern "C" __global__ void motiflux_cache_hash(const __grid_constant__ motiflux::changing::HashArgs args) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x; at < args.count; at += threads)
    motiflux::changing::insert_hashed(args, args.rowidx[at], args.rowptr[at]);
}

#endif
