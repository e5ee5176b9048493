// Many threads take blocks of a pool, and give them back, as a seed says.
#include "motiflux/lanes/group.hpp"
#include "motiflux/streaming/merge_free.hpp"

namespace streaming = motiflux::streaming;
using motiflux::device::device_wide;
using motiflux::device::Order;

struct MemoryArgs {
  streaming::Pool pool;
  std::uint32_t* owners;  // of each unit: how many blocks it is in
  std::uint64_t* refused;
  std::uint64_t* wrong;  // units that were in another block too, and words that another block changed
  std::uint64_t seed;
  std::uint32_t turns;
  std::uint32_t most_units;
  std::uint32_t keeps;  // whether blocks in use at the end are not given back
};

namespace {

constexpr std::uint32_t kMost = 4;

struct Held {
  std::uint32_t blocks[kMost];
  std::uint32_t bytes[kMost];
};

__device__ std::uint32_t draw(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::uint32_t>(state >> 33);
}

__device__ void own(const MemoryArgs& args, std::uint32_t block, std::uint32_t bytes, std::uint32_t before,
                    std::uint32_t change) {
  std::uint64_t wrong = 0;
  for (std::uint64_t unit = 0; unit < streaming::units_for(bytes); ++unit)
    wrong += device_wide(args.owners[block + unit]).fetch_add(change, Order::kRelaxed) != before;
  if (wrong != 0) device_wide(*args.wrong).fetch_add(wrong, Order::kRelaxed);
}

__device__ void give(const MemoryArgs& args, std::uint32_t block, std::uint32_t bytes) {
  std::uint64_t wrong = 0;
  for (std::uint32_t word = 1; word < bytes / 4; ++word)
    wrong += args.pool.at<std::uint32_t>(block)[word] != block;
  if (wrong != 0) device_wide(*args.wrong).fetch_add(wrong, Order::kRelaxed);
  own(args, block, bytes, 1, ~std::uint32_t{0});
  streaming::give(args.pool, block, bytes);
}

}  // namespace

extern "C" __global__ void take_and_give(const __grid_constant__ MemoryArgs args) {
  std::uint64_t random = args.seed + (std::uint64_t{blockIdx.x} << 40) + (std::uint64_t{threadIdx.x} << 20);
  Held held{};
  for (std::uint32_t turn = 0; turn < args.turns; ++turn) {
    const std::uint32_t number = draw(random) % kMost;
    std::uint32_t &block = held.blocks[number], &bytes = held.bytes[number];
    if (block != streaming::kNoBlock) {
      give(args, block, bytes);
      block = streaming::kNoBlock;
      continue;
    }
    bytes = 1 + draw(random) % (64 * args.most_units);
    block = streaming::take(args.pool, bytes);
    if (block == streaming::kNoBlock) {
      device_wide(*args.refused).fetch_add(1, Order::kRelaxed);
      continue;
    }
    own(args, block, bytes, 0, 1);
    for (std::uint32_t word = 1; word < bytes / 4; ++word)
      args.pool.at<std::uint32_t>(block)[word] = block;
  }
  for (std::uint32_t number = 0; number < kMost; ++number) {
    if (held.blocks[number] == streaming::kNoBlock || args.keeps != 0) continue;
    give(args, held.blocks[number], held.bytes[number]);
  }
}

extern "C" __global__ void merge(const __grid_constant__ MemoryArgs args) {
  streaming::merge_free(motiflux::lanes::Group<32>(), args.pool);
}
