// What kernels must not do, and the emulator reports.
#include "motiflux/platform.hpp"

#include "arguments.hpp"

extern "C" __global__ void lane_not_in_its_mask(const __grid_constant__ Arguments) {
  __syncwarp(threadIdx.x == 5 ? 0xffU & ~(1U << 5) : 0xffffffffU);
}

extern "C" __global__ void different_masks(const __grid_constant__ Arguments args) {
  if (threadIdx.x >= 16) return;
  args.out[threadIdx.x] = __ballot_sync(threadIdx.x < 3 ? 0xffU : 0xffffU, 1);
}

extern "C" __global__ void different_kinds(const __grid_constant__ Arguments args) {
  if (threadIdx.x % 2 == 0) {
    args.out[threadIdx.x] = __ballot_sync(0xffffffffU, 1);
  } else {
    __syncwarp();
  }
}

extern "C" __global__ void different_sizes(const __grid_constant__ Arguments args) {
  if (threadIdx.x == 9) {
    args.out[9] = __shfl_sync(0xffffffffU, 1ULL, 0);
  } else {
    args.out[threadIdx.x] = __shfl_sync(0xffffffffU, 1U, 0);
  }
}

extern "C" __global__ void one_lane_returns(const __grid_constant__ Arguments) {
  if (threadIdx.x == 4) return;
  __syncwarp();
}

extern "C" __global__ void reads_another_group(const __grid_constant__ Arguments args) {
  const unsigned mask = 0xffU << (threadIdx.x / 8 * 8);
  args.out[threadIdx.x] = __shfl_sync(mask, threadIdx.x, 3);
}

extern "C" __global__ void width_of_three(const __grid_constant__ Arguments args) {
  args.out[threadIdx.x] = __shfl_sync(0xffffffffU, threadIdx.x, 0, 3);
}

extern "C" __global__ void waits_at_two_places(const __grid_constant__ Arguments) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else if (threadIdx.x % 2 == 0) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

extern "C" __global__ void asserts(const __grid_constant__ Arguments args) {
  assert(threadIdx.x < args.count);
}

extern "C" __global__ void traps(const __grid_constant__ Arguments) {
  if (threadIdx.x == 2) __trap();
}

extern "C" __global__ void does_nothing_wrong(const __grid_constant__ Arguments args) {
  args.out[threadIdx.x] = __ballot_sync(0xffffffffU, threadIdx.x % 2);
}
