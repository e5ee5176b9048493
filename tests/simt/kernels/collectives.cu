// Collectives of a warp.
#include "motiflux/platform.hpp"

#include "arguments.hpp"

namespace {

constexpr unsigned kAll = 0xffffffffU;

__device__ std::uint64_t bits_of(double value) {
  return motiflux_simt::to_bits(value);
}

// Eight lanes exchange `rounds` times; groups that do it less often are done earlier.
__device__ std::uint64_t exchange_in_group(unsigned mask, unsigned rounds) {
  std::uint64_t total = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned lane = threadIdx.x % 32;
    total += __shfl_sync(mask, lane * 1000 + round, static_cast<int>(round % 8), 8);
    __syncwarp(mask);
  }
  return total;
}

}  // namespace

// Four rows of 32: shfl, up, down, xor, of 64-bit values.
extern "C" __global__ void shuffles(const __grid_constant__ Arguments args) {
  const unsigned lane = threadIdx.x;
  const std::uint64_t value = args.in[lane];
  args.out[lane] = __shfl_sync(kAll, value, args.operand, args.width);
  args.out[32 + lane] = __shfl_up_sync(kAll, value, static_cast<unsigned>(args.operand), args.width);
  args.out[64 + lane] = __shfl_down_sync(kAll, value, static_cast<unsigned>(args.operand), args.width);
  args.out[96 + lane] = __shfl_xor_sync(kAll, value, args.operand, args.width);
}

// Rows: the neighbour's int, unsigned, long long, float and double.
extern "C" __global__ void shuffled_types(const __grid_constant__ Arguments args) {
  const unsigned lane = threadIdx.x;
  const auto value = static_cast<long long>(args.in[lane]);
  std::uint64_t* out = args.out + lane;
  out[0] = static_cast<std::uint64_t>(
      static_cast<std::int64_t>(__shfl_xor_sync(kAll, static_cast<int>(value), 1)));
  out[32] = __shfl_xor_sync(kAll, static_cast<unsigned>(value), 1);
  out[64] = static_cast<std::uint64_t>(__shfl_xor_sync(kAll, value, 1));
  out[96] = bits_of(__shfl_xor_sync(kAll, static_cast<float>(value), 1));
  out[128] = bits_of(__shfl_xor_sync(kAll, static_cast<double>(value), 1));
}

// Rows: ballot, any, all, match_any, and the sum, least, most, least and most signed, and, or, xor of the
// lanes of the mask, by these lanes.
extern "C" __global__ void votes(const __grid_constant__ Arguments args) {
  const unsigned lane = threadIdx.x;
  if ((args.mask >> lane & 1U) == 0) return;
  const auto value = static_cast<unsigned>(args.in[lane]);
  const auto as_signed = static_cast<int>(value);
  const bool odd = value % 2 == 1;
  std::uint64_t* out = args.out + lane;
  out[0] = __ballot_sync(args.mask, odd);
  out[32] = static_cast<std::uint64_t>(__any_sync(args.mask, odd));
  out[64] = static_cast<std::uint64_t>(__all_sync(args.mask, odd));
  out[96] = __match_any_sync(args.mask, value % 5);
  out[128] = __reduce_add_sync(args.mask, value);
  out[160] = __reduce_min_sync(args.mask, value);
  out[192] = __reduce_max_sync(args.mask, value);
  out[224] = static_cast<unsigned>(__reduce_min_sync(args.mask, as_signed));
  out[256] = static_cast<unsigned>(__reduce_max_sync(args.mask, as_signed));
  out[288] = __reduce_and_sync(args.mask, value);
  out[320] = __reduce_or_sync(args.mask, value);
  out[352] = __reduce_xor_sync(args.mask, value);
}

// Four groups of eight lanes at different points; group 3 waits for the word that group 0 sets at its end.
extern "C" __global__ void groups_apart(const __grid_constant__ Arguments args) {
  __shared__ unsigned done;
  const unsigned lane = threadIdx.x;
  const unsigned group = lane / 8;
  const unsigned mask = 0xffU << (group * 8);
  if (lane == 0) atomicExch(&done, 0U);
  __syncwarp();
  if (group == 3) {
    while (atomicAdd(&done, 0U) == 0) __nanosleep(100);
  }
  args.out[lane] = exchange_in_group(mask, group * 7 + 1);
  if (lane == 0) atomicExch(&done, 1U);
}

// Lanes 8 to 31 are at a collective of the whole warp before lanes 0 to 7 have done theirs.
extern "C" __global__ void lanes_ahead(const __grid_constant__ Arguments args) {
  const unsigned lane = threadIdx.x;
  if (lane < 8) args.out[lane] = exchange_in_group(0xff, 3);
  args.out[32 + lane] = __ballot_sync(kAll, lane < 8);
}

// Each thread takes a number from a counter that nobody guards, so the order in which they run shows.
extern "C" __global__ void racy(const __grid_constant__ Arguments args) {
  __shared__ unsigned next;
  if (threadIdx.x == 0) next = 0;
  __syncthreads();
  args.out[blockIdx.x * blockDim.x + threadIdx.x] = next++;
}

// Without the __syncwarp that belongs between the two: lane i reads what lane i + 1 wrote.
extern "C" __global__ void forgets_to_sync(const __grid_constant__ Arguments args) {
  __shared__ unsigned slots[32];
  slots[threadIdx.x] = 0;
  __syncwarp();
  slots[threadIdx.x] = threadIdx.x + 1;
  args.out[threadIdx.x] = slots[(threadIdx.x + 1) % 32];
}
