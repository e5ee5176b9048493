// Histograms of wedges: from each root x, over each middle y, a counter at each end z.
//
//   heavy root, a block   | far: the others, in device memory | near: the greatest ends, in shared memory |
//                           z < base                            z >= base
//   light root, a warp    | a hash table in shared memory |
//
//   near words            | low half: z = base, base + 1, ... | high half: z = base + words, ...
//                           if the root has 2^16 middles or more, a counter takes the whole word
//
// The c-th wedge of a pair x, z finds c - 1 in the counter. So the number of ordered choices of k of c
// middles, c (c - 1) ... (c - k + 1), is the sum over the wedges of k times the choices of k - 1 among
// earlier wedges: it is known after one pass.
#pragma once

#include "motiflux/local_counts/ends.cuh"
#include "motiflux/local_counts/hash.cuh"
#include "motiflux/local_counts/roots.cuh"
#include "motiflux/sets/span.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

// The result: a sum over all roots, a number for each root, or (of pairs below, in symmetric rows) the
// 4-cycles at each arc, both arcs of an edge separately.
enum class WedgeGoal { kTotal, kEnds, kArcs };

struct WedgeArgs {
  view::Adjacency first;       // from x to the middles
  view::Adjacency second;      // from the middles to z
  const std::uint32_t* ranks;  // of order.cuh, for kUnderRoot and kGreatest; else places are searched
  Frame frame;
  Roots roots;
  std::uint32_t vertices;
  std::uint32_t ends;        // of `Ends`
  std::uint32_t number;      // middles to choose
  std::uint32_t near_words;  // words of a block in shared memory, behind the scratch
  std::uint32_t hash_slots;  // of these, per warp: more than the work of a light root
  std::uint32_t far_words;   // counters of a block in device memory, zero
  std::uint32_t* far;
  std::uint64_t* out;  // kTotal: two words, to be multiplied by `number`; kEnds: [vertices]; kArcs: [arcs]
};

inline constexpr std::uint32_t kHalfWord = 0xffff;

// The counters of a block, for one root. Consecutive ends have words of their own, as rows are ascending.
struct Dense {
  std::uint32_t* near;
  std::uint32_t* far;
  std::uint32_t base;
  std::uint32_t words;
  std::uint32_t most;    // of a counter in the low part of a word
  bool met_far = false;  // whether a far counter was added to

  MOTIFLUX_DEVICE std::uint32_t add(std::uint32_t z) {
    if (z < base) {
      met_far = true;
      return device::fast_add(far[z], 1u);
    }
    const std::uint32_t at = z - base;
    return at < words ? device::fast_add(near[at], 1u) & most
                      : device::fast_add(near[at - words], kHalfWord + 1) >> 16;
  }
  MOTIFLUX_DEVICE std::uint32_t get(std::uint32_t z) const {
    if (z < base) return far[z];
    const std::uint32_t at = z - base;
    return at < words ? near[at] & most : near[at - words] >> 16;
  }
  // Resets a near counter, and the other one of its word.
  MOTIFLUX_DEVICE void reset_near(std::uint32_t z) const {
    const std::uint32_t at = z - base;
    near[at < words ? at : at - words] = 0;
  }
};

template <WedgeGoal goal>
class WedgeCounter {
 public:
  MOTIFLUX_DEVICE WedgeCounter(const WedgeArgs& args, unsigned char* shared)
      : args_(args),
        ends_(static_cast<Ends>(args.ends)),
        scratch_(*reinterpret_cast<Scratch*>(shared)),
        near_(reinterpret_cast<std::uint32_t*>(shared + kScratchBytes)) {}

  MOTIFLUX_DEVICE void run() {
    const Team block{lanes_.in_block(), blockDim.x / Lanes::kLanes};
    for (std::uint32_t at = threadIdx.x; at < args_.near_words; at += blockDim.x) near_[at] = 0;
    for_each_heavy(args_.roots, args_.frame, scratch_,
                   [&](std::uint32_t x, std::uint32_t work, std::uint64_t) { take_heavy(x, work, block); });
    std::uint32_t* const mine = near_ + std::uint64_t{2} * args_.hash_slots * block.warp;
    Hash hash{mine, mine + args_.hash_slots, 0};
    for_each_light(args_.roots, args_.frame, lanes_, [&](std::uint32_t x, std::uint32_t work) {
      hash.clear(lanes_, work, args_.hash_slots);
      count(x, {0, 1}, hash);
      lanes_.sync();
      if constexpr (goal == WedgeGoal::kEnds) {
        const Number found = sum(lanes_, taken_root(), failed_);
        if (lanes_.leads()) write_end(x, found);
      }
      if constexpr (goal == WedgeGoal::kArcs) give_to_arcs(x, {0, 1}, hash);
    });
    if constexpr (goal == WedgeGoal::kTotal) {
      const Number found = sum_of_block(lanes_, scratch_, whole_, failed_);
      if (threadIdx.x == 0) failed_ |= device::add_128(args_.out, found.low, found.high);
    }
    fail(args_.frame, failed_);
  }

