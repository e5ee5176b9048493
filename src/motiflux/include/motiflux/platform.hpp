// Differences between the compilers of these headers: NVRTC for a GPU, a C++20 compiler for the CPU engine,
// and the same compiler again with the SIMT emulator's definitions of the CUDA built-ins.
//
// MOTIFLUX_SIMT is defined in a kernel's translation unit, by NVRTC as by the emulator. Headers that use
// lanes, shared memory or kernels need it; headers that only describe data do not.
#pragma once

#if defined(__CUDACC_RTC__)

#define MOTIFLUX_SIMT 1
// Checked in the emulator, where a failure ends the launch, and in the CPU engine's debug builds.
#define MOTIFLUX_ASSERT(condition) static_cast<void>(0)
#define MOTIFLUX_HOST_DEVICE __host__ __device__
#define MOTIFLUX_DEVICE __device__ inline
// For functions called from several places of a kernel: inlining would copy them to each.
#define MOTIFLUX_DEVICE_CALL __device__ __noinline__
// Shared memory whose size the launch gives: one block-wide array of bytes, aligned for any type.
#define MOTIFLUX_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]

// NVRTC has no standard headers. These types equal a 64-bit Linux host's, so that both sides agree on layout.
namespace std {
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long;
using uint64_t = unsigned long;
using size_t = unsigned long;
using uintptr_t = unsigned long;
}  // namespace std
static_assert(sizeof(std::uint64_t) == 8, "motiflux expects a 64-bit Linux host");

#else

#include <cstddef>
#include <cstdint>

#if !defined(MOTIFLUX_ASSERT)
#include <cassert>
#define MOTIFLUX_ASSERT(condition) assert(condition)
#endif
#define MOTIFLUX_HOST_DEVICE
#define MOTIFLUX_DEVICE inline
#define MOTIFLUX_DEVICE_CALL __attribute__((noinline)) inline

#endif
