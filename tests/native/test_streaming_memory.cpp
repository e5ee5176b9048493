// Blocks of a pool that threads take and give back: no two overlap, none is lost, free neighbours merge.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "check.hpp"
#include "one_lane.hpp"

#include "motiflux/streaming/merge_free.hpp"

namespace {

namespace streaming = motiflux::streaming;

struct Memory {
  explicit Memory(std::uint64_t units)
      : bytes(units * streaming::kUnitBytes), marks(units / 64 + 1), owners(units) {
    pool = {bytes.data(), &counts, marks.data(), units};
  }

  std::vector<unsigned char> bytes;
  std::vector<std::uint64_t> marks;
  std::vector<std::uint32_t> owners;  // of each unit: how many blocks it is in
  streaming::PoolCounts counts{};
  streaming::Pool pool{};
};

void check_size_classes() {
  for (std::uint32_t size_class = 0; size_class < streaming::kSizeClasses; ++size_class) {
    const std::uint64_t units = streaming::units_of_class(size_class);
    CHECK(units > (size_class == 0 ? 0 : streaming::units_of_class(size_class - 1)));
    CHECK(streaming::class_within(units) == size_class);
    if (units >> 32 == 0) CHECK(streaming::class_of_units(units) == size_class);
    if (units >> 32 == 0 && size_class + 1 < streaming::kSizeClasses) {
      CHECK(streaming::class_of_units(units + 1) == size_class + 1);
      CHECK(streaming::class_within(units + 1) == (units < 8 ? size_class + 1 : size_class));
    }
    // At most a fifth of a block is lost.
    if (size_class > 0) CHECK(5 * (units - streaming::units_of_class(size_class - 1)) <= units + 10);
  }
  CHECK(streaming::units_of_class(streaming::kSizeClasses - 1) == std::uint64_t{1} << 32);
}

class Worker {
 public:
  Worker(Memory& memory, std::uint32_t seed) : memory_(memory), random_(seed) {}

  void run(std::uint32_t turns) {
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      const std::uint64_t drawn = random_() % 16;
      if (drawn < 8)
        take();
      else if (drawn < 10)
        take_several();
      else
        give();
    }
    while (!blocks_.empty()) give();
  }
  std::uint32_t refused = 0, popped = 0;

 private:
  struct Block {
    std::uint32_t unit;
    std::uint64_t bytes;
  };

  auto owner(std::uint64_t unit) { return motiflux::device::device_wide(memory_.owners[unit]); }

  void take() {
    const std::uint64_t bytes = 1 + random_() % (std::uint64_t{64} << random_() % 6);
    const std::uint32_t unit = streaming::take(memory_.pool, bytes);
    if (unit == streaming::kNoBlock) {
      ++refused;
      return;
    }
    own(unit, bytes);
  }

  // Takes blocks that were given back, of one size.
  void take_several() {
    const std::uint64_t bytes = 1 + random_() % 200;
    const std::uint32_t size_class = streaming::class_of_units(streaming::units_of_bytes(bytes));
    std::uint32_t blocks[4];
    const auto wanted = static_cast<std::uint32_t>(1 + random_() % 6);
    const std::uint32_t found = streaming::detail::pop_several(memory_.pool, size_class, blocks, wanted);
    for (std::uint32_t number = 0; number < found; ++number) {
      streaming::detail::count_taken(memory_.pool, streaming::units_for(bytes), bytes);
      own(blocks[number], bytes);
      ++popped;
    }
  }

  void own(std::uint32_t unit, std::uint64_t bytes) {
    for (std::uint64_t at = 0; at < streaming::units_for(bytes); ++at)
      CHECK(owner(unit + at).fetch_add(1u, motiflux::device::Order::kRelaxed) == 0);
    auto* content = memory_.pool.at<std::uint32_t>(unit);
    for (std::uint64_t at = 1; at < bytes / 4; ++at) content[at] = unit;
    blocks_.push_back({unit, bytes});
  }