 private:
  MOTIFLUX_DEVICE void take_heavy(std::uint32_t x, std::uint32_t work, Team block) {
    const std::uint32_t limit = below_root(ends_) ? x : args_.vertices;
    const bool halves = args_.first.degree(x) <= kHalfWord;
    const std::uint64_t room = std::uint64_t{args_.near_words} << (halves ? 1 : 0);
    const std::uint32_t base = limit > room ? limit - static_cast<std::uint32_t>(room) : 0;
    std::uint32_t* const far = args_.far + std::uint64_t{blockIdx.x} * args_.far_words;
    const std::uint32_t words = halves ? (limit - base + 1) / 2 : limit - base;
    Dense table{near_, far, base, words, halves ? kHalfWord : ~std::uint32_t{0}};
    count(x, block, table);
    const bool met_far = __syncthreads_or(table.met_far) != 0;
    if constexpr (goal == WedgeGoal::kArcs) {
      give_to_arcs(x, block, table);
      __syncthreads();
    }
    clear(x, work, met_far, block, table);
    if constexpr (goal == WedgeGoal::kEnds) {
      const Number found = sum_of_block(lanes_, scratch_, taken_root(), failed_);
      if (threadIdx.x == 0) write_end(x, found);
    }
  }

  // The place of x in y's row, or of the first entry that is greater.
  MOTIFLUX_DEVICE const std::uint32_t* place(std::uint32_t x, std::uint32_t y) const {
    return sets::lower_bound(args_.second.begin(y), args_.second.end(y), x);
  }

  // The entries of y's row that count; `arc` leads from x to y.
  MOTIFLUX_DEVICE sets::Span ends_of(std::uint32_t x, std::uint32_t y, std::uint64_t arc) const {
    const std::uint32_t* const row = args_.second.begin(y);
    switch (ends_) {
      case Ends::kAll:
        return {row, args_.second.end(y)};
      case Ends::kLesser:
        return {row, place(x, y)};
      case Ends::kUnderRoot:
        return {row, y < x ? row + args_.ranks[arc] : row};
      case Ends::kGreater:
        return {place(x, y), args_.second.end(y)};
      case Ends::kGreatest:
        return {row + args_.ranks[arc] + (y < x ? 1 : 0), args_.second.end(y)};
    }
    return {};
  }

  // Calls use(arc, begin, size) for the part of each middle's row that counts, up to the vertex `limit`.
  template <class Use>
  MOTIFLUX_DEVICE void for_each_middle(std::uint32_t x, Team team, std::uint32_t limit, Use&& use) {
    const std::uint64_t row = args_.first.offsets[x];
    const auto look = [&](std::uint64_t at, std::uint64_t& begin, std::uint32_t& size) {
      sets::Span part = ends_of(x, args_.first.neighbors[row + at], row + at);
      if (limit < args_.vertices) part.last = sets::gallop(part.first, part.last, limit);
      begin = static_cast<std::uint64_t>(part.first - args_.second.neighbors);
      size = static_cast<std::uint32_t>(part.size());
    };
    for_each_chunk(
        lanes_, args_.frame, team, args_.first.degree(x), look,
        [&](std::uint64_t at, std::uint64_t begin, std::uint32_t size) { use(row + at, begin, size); });
  }

  template <class Table>
  MOTIFLUX_DEVICE void count(std::uint32_t x, Team team, Table& table) {
    std::uint64_t pairs = 0;  // of a thread's wedges from one root: below 2^32
    const bool counts_pairs = args_.number == 2;
    for_each_middle(x, team, args_.vertices, [&](std::uint64_t, std::uint64_t begin, std::uint32_t size) {
      for_each_neighbor(lanes_, args_.second.neighbors + begin, size, [&](std::uint64_t, std::uint32_t z) {
        if (z == x) return;  // the wedge returns to x
        const std::uint32_t before = table.add(z);
        if constexpr (goal != WedgeGoal::kArcs) {
          if (counts_pairs)
            pairs += before;
          else
            meet(before);
        }
      });
    });
    if constexpr (goal != WedgeGoal::kArcs) failed_ |= add(whole_, {pairs, 0});
  }

