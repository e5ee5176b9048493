// A pool of device memory from which warps of a running kernel take blocks, and to which they give them back.
//
//   unit     0       1 ...                                    carved + 1                        units
//            | none  | blocks in use, and free ones on stacks |  never used yet                 |
//
//   tops[class]      | tag, 32 bits | first free block, 32 bits |  0: none
//   a free block     | link: the next free block, 32 bits | anything ...
//
// A block is named by its first unit; unit 0 is in no block. A block comes from the stack of its class, else
// from the end of the carved units, else from a larger block, whose rest goes to other stacks. Nothing here
// waits: `take` returns kNoBlock if memory is short.
//
// Pushes and pops swap the top, whose tag grows with each: a thread that read top and link, and was delayed
// while the block was popped and pushed again, fails. It may have read the link of a block that is in use
// meanwhile. So the first word of a block is accessed atomically by all, and users leave it to the pool, or
// use it as a link of their own.
//
// All counters are zero at first. Units that an updater has at hand (kept_blocks.hpp) are counted as in use a
// little later, and may be given back before; `in_use` is right when the updater counts them, and at the end.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/streaming/size_classes.hpp"

namespace motiflux::streaming {

inline constexpr std::uint32_t kNoBlock = 0;

struct PoolCounts {
  std::uint64_t tops[kSizeClasses];
  std::uint64_t carved;      // units that were given out once
  std::uint64_t in_use;      // units of blocks in use
  std::uint64_t asked;       // bytes that were asked for, of blocks in use
  std::uint64_t high_water;  // the most units ever in use
  std::uint64_t cuts;        // blocks that were cut
  std::uint64_t merges;      // times that free blocks were merged
  std::uint64_t refusals;    // blocks that there was no memory for
  std::uint64_t steps;       // of merging and moving, for the watchdog
};

struct Pool {
  unsigned char* memory;
  PoolCounts* counts;
  std::uint64_t* marks;  // a bit for each unit, all 0: for merging
  std::uint64_t units;   // unit 0 included; at most 2^32

