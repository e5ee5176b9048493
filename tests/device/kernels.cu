// Small kernels that show what a device does.
#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/local_counts/roots.cuh"
#include "motiflux/platform.hpp"

using motiflux::device::Order;
using motiflux::device::system_wide;

// Passed by value, and larger than what launches pass in registers.
struct Job {
  std::uint64_t* out;
  const std::uint64_t* in;
  std::uint32_t* flag;
  std::uint64_t operand;
  std::uint32_t count;
  std::uint32_t limit;
};

// out[i] = in[i] + operand
extern "C" __global__ void add(const __grid_constant__ Job job) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < job.count) job.out[i] = job.in[i] + job.operand;
}

// One thread: says in out[0] that it runs, then waits until *flag is not 0, or for about `limit` microseconds;
// out[1] becomes 1 if it saw the flag, and 2 if not.
extern "C" __global__ void spin(const __grid_constant__ Job job) {
  system_wide(job.out[0]).store(std::uint64_t{1}, Order::kRelease);
  std::uint64_t seen = 2;
  for (std::uint32_t round = 0; round < job.limit; ++round) {
    if (system_wide(*job.flag).load(Order::kAcquire) != 0) {
      seen = 1;
      break;
    }
    __nanosleep(1000);
  }
  job.out[1] = seen;
}

// A block's numbers turned around through dynamic shared memory, of 8 bytes a thread at least.
extern "C" __global__ void turn_around(const __grid_constant__ Job job) {
  MOTIFLUX_DYNAMIC_SHARED(bytes);
  auto* const words = reinterpret_cast<std::uint64_t*>(bytes);
  const std::uint32_t first = blockIdx.x * blockDim.x;
  words[threadIdx.x] = job.in[first + threadIdx.x];
  __syncthreads();
  job.out[first + threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}

// One warp: counts in out[0] the parts of rows that it goes through, of `count`. The first one raises the stop
// flag if `operand` is not 0. The control block is behind out[0].
extern "C" __global__ void stop_among_parts(const __grid_constant__ Job job) {
  const motiflux::local_counts::Lanes lanes;
  const motiflux::local_counts::Frame frame{reinterpret_cast<motiflux::match::Control*>(job.out + 16), nullptr};
  const auto look = [&](std::uint64_t at, std::uint64_t& begin, std::uint32_t& size) {
    begin = at;
    size = 1;
  };
  const auto use = [&](std::uint64_t, std::uint64_t, std::uint32_t) {
    if (!lanes.leads()) return;
    ++job.out[0];
    if (job.operand != 0) motiflux::device::device_wide(frame.control->stop).store(1u, Order::kRelaxed);
  };
  motiflux::local_counts::for_each_chunk(lanes, frame, {0, 1}, job.count, look, use);
}