  void give() {
    if (blocks_.empty()) return;
    std::swap(blocks_[random_() % blocks_.size()], blocks_.back());
    const Block block = blocks_.back();
    blocks_.pop_back();
    const auto* content = memory_.pool.at<std::uint32_t>(block.unit);
    for (std::uint64_t at = 1; at < block.bytes / 4; ++at) CHECK(content[at] == block.unit);
    for (std::uint64_t at = 0; at < streaming::units_for(block.bytes); ++at)
      CHECK(owner(block.unit + at).fetch_add(~0u, motiflux::device::Order::kRelaxed) == 1);
    streaming::give(memory_.pool, block.unit, block.bytes);
  }

  Memory& memory_;
  std::mt19937 random_;
  std::vector<Block> blocks_;
};

void check_threads(std::uint64_t units, std::uint32_t seed) {
  Memory memory(units);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::thread> threads;
    for (std::uint32_t number = 0; number < 4; ++number)
      workers.push_back(std::make_unique<Worker>(memory, 100 * seed + 10 * round + number));
    for (auto& worker : workers) threads.emplace_back([&worker] { worker->run(400); });
    for (std::thread& thread : threads) thread.join();
    std::uint64_t refused = 0, popped = 0;
    for (auto& worker : workers) refused += worker->refused, popped += worker->popped;
    CHECK(popped > 0);
    CHECK(memory.counts.in_use == 0 && memory.counts.asked == 0);
    CHECK(memory.counts.high_water < units);
    CHECK(memory.counts.carved < units);
    CHECK(refused <= memory.counts.refusals);
    if (units < 600) CHECK(refused > 0 && memory.counts.cuts > 0);
    streaming::merge_free(OneLane{}, memory.pool);
    CHECK(memory.counts.carved == 0 && memory.counts.merges == round);
    CHECK(std::ranges::all_of(memory.marks, [](std::uint64_t word) { return word == 0; }));
  }
}

void check_merging() {
  Memory memory(1 + 64);
  std::vector<std::uint32_t> blocks;
  for (std::uint32_t number = 0; number < 64; ++number) blocks.push_back(streaming::take(memory.pool, 64));
  CHECK(memory.counts.in_use == 64 && memory.counts.high_water == 64 && memory.counts.carved == 64);
  CHECK(streaming::take(memory.pool, 1) == streaming::kNoBlock && memory.counts.refusals == 1);
  for (std::uint32_t number = 10; number < 20; ++number) streaming::give(memory.pool, blocks[number], 64);
  CHECK(streaming::take(memory.pool, 128) == streaming::kNoBlock);  // all of them are too small
  streaming::merge_free(OneLane{}, memory.pool);
  CHECK(memory.counts.carved == 64);
  const std::uint32_t whole = streaming::take(memory.pool, 640);
  CHECK(whole == blocks[10]);
  CHECK(streaming::take(memory.pool, 1) == streaming::kNoBlock);
  streaming::give(memory.pool, whole, 640);
  CHECK(streaming::take(memory.pool, 6 * 64) == blocks[10] && memory.counts.cuts == 1);
  CHECK(streaming::take(memory.pool, 4 * 64) == blocks[16] && memory.counts.cuts == 1);
  // The last units become units that were never used.
  for (std::uint32_t number = 40; number < 64; ++number) streaming::give(memory.pool, blocks[number], 64);
  streaming::merge_free(OneLane{}, memory.pool);
  CHECK(memory.counts.carved == 40 && memory.counts.in_use == 40);
  CHECK(streaming::take(memory.pool, std::uint64_t{1} << 40) == streaming::kNoBlock);
}

}  // namespace

int main() {
  check_size_classes();
  check_merging();
  for (std::uint32_t seed = 0; seed < 6; ++seed)
    for (const std::uint64_t units : {400, 100'000}) check_threads(units, seed);
}
