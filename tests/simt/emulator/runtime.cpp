// The emulator's runtime in one unit: compile this, link it with kernels that were compiled with simt.hpp.
#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "block.cpp"
#include "gather.cpp"

namespace motiflux_simt {

__thread const Here* here = nullptr;

namespace {

// Not destroyed at exit: blocks may still run while the process ends.
StackPool& stacks = *new StackPool;

// This image's thread-local variables, as the calling thread sees them: the static shared memory of its
// kernels, and two pointers of ours.
struct ThreadLocals {
  void* start = nullptr;
  std::size_t bytes = 0;

  static ThreadLocals find() {
    // The loader gives a thread its copy when it first asks for one.
    here = nullptr;
    ThreadLocals found;
    const auto visit = [](dl_phdr_info* image, std::size_t, void* result) {
      auto* const locals = static_cast<ThreadLocals*>(result);
      const auto* const low = static_cast<const char*>(image->dlpi_tls_data);
      const auto* const ours = reinterpret_cast<const char*>(&here);
      for (int at = 0; at < image->dlpi_phnum && low != nullptr; ++at) {
        const auto& segment = image->dlpi_phdr[at];
        if (segment.p_type != PT_TLS || ours < low || ours >= low + segment.p_memsz) continue;
        *locals = {image->dlpi_tls_data, segment.p_memsz};
        return 1;
      }
      return 0;
    };
    dl_iterate_phdr(visit, &found);
    return found;
  }

  // Shared memory holds anything when a block starts, and a kernel must not count on zeros.
  void poison() const {
    Block* const block = running_block();
    const Here* const place = here;
    if (start != nullptr) std::memset(start, 0xa5, bytes);
    here = place;
    set_running_block(block);
  }
};

void run_blocks(Launch& launch) {
  try {
    const ThreadLocals locals = ThreadLocals::find();
    for (;;) {
      const std::uint32_t index = launch.next_block.fetch_add(1, std::memory_order_relaxed);
      if (index >= launch.grid || launch.stop.load(std::memory_order_relaxed)) return;
      locals.poison();
      // On the heap: it is large, and a dangling reference to it should be found.
      std::make_unique<Block>(launch, stacks, index)->run();
    }
  } catch (const std::exception& problem) {
    launch.fail(std::string("the emulator: ") + problem.what());
  }
}

}  // namespace

std::uint64_t collective(const Call& call) noexcept {
  return running_block()->collective(call);
}
unsigned barrier(int value) noexcept {
  return running_block()->barrier(value != 0);
}
void doze(unsigned nanoseconds) noexcept {
  running_block()->doze(nanoseconds);
}
bool chance(std::uint32_t place, std::uint64_t key, unsigned one_in) noexcept {
  return running_block()->chance(place, key, one_in);
}
void fail(const char* message) noexcept {
  running_block()->fail(message);
}

}  // namespace motiflux_simt

void motiflux_simt_yield() noexcept {
  if (motiflux_simt::running_block() != nullptr) motiflux_simt::running_block()->yield();
}

// Runs a kernel and returns when it is done: 0, or 1 with what went wrong in `error`.
extern "C" __attribute__((visibility("default"))) int motiflux_simt_launch(
    void* kernel, std::uint32_t grid, std::uint32_t block, std::uint32_t shared, const void* argument,
    std::size_t argument_bytes, const motiflux_simt::Options* options, char* error, std::size_t error_bytes) {
  motiflux_simt::Launch launch{kernel, argument, argument_bytes, grid, block, shared, *options};
  if (block < 1 || block > motiflux_simt::kMostThreads || argument_bytes <= 16) {
    launch.fail("a block has 1 to 1024 threads, and an argument more than 16 bytes");
  } else {
    const std::uint32_t resident = std::max(1U, std::min(options->resident, grid));
    std::vector<std::thread> others;
    for (std::uint32_t index = 1; index < resident; ++index) {
      others.emplace_back([&launch] { motiflux_simt::run_blocks(launch); });
    }
    motiflux_simt::run_blocks(launch);
    for (std::thread& other : others) other.join();
  }
  std::snprintf(error, error_bytes, "%s", launch.error.c_str());
  return launch.error.empty() ? 0 : 1;
}

// Gives back what the image keeps. Called before it is unloaded; nothing of it may be running.
extern "C" __attribute__((visibility("default"))) void motiflux_simt_forget() {
  delete &motiflux_simt::stacks;
}
