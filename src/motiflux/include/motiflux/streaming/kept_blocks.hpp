// Blocks that an updater keeps at hand, so that a batch does not wait for the allocator.
//
//   blocks[class]   | b b b b . . . . |    counts[class]      of small sizes; a few of middle ones
//   slabs           | s s s . . . . . |                       that hold no versions
//
// They are in shared memory, and of the pool neither in use nor free. A group of lanes fills them up while
// others wait for updates, or fetches blocks while others take, and adds them when these do not. They go back
// before free blocks are merged.
#pragma once

#include "motiflux/streaming/slabs.hpp"

namespace motiflux::streaming {

// Memory that is taken for a row of a batch and not counted as in use yet.
struct Uncounted {
  std::uint64_t units = 0, bytes = 0;

  MOTIFLUX_DEVICE void add(std::uint64_t more) {
    units += units_for(more);
    bytes += more;
  }
};

// Nothing is kept.
struct NoBlocks {
  MOTIFLUX_DEVICE std::uint32_t take_version(const Pool& pool, std::uint64_t bytes, Uncounted&) const {
    return take(pool, bytes);
  }
  MOTIFLUX_DEVICE std::uint32_t take_slab(const Pool& pool, Uncounted&) const {
    const std::uint32_t block = take(pool, sizeof(view::Slab));
    if (block != kNoBlock) clear_slab(pool, block);
    return block;
  }
  MOTIFLUX_DEVICE void give_all(const Pool&) const {}
  MOTIFLUX_DEVICE void count(const Uncounted&) const {}
};

struct KeptBlocks {
  static constexpr std::uint32_t kClasses = 28, kMost = 32;  // blocks of up to kMostUnits
  static constexpr std::uint32_t kMostUnits = 256;
  static constexpr std::uint32_t kSmall = 12, kMostOfOthers = 4;  // classes of up to 16 units
  static constexpr std::uint32_t kPops = 4;                       // of a class at a time
  static constexpr std::uint64_t kLeastPool = 1 << 20;  // units of a pool of which middle blocks are kept
  static constexpr std::uint32_t kSlabs = kClasses;     // the number of their count

  // That were taken and not counted as in use yet: less than what is kept. Words of 32 bits are added to by
  // one instruction in shared memory.
  std::uint32_t units, bytes;
  std::uint32_t counts[kClasses + 1];
  std::uint32_t blocks[kClasses + 1][kMost];
  std::uint32_t fetched[kClasses + 1];  // how many blocks are to be added
  std::uint32_t fetched_blocks[kClasses + 1][kPops];

  // Called by one thread.
  MOTIFLUX_DEVICE void clear() {
    units = bytes = 0;
    for (std::uint32_t& count : counts) count = 0;
    for (std::uint32_t& count : fetched) count = 0;
  }

  MOTIFLUX_DEVICE std::uint32_t take_version(const Pool& pool, std::uint64_t bytes, Uncounted& taken) {
    const std::uint64_t units = units_of_bytes(bytes);
    const std::uint32_t size_class = units <= kMostUnits ? class_of_units(units) : kClasses;
    const std::uint32_t block = size_class < kClasses ? take_kept(size_class) : kNoBlock;
    if (block == kNoBlock) return take(pool, bytes);
    taken.add(bytes);
    return block;
  }

  MOTIFLUX_DEVICE std::uint32_t take_slab(const Pool& pool, Uncounted& taken) {
    const std::uint32_t block = take_kept(kSlabs);
    if (block == kNoBlock) return NoBlocks().take_slab(pool, taken);
    taken.add(sizeof(view::Slab));
    return block;
  }

  MOTIFLUX_DEVICE void count(const Uncounted& taken) {
    if (taken.units == 0) return;
    device::block_wide(units).fetch_add(static_cast<std::uint32_t>(taken.units), device::Order::kRelaxed);
    device::block_wide(bytes).fetch_add(static_cast<std::uint32_t>(taken.bytes), device::Order::kRelaxed);
  }

  // Gives all back; called by one thread while no other takes.
  MOTIFLUX_DEVICE void give_all(const Pool& pool) {
    count_in_use(pool);
    for (std::uint32_t kind = 0; kind <= kClasses; ++kind) {
      for (; counts[kind] > 0; --counts[kind])
        detail::push(pool, class_of(kind), blocks[kind][counts[kind] - 1]);
    }
  }

  // Whether of some kind fewer are left than so many quarters of the most.
  template <class Lanes>
  MOTIFLUX_DEVICE bool is_short(const Lanes& lanes, const Pool& pool, std::uint32_t quarters) {
    bool found = false;
    for (std::uint32_t kind = lanes.lane(); kind <= kClasses; kind += Lanes::kLanes)
      found |= 4 * count_of(kind) < quarters * most_of(pool, kind);
    return lanes.ballot(found) != 0;
  }

