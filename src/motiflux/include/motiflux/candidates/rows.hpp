// Rows between candidates: first their lengths, then offsets, then neighbours.
//
// A warp reads the row of one data vertex once for up to 32 row sets, a set per lane: a ballot per set finds
// the neighbours of a strip that belong to it.
#pragma once

#include "motiflux/candidates/filter.hpp"

namespace motiflux::candidates {

// Whether every query vertex has a candidate. If one has none, there are no rows.
MOTIFLUX_DEVICE bool any_everywhere(const Warp& warp, const SpaceArgs& args) {
  std::uint64_t left = args.report->started[warp.lane()];
  for (std::uint32_t round = 0; round < args.rounds; ++round)
    left -= args.report->removed[round][warp.lane()];
  return warp.ballot(warp.lane() < args.query_vertices && left == 0) == 0;
}

// This lane's row set among the 32 from `first` on; an empty one if there is none.
MOTIFLUX_DEVICE RowSet row_set_of_lane(const Warp& warp, const SpaceArgs& args, std::uint32_t first) {
  const std::uint32_t row_set = first + warp.lane();
  return row_set < args.row_set_count ? args.row_sets[row_set] : RowSet{0, 0, 0};
}

// Whether a vertex that serves one of the row set's query vertices meets the requirements of all. The plan
// ensures it: only such query vertices share a set of candidates.
MOTIFLUX_DEVICE bool fits(const SpaceArgs& args, std::uint32_t mask, std::uint32_t vertex,
                          std::uint32_t serves) {
  return (mask & serves) == 0 || (mask & ~required(args, vertex)) == 0;
}

// Calls take(lane, which, neighbor) for each strip of the vertex's rows and each lane whose row set has a row
// there: `which` is the mask of lanes whose neighbours are in it.
template <class Take>
MOTIFLUX_DEVICE void each_strip(const Warp& warp, const SpaceArgs& args, const RowSet& mine,
                                std::uint32_t vertex, std::uint32_t serves, Take&& take) {
  for (std::uint32_t kind = 0; kind < args.kind_count; ++kind) {
    const std::uint32_t taking = warp.ballot((mine.from & serves) != 0 && mine.kind == kind);
    if (taking == 0) continue;
    const std::uint32_t* const end = args.kinds[kind].end(vertex);
    for (const std::uint32_t* at = args.kinds[kind].begin(vertex); at < end; at += Warp::kLanes) {
      const std::uint32_t* const place = at + warp.lane();
      const std::uint32_t neighbor = place < end ? *place : 0;
      const std::uint32_t reached = place < end ? args.serves[neighbor] : 0;
      MOTIFLUX_ASSERT(fits(args, mine.from, vertex, serves) &&
                      (place >= end || fits(args, mine.to, neighbor, reached)));
      for_each_bit(taking, [&](std::uint32_t lane) {
        take(lane, warp.ballot((reached & warp.broadcast(mine.to, lane)) != 0), neighbor);
      });
    }
  }
}

// Writes the length of each row to the place of its offset; other places are zero already.
MOTIFLUX_DEVICE void measure(const SpaceArgs& args) {
  const Warp warp;
  if (!any_everywhere(warp, args)) return;
  for (std::uint32_t first = 0; first < args.row_set_count; first += Warp::kLanes) {
    const RowSet mine = row_set_of_lane(warp, args, first);
    const std::uint64_t row_set = first + warp.lane();
    std::uint64_t arcs = 0, longest = 0;
    each_candidate(warp, args, [&](std::uint32_t vertex, std::uint32_t serves) {
      std::uint64_t length = 0;
      each_strip(warp, args, mine, vertex, serves,
                 [&](std::uint32_t lane, std::uint32_t which, std::uint32_t) {
                   if (lane == warp.lane()) length += count_bits(which);
                 });
      if (length == 0) return;
      args.offsets[row_set * args.vertices + vertex] = length;
      arcs += length;
      if (length > longest) longest = length;
    });
    if (arcs == 0) continue;
    device::device_wide(args.report->arcs[row_set]).fetch_add(arcs, device::Order::kRelaxed);
    device::device_wide(args.report->longest[row_set]).fetch_max(longest, device::Order::kRelaxed);
  }
}

// The sum of the values of this lane and of lower lanes.
MOTIFLUX_DEVICE std::uint64_t sum_up_to(const Warp& warp, std::uint64_t value) {
  for (std::uint32_t step = 1; step < Warp::kLanes; step *= 2) {
    const std::uint64_t below = __shfl_up_sync(~0u, static_cast<unsigned long long>(value), step);
    if (warp.lane() >= step) value += below;
  }
  return value;
}

MOTIFLUX_DEVICE std::uint64_t rows_of(const SpaceArgs& args) {
  return std::uint64_t{args.row_set_count} * args.vertices;
}

MOTIFLUX_DEVICE std::uint64_t tiles_of(const SpaceArgs& args) {
  return (rows_of(args) + kTile - 1) / kTile;
}

// Lengths to offsets, in three kernels: the sum of each tile, the sums of all before it, and each offset.
MOTIFLUX_DEVICE void add_tiles(const SpaceArgs& args) {
  const Warp warp;
  for (std::uint64_t tile = warp.in_grid(); tile < tiles_of(args); tile += warps(args)) {
    std::uint64_t mine = 0;
    for (std::uint32_t in_tile = warp.lane(); in_tile < kTile; in_tile += Warp::kLanes) {
      const std::uint64_t row = tile * kTile + in_tile;
      if (row < rows_of(args)) mine += args.offsets[row];
    }
    const std::uint64_t sum = warp.sum(mine);
    if (warp.leads()) args.tiles[tile] = sum;
  }
}

// For one warp.
MOTIFLUX_DEVICE void place_tiles(const SpaceArgs& args) {
  const Warp warp;
  std::uint64_t before = 0;
  for (std::uint64_t first = 0; first < tiles_of(args); first += Warp::kLanes) {
    const std::uint64_t tile = first + warp.lane();
    const std::uint64_t own = tile < tiles_of(args) ? args.tiles[tile] : 0;
    const std::uint64_t up_to = before + sum_up_to(warp, own);
    if (tile < tiles_of(args)) args.tiles[tile] = up_to - own;
    before = warp.broadcast(up_to, Warp::kLanes - 1);
  }
  if (warp.leads()) args.offsets[rows_of(args)] = before;
}

MOTIFLUX_DEVICE void place_rows(const SpaceArgs& args) {
  const Warp warp;
  for (std::uint64_t tile = warp.in_grid(); tile < tiles_of(args); tile += warps(args)) {
    std::uint64_t before = args.tiles[tile];
    for (std::uint32_t in_tile = warp.lane(); in_tile < kTile; in_tile += Warp::kLanes) {
      const std::uint64_t row = tile * kTile + in_tile;
      const std::uint64_t own = row < rows_of(args) ? args.offsets[row] : 0;
      const std::uint64_t up_to = before + sum_up_to(warp, own);
      if (row < rows_of(args)) args.offsets[row] = up_to - own;
      before = warp.broadcast(up_to, Warp::kLanes - 1);
    }
  }
}

// Last kernel: writes the neighbours.
MOTIFLUX_DEVICE void fill(const SpaceArgs& args) {
  const Warp warp;
  for (std::uint32_t first = 0; first < args.row_set_count; first += Warp::kLanes) {
    const RowSet mine = row_set_of_lane(warp, args, first);
    const std::uint64_t row_set = first + warp.lane();
    each_candidate(warp, args, [&](std::uint32_t vertex, std::uint32_t serves) {
      std::uint64_t next = mine.from & serves ? args.offsets[row_set * args.vertices + vertex] : 0;
      each_strip(warp, args, mine, vertex, serves,
                 [&](std::uint32_t lane, std::uint32_t which, std::uint32_t neighbor) {
                   const std::uint64_t begin = warp.broadcast(next, lane);
                   if (which >> warp.lane() & 1)
                     args.neighbors[begin + count_bits(which & bits_below(warp.lane()))] = neighbor;
                   if (lane == warp.lane()) next += count_bits(which);
                 });
    });
  }
}

}  // namespace motiflux::candidates
