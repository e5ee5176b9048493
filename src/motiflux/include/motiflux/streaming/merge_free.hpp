// Free blocks of a pool that lie side by side become larger ones.
//
// A group of lanes marks the units of all free blocks as bits, makes blocks of the runs of bits, and clears
// the bits. Units at the end of the carved ones become units that were never used. Nobody else may use the
// pool meanwhile.
#pragma once

#include "motiflux/bits.hpp"
#include "motiflux/streaming/memory.hpp"

namespace motiflux::streaming {

namespace detail {

inline constexpr std::uint64_t kFullWord = ~std::uint64_t{0};

// The bits of the units [first, last) that are in a word.
MOTIFLUX_DEVICE std::uint64_t bits_of_units(std::uint64_t word, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t begin = 64 * word;
  if (last <= begin || first >= begin + 64) return 0;
  const std::uint64_t from = first <= begin ? 0 : first - begin;
  const std::uint64_t to = last - begin;
  return (to >= 64 ? kFullWord : (std::uint64_t{1} << to) - 1) & (kFullWord << from);
}

template <class Lanes>
MOTIFLUX_DEVICE void mark_free(const Lanes& lanes, const Pool& pool, std::uint64_t first,
                               std::uint64_t last) {
  for (std::uint64_t word = first / 64 + lanes.lane(); word <= (last - 1) / 64; word += Lanes::kLanes) {
    const std::uint64_t bits = bits_of_units(word, first, last);
    MOTIFLUX_ASSERT((pool.marks[word] & bits) == 0);  // else a block was given back twice
    pool.marks[word] |= bits;
  }
  lanes.sync();  // the next block may have bits in the same words
}

template <class Lanes>
MOTIFLUX_DEVICE void note_step(const Lanes& lanes, const Pool& pool) {
  if (lanes.leads())
    device::device_wide(pool.counts->steps).fetch_add(std::uint64_t{1}, device::Order::kRelaxed);
}

// The first unit from `from` on that is marked, or is not; `end` if there is none before.
template <class Lanes>
MOTIFLUX_DEVICE_CALL std::uint64_t find_unit(const Lanes& lanes, const Pool& pool, std::uint64_t from,
                                             std::uint64_t end, bool marked) {
  for (std::uint64_t first = from / 64; first * 64 < end; first += Lanes::kLanes) {
    const std::uint64_t word = first + lanes.lane();
    std::uint64_t found = word * 64 < end ? pool.marks[word] : 0;
    if (!marked && word * 64 < end) found = ~found;
    found &= bits_of_units(word, from, end);
    const std::uint32_t some = lanes.ballot(found != 0);
    if (some == 0) continue;
    std::uint64_t unit = word * 64;
    if (found != 0) {
      const auto low = static_cast<std::uint32_t>(found);
      unit += low != 0 ? lowest_bit(low) : 32 + lowest_bit(static_cast<std::uint32_t>(found >> 32));
    }
    return lanes.broadcast(unit, lowest_bit(some));
  }
  return end;
}

// Takes all blocks from the stacks, and marks their units.
template <class Lanes>
MOTIFLUX_DEVICE_CALL void mark_all_free(const Lanes& lanes, const Pool& pool) {
  lanes.sync();
  for (std::uint32_t size_class = 0; size_class < kSizeClasses; ++size_class) {
    std::uint32_t block = kNoBlock;
    if (lanes.leads()) {
      const auto word = device::device_wide(pool.counts->tops[size_class]);
      const std::uint64_t top = word.load(device::Order::kAcquire);
      word.store(detail::next_top(top, kNoBlock), device::Order::kRelaxed);
      block = static_cast<std::uint32_t>(top);
    }
    for (block = lanes.broadcast(block); block != kNoBlock;) {
      const std::uint32_t next = lanes.broadcast(
          lanes.leads() ? link_of(pool, block).load(device::Order::kRelaxed) : std::uint32_t{0});
      detail::mark_free(lanes, pool, block, block + units_of_class(size_class));
      note_step(lanes, pool);
      block = next;
    }
  }
}

// Clears the marks, and notes how many units are carved now.
template <class Lanes>
MOTIFLUX_DEVICE void clear_marks(const Lanes& lanes, const Pool& pool, std::uint64_t end,
                                 std::uint64_t carved) {
  lanes.sync();
  for (std::uint64_t word = lanes.lane(); word * 64 < end; word += Lanes::kLanes) pool.marks[word] = 0;
  if (lanes.leads()) {
    pool.counts->carved = carved;
    ++pool.counts->merges;
  }
  lanes.sync();
}

}  // namespace detail

// Called by all lanes of a group.
template <class Lanes>
MOTIFLUX_DEVICE_CALL void merge_free(const Lanes& lanes, const Pool& pool) {
  detail::mark_all_free(lanes, pool);
  const std::uint64_t end = pool.counts->carved + 1;
  std::uint64_t carved = pool.counts->carved;
  for (std::uint64_t at = 1; at < end;) {
    const std::uint64_t first = detail::find_unit(lanes, pool, at, end, true);
    if (first == end) break;
    at = detail::find_unit(lanes, pool, first, end, false);
    if (at == end)
      carved = first - 1;
    else if (lanes.leads())
      detail::push_units(pool, first, at - first);
  }
  detail::clear_marks(lanes, pool, end, carved);
}

}  // namespace motiflux::streaming