  // Adds the choices of all middles but one among earlier wedges.
  MOTIFLUX_DEVICE void meet(std::uint32_t before) {
    if (before + 1 < args_.number) return;
    if (args_.number == 3) {
      failed_ |= add(whole_, {std::uint64_t{before} * (before - 1), 0});
      return;
    }
    std::uint64_t choices = 1;
    for (std::uint32_t chosen = 0; chosen + 1 < args_.number; ++chosen)
      failed_ |= multiply(choices, before - chosen);
    failed_ |= add(whole_, {choices, 0});
  }

  MOTIFLUX_DEVICE Number taken_root() {
    const Number found = whole_;
    whole_ = {};
    return found;
  }

  MOTIFLUX_DEVICE void write_end(std::uint32_t x, Number found) {
    failed_ |= found.high != 0 || multiply(found.low, args_.number);
    args_.out[x] = found.low;
  }

  // Each cycle is found from one root x, at both of its middles, and is added to the arcs from x to the
  // middle and from the middle to z.
  template <class Table>
  MOTIFLUX_DEVICE void give_to_arcs(std::uint32_t x, Team team, const Table& table) {
    for_each_middle(x, team, args_.vertices, [&](std::uint64_t arc, std::uint64_t begin, std::uint32_t size) {
      std::uint64_t found = 0;
      for_each_neighbor(lanes_, args_.second.neighbors + begin, size, [&](std::uint64_t at, std::uint32_t z) {
        const std::uint64_t others = table.get(z) - 1;
        if (others == 0) return;
        found += others;
        device::fast_add(args_.out[begin + at], others);
      });
      found = lanes_.sum(found);
      if (lanes_.leads() && found > 0) device::fast_add(args_.out[arc], found);
    });
  }

  // Resets the counters to zero: all near ones if that is less work than repeating the wedges.
  MOTIFLUX_DEVICE void clear(std::uint32_t x, std::uint32_t work, bool met_far, Team block,
                             const Dense& table) {
    const bool all = work > table.words / 4;
    if (all)
      for (std::uint32_t at = threadIdx.x; at < table.words; at += blockDim.x) table.near[at] = 0;
    if (all && !met_far) return;
    const std::uint32_t last = all ? table.base : args_.vertices;
    for_each_middle(x, block, last, [&](std::uint64_t, std::uint64_t begin, std::uint32_t size) {
      for_each_neighbor(lanes_, args_.second.neighbors + begin, size, [&](std::uint64_t, std::uint32_t z) {
        if (z < table.base)
          table.far[z] = 0;
        else
          table.reset_near(z);
      });
    });
  }

  const WedgeArgs& args_;
  const Ends ends_;
  Lanes lanes_;
  Scratch& scratch_;
  std::uint32_t* near_;
  Number whole_{};
  bool failed_ = false;
};

// The body of the kernels.
template <WedgeGoal goal>
MOTIFLUX_DEVICE void count_wedges(const WedgeArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  WedgeCounter<goal>(args, shared_memory).run();
}

struct MergeArgs {
  view::Adjacency rows;
  const std::uint32_t* ranks;
  std::uint32_t vertices;
  std::uint64_t* table;  // [arcs]
};

inline constexpr std::uint64_t kLongRow = 2048;  // for a block, not a warp

// Sets the arcs from x to lesser vertices, and their reverse arcs, to the sum of both numbers.
MOTIFLUX_DEVICE void merge_row(const MergeArgs& args, std::uint32_t x, std::uint32_t first,
                               std::uint32_t stride) {
  const std::uint64_t end = args.rows.offsets[x + 1];
  for (std::uint64_t arc = args.rows.offsets[x] + first; arc < end; arc += stride) {
    const std::uint32_t y = args.rows.neighbors[arc];
    if (y >= x) break;
    const std::uint64_t back = args.rows.offsets[y] + args.ranks[arc];
    const std::uint64_t both = args.table[arc] + args.table[back];
    args.table[arc] = both;
    args.table[back] = both;
  }
}

// Sets both arcs of each edge to the sum of their numbers. A warp takes a row, the last rows first: they are
// the longest; very long rows take a whole block.
MOTIFLUX_DEVICE void merge_arcs(const MergeArgs& args) {
  const Lanes lanes;
  const std::uint32_t warps = blockDim.x / Lanes::kLanes;
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * warps; first < args.vertices;
       first += std::uint64_t{gridDim.x} * warps) {
    for (std::uint32_t warp = 0; warp < warps && first + warp < args.vertices; ++warp) {
      const auto x = static_cast<std::uint32_t>(args.vertices - 1 - first - warp);
      const bool is_long = args.rows.degree(x) > kLongRow;
      if (is_long)
        merge_row(args, x, threadIdx.x, blockDim.x);
      else if (warp == lanes.in_block())
        merge_row(args, x, lanes.lane(), Lanes::kLanes);
    }
  }
}

}  // namespace motiflux::local_counts
