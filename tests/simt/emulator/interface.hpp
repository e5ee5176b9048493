// What the built-ins ask of the runtime; defined in runtime.cpp.
#pragma once

#include <cstdint>

// A scheduling point: another thread of the block may run before it returns. Code that is also compiled for
// the host may call it from a thread that runs no kernel; then it does nothing.
void motiflux_simt_yield() noexcept;

namespace motiflux_simt {

struct Index {
  unsigned x, y, z;
};

// The running thread of the kernel. Grids and blocks have one dimension.
struct Here {
  unsigned thread;
  unsigned block;
  unsigned block_threads;
  unsigned grid_blocks;
  unsigned char* shared;
};

// __thread rather than thread_local: no wrapper that asks whether it is initialised.
extern __thread const Here* here;

enum class Kind : std::uint8_t {
  syncwarp,
  ballot,
  any,
  all,
  match_any,
  shfl,
  shfl_up,
  shfl_down,
  shfl_xor,
  reduce_add,
  reduce_min_signed,
  reduce_min_unsigned,
  reduce_max_signed,
  reduce_max_unsigned,
  reduce_and,
  reduce_or,
  reduce_xor,
};

// What one lane brings to a collective. Lanes of one collective agree on kind, bytes and mask.
struct Call {
  Kind kind;
  unsigned bytes;
  unsigned mask;
  std::uint64_t value = 0;
  unsigned operand = 0;
  int width = 32;
};

// Waits for all lanes of the mask; returns this lane's result.
std::uint64_t collective(const Call& call) noexcept;

// Waits for all threads of the block that have not returned; returns how many brought a value other than 0.
unsigned barrier(int value) noexcept;

// A scheduling point of a thread that has nothing to do for so long.
void doze(unsigned nanoseconds) noexcept;

// Once in so many times true, by the seed, the place in the code and the key (motiflux/device/chance.hpp).
bool chance(std::uint32_t place, std::uint64_t key, unsigned one_in) noexcept;

// Ends the launch with this error. What lies on the stacks of the block's threads is abandoned.
[[noreturn]] void fail(const char* message) noexcept;

}  // namespace motiflux_simt
