// Rows of one partition of arcs, found by intervals of ids (interval-PCSR of GENEVA, section 4).
//
//   firsts       | 3 | 9 |            ids that begin an interval, ascending
//   rows_before  | 0 | 2 | 5 |        rows before each interval, and of all
//   offsets      | 0 | 2 | 3 | 6 | 7 | 9 |      of rows 3, 4, 9, 10, 11
//   neighbors    graph ids of the neighbours
//
// Ids are those that `renamed` has for graph ids. They do not leave the view: neighbours are graph ids, in
// ascending order (by label first, if rows have groups; label_group.hpp), so order restrictions compare them.
#pragma once

#include "motiflux/sets/span.hpp"

#if defined(MOTIFLUX_SIMT)
#include "motiflux/lanes/group.hpp"
#endif

namespace motiflux::view {

struct IntervalRows {
  const std::uint32_t* renamed;       // [vertices]; null: ids are not renamed
  const std::uint32_t* firsts;        // [intervals]
  const std::uint32_t* rows_before;   // [intervals + 1]
  const std::uint32_t* offsets;       // [rows + 1]
  const std::uint64_t* wide_offsets;  // instead, if not null
  const std::uint32_t* neighbors;
  std::uint32_t intervals;
  std::uint32_t unused;

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr bool kHasIndex = true;  // of intervals, in shared memory

  MOTIFLUX_HOST_DEVICE std::uint32_t id_of(std::uint32_t vertex) const {
    return renamed == nullptr ? vertex : renamed[vertex];
  }

  MOTIFLUX_HOST_DEVICE sets::Span row(std::uint32_t number) const {
    if (wide_offsets != nullptr)
      return {neighbors + wide_offsets[number], neighbors + wide_offsets[number + 1]};
    return {neighbors + offsets[number], neighbors + offsets[number + 1]};
  }
};

// Places in numbers that ascend. search(numbers, first, last, value) is the last place of [first, last) whose
// number is at most `value`; the first number is.
struct Bisection {
  MOTIFLUX_HOST_DEVICE std::uint32_t operator()(const std::uint32_t* numbers, std::uint32_t first,
                                                std::uint32_t last, std::uint32_t value) const {
    while (last - first > 1) {
      const std::uint32_t middle = first + (last - first) / 2;
      if (numbers[middle] <= value)
        first = middle;
      else
        last = middle;
    }
    return first;
  }
};

#if defined(MOTIFLUX_SIMT)

// The same by all lanes of a group, which probe different places: 32 lanes take two rounds for 1,024 numbers.
template <std::uint32_t Lanes>
struct GroupProbes {
  const lanes::Group<Lanes>& group;

  MOTIFLUX_DEVICE std::uint32_t operator()(const std::uint32_t* numbers, std::uint32_t first,
                                           std::uint32_t last, std::uint32_t value) const {
    while (last - first > 1) {
      const std::uint32_t stride = (last - first - 1) / Lanes + 1;
      const std::uint64_t probe = first + std::uint64_t{stride} * group.lane();
      const std::uint32_t passed = count_bits(group.ballot(probe < last && numbers[probe] <= value));
      first += stride * (passed - 1);
      if (last - first > stride) last = first + stride;
    }
    return first;
  }
};

#endif

// The interval index of a block, in shared memory. If all intervals fit, finding a row reads no other memory;
// if not, it has the first id of every `stride`-th one, and those between two of them are searched where they
// are.
//
//   memory:  firsts of `count` intervals | rows before each, and all rows (if stride is 1)
struct IntervalIndex {
  const std::uint32_t* firsts;
  const std::uint32_t* rows_before;
  std::uint32_t count;
  std::uint32_t stride;

  // An index in that many words of memory, at least one.
  MOTIFLUX_HOST_DEVICE static IntervalIndex in(const std::uint32_t* memory, std::uint32_t words,
                                               std::uint32_t intervals) {
    if (intervals <= (words - 1) / 2) return {memory, memory + intervals, intervals, 1};
    // At least 2: the numbers of rows are elsewhere.
    const std::uint32_t stride = intervals <= words ? 2 : (intervals - 1) / words + 1;
    return {memory, nullptr, (intervals - 1) / stride + 1, stride};
  }

  // The number of the row of a vertex with this id; kNone: it has none.
  template <class Search>
  MOTIFLUX_HOST_DEVICE std::uint32_t find(const IntervalRows& rows, std::uint32_t id, Search&& search) const {
    if (count == 0 || id < firsts[0]) return IntervalRows::kNone;
    std::uint32_t found = search(firsts, 0u, count, id);
    if (stride == 1) return number(firsts, rows_before, found, id);
    const std::uint32_t first = found * stride;
    const std::uint32_t last = rows.intervals - first < stride ? rows.intervals : first + stride;
    found = search(rows.firsts, first, last, id);
    return number(rows.firsts, rows.rows_before, found, id);
  }

  // The row of a vertex, of each lane its own.
  MOTIFLUX_HOST_DEVICE sets::Span open(const IntervalRows& rows, std::uint32_t vertex) const {
    return row(rows, find(rows, rows.id_of(vertex), Bisection{}));
  }

#if defined(MOTIFLUX_SIMT)

  // The row of a vertex that all lanes of a group name.
  template <std::uint32_t Lanes>
  MOTIFLUX_DEVICE sets::Span open(const lanes::Group<Lanes>& group, const IntervalRows& rows,
                                  std::uint32_t vertex) const {
    return row(rows, find(rows, rows.id_of(vertex), GroupProbes<Lanes>{group}));
  }

#endif

 private:
  MOTIFLUX_HOST_DEVICE static sets::Span row(const IntervalRows& rows, std::uint32_t number) {
    return number == IntervalRows::kNone ? sets::Span{} : rows.row(number);
  }

  MOTIFLUX_HOST_DEVICE static std::uint32_t number(const std::uint32_t* firsts,
                                                   const std::uint32_t* rows_before, std::uint32_t interval,
                                                   std::uint32_t id) {
    const std::uint32_t place = id - firsts[interval];
    return place < rows_before[interval + 1] - rows_before[interval] ? rows_before[interval] + place
                                                                     : IntervalRows::kNone;
  }
};

#if defined(MOTIFLUX_SIMT)

// Fills memory of a block with the index of a partition. All threads of the block call it; the index is there
// after their next barrier.
MOTIFLUX_DEVICE IntervalIndex load_index(const IntervalRows& rows, std::uint32_t* memory,
                                         std::uint32_t words) {
  const IntervalIndex index = IntervalIndex::in(memory, words, rows.intervals);
  for (std::uint32_t at = threadIdx.x; at < index.count; at += blockDim.x) {
    memory[at] = rows.firsts[at * index.stride];
    if (index.stride == 1) memory[index.count + at] = rows.rows_before[at];
  }
  if (threadIdx.x == 0 && index.stride == 1) memory[2 * index.count] = rows.rows_before[rows.intervals];
  return index;
}

#endif

}  // namespace motiflux::view