  template <class T>
  MOTIFLUX_HOST_DEVICE T* at(std::uint32_t block) const {
    return reinterpret_cast<T*>(memory + std::uint64_t{block} * kUnitBytes);
  }
};

MOTIFLUX_DEVICE auto link_of(const Pool& pool, std::uint32_t block) {
  return device::device_wide(*pool.at<std::uint32_t>(block));
}

namespace detail {

MOTIFLUX_DEVICE std::uint64_t next_top(std::uint64_t top, std::uint32_t block) {
  return ((top >> 32) + 1) << 32 | block;
}

MOTIFLUX_DEVICE void push(const Pool& pool, std::uint32_t size_class, std::uint32_t block) {
  const auto word = device::device_wide(pool.counts->tops[size_class]);
  std::uint64_t top = word.load(device::Order::kRelaxed);
  do {
    link_of(pool, block).store(static_cast<std::uint32_t>(top), device::Order::kRelaxed);
  } while (!word.compare_exchange(top, next_top(top, block), device::Order::kRelease));
}

MOTIFLUX_DEVICE std::uint32_t pop(const Pool& pool, std::uint32_t size_class) {
  const auto word = device::device_wide(pool.counts->tops[size_class]);
  std::uint64_t top = word.load(device::Order::kAcquire);
  for (;;) {
    const auto block = static_cast<std::uint32_t>(top);
    if (block == kNoBlock) return kNoBlock;
    const std::uint32_t next = link_of(pool, block).load(device::Order::kRelaxed);
    if (word.compare_exchange(top, next_top(top, next), device::Order::kAcqRel)) return block;
  }
}

// Pops up to `wanted` blocks of a class at once into `popped`; returns how many. While the top stays the
// same, so does all that is below it, but threads that pop may write to a block that is no longer there: a
// link is followed if it is one of a block.
template <std::uint32_t most>
MOTIFLUX_DEVICE std::uint32_t pop_several(const Pool& pool, std::uint32_t size_class,
                                          std::uint32_t (&popped)[most], std::uint32_t wanted) {
  const auto word = device::device_wide(pool.counts->tops[size_class]);
  std::uint64_t top = word.load(device::Order::kAcquire);
  for (;;) {
    auto block = static_cast<std::uint32_t>(top);
    std::uint32_t found = 0;
    for (std::uint32_t number = 0; number < most; ++number) {
      if (number >= wanted || block == kNoBlock || block >= pool.units) continue;
      popped[number] = block;
      ++found;
      block = link_of(pool, block).load(device::Order::kRelaxed);
    }
    if (found == 0) return 0;
    if (word.compare_exchange(top, next_top(top, block), device::Order::kAcqRel)) return found;
  }
}

// Pushes the units from `first` as blocks, the largest first.
MOTIFLUX_DEVICE_CALL void push_units(const Pool& pool, std::uint64_t first, std::uint64_t units) {
  while (units > 0) {
    const std::uint32_t size_class = class_within(units);
    push(pool, size_class, static_cast<std::uint32_t>(first));
    first += units_of_class(size_class);
    units -= units_of_class(size_class);
  }
}

// A block of a larger class, whose rest is pushed.
MOTIFLUX_DEVICE_CALL std::uint32_t cut(const Pool& pool, std::uint32_t size_class) {
  for (std::uint32_t larger = size_class + 1; larger < kSizeClasses; ++larger) {
    const std::uint32_t block = pop(pool, larger);
    if (block == kNoBlock) continue;
    const std::uint64_t units = units_of_class(size_class);
    push_units(pool, block + units, units_of_class(larger) - units);
    device::device_wide(pool.counts->cuts).fetch_add(1, device::Order::kRelaxed);
    return block;
  }
  return kNoBlock;
}

MOTIFLUX_DEVICE void count_taken(const Pool& pool, std::uint64_t units, std::uint64_t bytes) {
  const auto in_use = device::device_wide(pool.counts->in_use);
  device::device_wide(pool.counts->asked).fetch_add(bytes, device::Order::kRelaxed);
  const std::uint64_t now = in_use.fetch_add(units, device::Order::kRelaxed) + units;
  if (now > pool.units) return;  // less than none: some are not counted yet
  device::device_wide(pool.counts->high_water).fetch_max(now, device::Order::kRelaxed);
}

}  // namespace detail

// So many units that were never used, not counted as in use yet; kNoBlock if there are not as many.
MOTIFLUX_DEVICE std::uint32_t carve(const Pool& pool, std::uint64_t units) {
  const auto word = device::device_wide(pool.counts->carved);
  std::uint64_t carved = word.load(device::Order::kRelaxed);
  do {
    if (carved + units >= pool.units) return kNoBlock;
  } while (!word.compare_exchange(carved, carved + units, device::Order::kRelaxed));
  return static_cast<std::uint32_t>(carved + 1);
}

// The units of a block for so many bytes.
MOTIFLUX_HOST_DEVICE inline std::uint64_t units_for(std::uint64_t bytes) {
  return units_of_class(class_of_units(units_of_bytes(bytes)));
}

// A block for so many bytes, at least 1; kNoBlock if memory is short. Called by one lane.
MOTIFLUX_DEVICE_CALL std::uint32_t take(const Pool& pool, std::uint64_t bytes) {
  const std::uint64_t least = units_of_bytes(bytes);
  std::uint32_t block = kNoBlock;
  if (least < pool.units) {
    const std::uint32_t size_class = class_of_units(least);
    block = detail::pop(pool, size_class);
    if (block == kNoBlock) block = carve(pool, units_of_class(size_class));
    if (block == kNoBlock) block = detail::cut(pool, size_class);
  }
  if (block == kNoBlock)
    device::device_wide(pool.counts->refusals).fetch_add(1, device::Order::kRelaxed);
  else
    detail::count_taken(pool, units_for(bytes), bytes);
  return block;
}

// Gives back a block that was taken for so many bytes. Called by one lane; what it and the threads that it
// synchronizes with have read or written of the block comes before all that the next user does.
MOTIFLUX_DEVICE_CALL void give(const Pool& pool, std::uint32_t block, std::uint64_t bytes) {
  const std::uint32_t size_class = class_of_units(units_of_bytes(bytes));
  const std::uint64_t units = units_of_class(size_class);
  device::device_wide(pool.counts->in_use).fetch_add(std::uint64_t{0} - units, device::Order::kRelaxed);
  device::device_wide(pool.counts->asked).fetch_add(std::uint64_t{0} - bytes, device::Order::kRelaxed);
  detail::push(pool, size_class, block);
}

}  // namespace motiflux::streaming