  // Fetches a few blocks of each kind that were given back, if some are missing. Called by all lanes of a
  // group; others may take what is kept.
  template <class Lanes>
  MOTIFLUX_DEVICE void fetch(const Lanes& lanes, const Pool& pool) {
    static_assert(Lanes::kLanes > kClasses);
    const std::uint32_t kind = lanes.lane();
    if (kind > kClasses) return;
    const std::uint32_t count = count_of(kind), most = most_of(pool, kind);
    if (count >= most) return;
    std::uint32_t popped[kPops];
    const std::uint32_t found = detail::pop_several(pool, class_of(kind), popped, most - count);
    for (std::uint32_t number = 0; number < kPops; ++number) {
      if (number >= found) continue;
      if (kind == kSlabs) clear_slab(pool, popped[number]);
      fetched_blocks[kind][number] = popped[number];
    }
    fetched[kind] = found;
  }

  // Adds what was fetched, and new blocks of kinds of which less than half is there then; these come at once.
  // Called by all lanes of a group while no other thread takes.
  template <class Lanes>
  MOTIFLUX_DEVICE void add_fetched(const Lanes& lanes, const Pool& pool) {
    lanes.sync();
    if (lanes.leads()) count_in_use(pool);
    const std::uint32_t kind = lanes.lane();
    std::uint32_t missing = 0;
    std::uint64_t units = 0;
    if (kind <= kClasses) {
      units = units_of_class(class_of(kind));
      missing = add_fetched_of(kind, most_of(pool, kind));
    }
    const auto wanted = static_cast<std::uint32_t>(missing * units);
    const std::uint32_t before = lanes.sums_before(wanted);
    const std::uint32_t all = lanes.broadcast(before + wanted, Lanes::kLanes - 1);
    if (all != 0) add_new(lanes, pool, missing, wanted, before, all);
    lanes.sync();
  }

  // Both, where no other thread takes.
  template <class Lanes>
  MOTIFLUX_DEVICE void fill(const Lanes& lanes, const Pool& pool) {
    fetch(lanes, pool);
    add_fetched(lanes, pool);
  }

 private:
  static MOTIFLUX_DEVICE std::uint32_t most_of(const Pool& pool, std::uint32_t kind) {
    const bool has_room = pool.units >= kLeastPool;
    if (kind < kSmall) return has_room ? kMost : kMost / 4;
    return kind == kSlabs || has_room ? kMostOfOthers : 0;
  }

  MOTIFLUX_DEVICE std::uint32_t count_of(std::uint32_t kind) {
    return device::block_wide(counts[kind]).load(device::Order::kRelaxed);
  }

  // Adds blocks of a kind that were fetched; returns how many new ones are to come.
  MOTIFLUX_DEVICE std::uint32_t add_fetched_of(std::uint32_t kind, std::uint32_t most) {
    std::uint32_t count = counts[kind];
    for (std::uint32_t number = 0; number < fetched[kind]; ++number)
      blocks[kind][count++] = fetched_blocks[kind][number];
    counts[kind] = count;
    fetched[kind] = 0;
    return 2 * count < most ? (most + 1) / 2 - count : 0;
  }

  // Adds new blocks, by all lanes: `missing` of the lane's kind, `wanted` units. All come at once, if there
  // is as much.
  template <class Lanes>
  MOTIFLUX_DEVICE void add_new(const Lanes& lanes, const Pool& pool, std::uint32_t missing,
                               std::uint32_t wanted, std::uint32_t before, std::uint32_t all) {
    std::uint32_t block = lanes.broadcast(lanes.leads() ? carve(pool, all) : kNoBlock);
    if (block != kNoBlock)
      block += before;
    else if (missing != 0)
      block = carve(pool, wanted);
    const std::uint32_t kind = lanes.lane();
    for (std::uint32_t carved = 0; block != kNoBlock && carved < missing; ++carved) {
      if (kind == kSlabs) clear_slab(pool, block);
      blocks[kind][counts[kind]++] = block;
      block += wanted / missing;
    }
  }

  MOTIFLUX_DEVICE void count_in_use(const Pool& pool) {
    if (units == 0) return;
    detail::count_taken(pool, units, bytes);
    units = bytes = 0;
  }

  static MOTIFLUX_DEVICE std::uint32_t class_of(std::uint32_t kind) {
    return kind == kSlabs ? class_of_units(units_of_bytes(sizeof(view::Slab))) : kind;
  }

  // A block of a kind; kNoBlock if none is left. Threads of a batch take at the same time.
  MOTIFLUX_DEVICE std::uint32_t take_kept(std::uint32_t kind) {
    const auto count = device::block_wide(counts[kind]);
    const std::uint32_t found = count.fetch_add(~std::uint32_t{0}, device::Order::kRelaxed);
    if (found - 1 < kMost) return blocks[kind][found - 1];
    count.fetch_add(1, device::Order::kRelaxed);  // it was 0, or less for a moment
    return kNoBlock;
  }
};

}  // namespace motiflux::streaming
