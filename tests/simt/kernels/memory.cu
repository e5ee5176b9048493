// Shared memory, blocks, atomics, waiting for the host, and a kernel to measure.
#include "motiflux/platform.hpp"

#include "arguments.hpp"

namespace {

__device__ std::uint64_t& word(std::uint64_t* words, std::uint64_t index) {
  return words[index];
}

// How many of the lists' members in common; by a warp, each lane looking for its own members of `short_list`.
__device__ unsigned common(const std::uint64_t* short_list, std::uint64_t short_size,
                           const std::uint64_t* list, std::uint64_t size) {
  unsigned found = 0;
  for (std::uint64_t base = 0; base < short_size; base += 32) {
    const std::uint64_t at = base + threadIdx.x % 32;
    bool member = false;
    if (at < short_size) {
      std::uint64_t low = 0;
      std::uint64_t high = size;
      while (low < high) {
        const std::uint64_t middle = (low + high) / 2;
        if (list[middle] < short_list[at]) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      member = low < size && list[low] == short_list[at];
    }
    found += static_cast<unsigned>(__popc(__ballot_sync(0xffffffffU, member)));
  }
  return found;
}

}  // namespace

// The block's numbers turned around, through static and through dynamic shared memory.
extern "C" __global__ void turn_around(const __grid_constant__ Arguments args) {
  __shared__ unsigned fixed[1024];
  MOTIFLUX_DYNAMIC_SHARED(bytes);
  auto* const dynamic = reinterpret_cast<std::uint64_t*>(bytes);
  const unsigned first = blockIdx.x * blockDim.x;
  const unsigned last = blockDim.x - 1;
  fixed[threadIdx.x] = first + threadIdx.x;
  __syncthreads();
  dynamic[last - threadIdx.x] = fixed[last - threadIdx.x];
  __syncthreads();
  args.out[first + threadIdx.x] = dynamic[last - threadIdx.x];
}

// What the shared memory of a block holds before anyone has written it; then something else.
extern "C" __global__ void look_first(const __grid_constant__ Arguments args) {
  __shared__ std::uint64_t fixed;
  MOTIFLUX_DYNAMIC_SHARED(bytes);
  auto* const dynamic = reinterpret_cast<std::uint64_t*>(bytes);
  args.out[2 * blockIdx.x] = fixed;
  args.out[2 * blockIdx.x + 1] = *dynamic;
  *dynamic = fixed = 7;
}

// Words: sum, most, least, or, and, xor, exchanged for (all but one come back), compared and swapped.
extern "C" __global__ void atomics(const __grid_constant__ Arguments args) {
  const auto words = reinterpret_cast<unsigned long long*>(args.out);
  const unsigned long long index = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(words, index);
  atomicMax(words + 1, index);
  atomicMin(words + 2, index);
  atomicOr(words + 3, 1ULL << (index % 64));
  atomicAnd(words + 4, ~(1ULL << (index % 64)));
  atomicXor(words + 5, index);
  atomicAdd(words + 6, atomicExch(words + 7, index));
  unsigned long long expected = words[8];
  for (;;) {
    const unsigned long long found = atomicCAS(words + 8, expected, expected + 2);
    if (found == expected) break;
    expected = found;
  }
  atomicAdd(reinterpret_cast<unsigned*>(words + 9), 1U);
  atomicAdd(reinterpret_cast<double*>(words + 10), 0.5);
}

// Two blocks that take turns: each waits for the other.
extern "C" __global__ void take_turns(const __grid_constant__ Arguments args) {
  const auto turn = reinterpret_cast<unsigned long long*>(args.out);
  for (unsigned long long round = 0; round < args.count; ++round) {
    while (atomicAdd(turn, 0ULL) != 2 * round + blockIdx.x) __nanosleep(20);
    atomicAdd(turn, 1ULL);
  }
}

// Waits until the word at `in` is set, then counts itself in.
extern "C" __global__ void wait_for_host(const __grid_constant__ Arguments args) {
  const auto flag = reinterpret_cast<unsigned long long*>(const_cast<std::uint64_t*>(args.in));
  while (atomicAdd(flag, 0ULL) == 0) __nanosleep(1000);
  atomicAdd(reinterpret_cast<unsigned long long*>(args.out), 1ULL);
}

extern "C" __global__ void spin_forever(const __grid_constant__ Arguments args) {
  while (atomicAdd(reinterpret_cast<unsigned long long*>(args.out), 0ULL) == 0) {
  }
}

// Triangles of a graph in compressed rows, `in` being: the n + 1 row starts, the members, then (source,
// target) of `count` edges. A warp takes an edge.
extern "C" __global__ void triangles(const __grid_constant__ Arguments args) {
  const unsigned warps = gridDim.x * blockDim.x / 32;
  const std::uint64_t* const starts = args.in;
  const std::uint64_t* const members = starts + args.mask + 1;
  const std::uint64_t* const edges = members + starts[args.mask];
  unsigned long long total = 0;
  for (std::uint64_t edge = (blockIdx.x * blockDim.x + threadIdx.x) / 32; edge < args.count; edge += warps) {
    const std::uint64_t u = edges[2 * edge];
    const std::uint64_t v = edges[2 * edge + 1];
    total += common(members + starts[u], starts[u + 1] - starts[u], members + starts[v],
                    starts[v + 1] - starts[v]);
    __syncwarp();
  }
  if (threadIdx.x % 32 == 0) atomicAdd(reinterpret_cast<unsigned long long*>(args.out), total);
}

// What the sanitizers are to find.
extern "C" __global__ void write_past_device_memory(const __grid_constant__ Arguments args) {
  word(args.out, args.count + threadIdx.x) = 1;
}

extern "C" __global__ void write_past_shared_memory(const __grid_constant__ Arguments args) {
  MOTIFLUX_DYNAMIC_SHARED(bytes);
  __syncthreads();
  bytes[args.count + threadIdx.x] = 1;
}

extern "C" __global__ void write_past_stack(const __grid_constant__ Arguments args) {
  std::uint64_t local[4] = {};
  __syncwarp();
  word(local, args.count + threadIdx.x) = 1;
  args.out[0] = word(local, args.count % 4);
}

extern "C" __global__ void write_to_ended_thread(const __grid_constant__ Arguments args) {
  __shared__ std::uint64_t* kept;
  std::uint64_t local[4] = {};
  if (threadIdx.x == 0) {
    kept = &word(local, 1);
    __threadfence_block();
    atomicExch(reinterpret_cast<unsigned long long*>(args.out), 1ULL);
    return;
  }
  if (threadIdx.x == 1) {
    while (atomicAdd(reinterpret_cast<unsigned long long*>(args.out), 0ULL) == 0) {
    }
    for (int round = 0; round < 200; ++round)
      atomicAdd(reinterpret_cast<unsigned long long*>(args.out), 0ULL);
    *kept = 1;
  }
}

extern "C" __global__ void overflow(const __grid_constant__ Arguments args) {
  int value = args.operand;
  __syncwarp();
  value += static_cast<int>(threadIdx.x);
  args.out[threadIdx.x] = static_cast<std::uint64_t>(value);
}
