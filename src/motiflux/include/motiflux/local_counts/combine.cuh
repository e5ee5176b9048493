// Operations on whole tables, in one pass over their roots: products, differences, sums of rows and of all.
//
// A factor of a product over arcs is a table of arcs, or a table of vertices looked up at the arc's source or
// target: tables of ends are never stored.
#pragma once

#include "motiflux/local_counts/roots.cuh"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

enum class At : std::uint32_t { kSelf = 0, kSource = 1, kTarget = 2 };

inline constexpr std::uint32_t kMostFactors = 6;
inline constexpr std::uint32_t kMostProducts = 4;
inline constexpr std::uint32_t kMostLesser = 12;

struct Factor {
  const std::uint64_t* table;
  std::uint32_t at;
  std::uint32_t unused;
};

struct Product {
  Factor factors[kMostFactors];
  std::uint64_t count;
};

struct Domain {
  view::Adjacency rows;  // none if the roots are vertices
  std::uint64_t size;    // roots
  std::uint32_t vertices;
  std::uint32_t by_rows;  // whether a warp takes a row at a time, as needed for sources and sums of rows
};

struct SumArgs {
  Domain domain;
  Frame frame;
  Product products[kMostProducts];
  std::uint64_t count;
  std::uint64_t* out;  // [count][2]
};

// The product of all factors but the last in 64 bits, times the last in 128; sets `failed` on overflow.
MOTIFLUX_DEVICE Number value_of(const Domain& domain, const Product& factors, std::uint64_t root,
                                std::uint64_t source, bool& failed) {
  Number found{1, 0};
  for (std::uint64_t i = 0; i < factors.count; ++i) {
    const Factor factor = factors.factors[i];
    std::uint64_t at = root;
    if (factor.at == static_cast<std::uint32_t>(At::kSource)) at = source;
    if (factor.at == static_cast<std::uint32_t>(At::kTarget)) at = domain.rows.neighbors[root];
    failed |= found.high != 0;
    found = product(found.low, factor.table[at]);
  }
  return found;
}

// Calls use(root, source) for each root, all roots of one row on one warp if `by_rows`; then end(source) on
// all lanes after each row.
template <class Use, class End>
MOTIFLUX_DEVICE void for_each_root(const Lanes& lanes, const Domain& domain, Use&& use, End&& end) {
  if (domain.by_rows == 0) {
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t root = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; root < domain.size;
         root += threads)
      use(root, 0);
    return;
  }
  // The last rows are the longest, and come first.
  const std::uint32_t warps = gridDim.x * (blockDim.x / Lanes::kLanes);
  for (std::uint64_t after = lanes.in_grid(); after < domain.vertices; after += warps) {
    const std::uint64_t source = domain.vertices - 1 - after;
    const std::uint64_t last = domain.rows.offsets[source + 1];
#pragma unroll 4
    for (std::uint64_t root = domain.rows.offsets[source] + lanes.lane(); root < last; root += Lanes::kLanes)
      use(root, source);
    end(source);
  }
}

// Sums of up to four products over all roots.
MOTIFLUX_DEVICE void sum_products(const SumArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  Scratch& scratch = *reinterpret_cast<Scratch*>(shared_memory);
  const Lanes lanes;
  bool failed = false;
  Number sums[kMostProducts]{};
  for_each_root(
      lanes, args.domain,
      [&](std::uint64_t root, std::uint64_t source) {
#pragma unroll
        for (std::uint32_t i = 0; i < kMostProducts; ++i) {
          if (i >= args.count) break;
          // A separate statement: NVRTC reads the left side before it calls the right side, which sets
          // `failed` too.
          const Number value = value_of(args.domain, args.products[i], root, source, failed);
          failed |= add(sums[i], value);
        }
      },
      [](std::uint64_t) {});
#pragma unroll
  for (std::uint32_t i = 0; i < kMostProducts; ++i) {
    if (i >= args.count) break;
    const Number found = sum_of_block(lanes, scratch, sums[i], failed);
    if (threadIdx.x == 0) failed |= device::add_128(args.out + 2 * i, found.low, found.high);
  }
  fail(args.frame, failed);
}

struct Lesser {
  const std::uint64_t* table;
  std::uint64_t times;
};

struct JoinArgs {
  Domain domain;
  Frame frame;
  Product product;
  Lesser lesser[kMostLesser];
  std::uint64_t count;     // of `lesser`
  std::uint64_t sum_rows;  // whether the roots are arcs and the result is of vertices
  std::uint64_t* out;
};

// Subtracts the lesser products from a number, and writes it.
MOTIFLUX_DEVICE void write_less(const JoinArgs& args, std::uint64_t at, Number found, bool& failed) {
  failed |= found.high != 0;
  std::uint64_t left = found.low;
  for (std::uint64_t i = 0; i < args.count; ++i) {
    std::uint64_t less = args.lesser[i].table[at];
    failed |= multiply(less, args.lesser[i].times) || less > left;
    left -= less;
  }
  args.out[at] = left;
}

// The product at each root, or its sum over each row, minus the lesser products.
MOTIFLUX_DEVICE void join_tables(const JoinArgs& args) {
  const Lanes lanes;
  bool failed = false;
  Number row{};
  for_each_root(
      lanes, args.domain,
      [&](std::uint64_t root, std::uint64_t source) {
        const Number found = value_of(args.domain, args.product, root, source, failed);
        if (args.sum_rows == 0)
          write_less(args, root, found, failed);
        else
          failed |= add(row, found);
      },
      [&](std::uint64_t source) {
        if (args.sum_rows == 0) return;
        const Number found = sum(lanes, row, failed);
        row = {};
        if (lanes.leads()) write_less(args, source, found, failed);
      });
  fail(args.frame, failed);
}

}  // namespace motiflux::local_counts
