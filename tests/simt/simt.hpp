// The CUDA built-ins that kernels use, for a C++20 compiler on the CPU. Force-include it (-include) into a
// kernel's translation unit and link emulator/runtime.cpp: the unit then needs no change to run as fibers.
//
// A kernel has C linkage and one parameter: a trivially copyable structure by value, of more than 16 bytes
// and aligned to at most 16 (see call_with_structure in emulator/fiber.hpp for why).
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define MOTIFLUX_SIMT 1

#define __global__ __attribute__((visibility("default"), used))
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
// All threads of a block run on one thread of the system, which runs one block at a time.
#define __shared__ static thread_local

#include "emulator/interface.hpp"

// Under NVRTC an array of unknown bound; here a pointer to exactly as many bytes as the launch asked for.
#define MOTIFLUX_DYNAMIC_SHARED(name) unsigned char* const name = ::motiflux_simt::here->shared

#define threadIdx (::motiflux_simt::Index{::motiflux_simt::here->thread, 0, 0})
#define blockIdx (::motiflux_simt::Index{::motiflux_simt::here->block, 0, 0})
#define blockDim (::motiflux_simt::Index{::motiflux_simt::here->block_threads, 1, 1})
#define gridDim (::motiflux_simt::Index{::motiflux_simt::here->grid_blocks, 1, 1})
inline constexpr int warpSize = 32;

#define MOTIFLUX_SIMT_CHANCE(place, key, one_in) ::motiflux_simt::chance(place, key, one_in)

// As on a GPU, a failed assertion ends the launch, not the process.
#undef assert
#define assert(condition) ((condition) ? void() : ::motiflux_simt::fail("assertion failed: " #condition))
#define MOTIFLUX_ASSERT(condition) \
  ((condition) ? void() : ::motiflux_simt::fail("assertion failed: " #condition))

#include "emulator/atomics.hpp"
#include "emulator/bits.hpp"
#include "emulator/warp.hpp"

inline void __syncthreads() {
  motiflux_simt::barrier(0);
}
inline int __syncthreads_count(int predicate) {
  return static_cast<int>(motiflux_simt::barrier(predicate));
}
inline int __syncthreads_or(int predicate) {
  return motiflux_simt::barrier(predicate) != 0;
}
inline int __syncthreads_and(int predicate) {
  return motiflux_simt::barrier(predicate == 0) == 0;
}

inline void __nanosleep(unsigned nanoseconds) {
  motiflux_simt::doze(nanoseconds);
}
[[noreturn]] inline void __trap() {
  motiflux_simt::fail("__trap()");
}

inline long long clock64() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

template <class Value>
Value __ldg(const Value* address) {
  return *address;
}
