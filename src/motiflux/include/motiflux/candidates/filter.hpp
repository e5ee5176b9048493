// Candidate sets: label, degree and conditions first, then rounds of consistency along the query edges.
//
// A warp checks one data vertex for all query vertices that it may serve. Words are narrowed in place, by all
// warps at once: a warp may read old or new words, and both are sound.
#pragma once

#include "motiflux/candidates/space.hpp"
#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/device/chance.hpp"
#include "motiflux/lanes/group.hpp"

namespace motiflux::candidates {

using Warp = lanes::Group<32>;

// Strips of a row between two checks whether all needs are met.
inline constexpr std::uint32_t kStripsPerCheck = 4;

MOTIFLUX_DEVICE std::uint32_t word(const SpaceArgs& args, std::uint32_t vertex) {
  return device::device_wide(args.serves[vertex]).load(device::Order::kRelaxed);
}

// The query vertices whose labels, conditions and ids a data vertex has.
MOTIFLUX_DEVICE std::uint32_t required(const SpaceArgs& args, std::uint32_t vertex) {
  const std::uint32_t served = args.of_label[args.labels == nullptr ? 0 : args.labels[vertex]];
  return args.allowed == nullptr ? served : served & args.allowed[vertex];
}

// The word of a neighbour during a round: from before or after its change in this round. Any older word would
// be sound too.
MOTIFLUX_DEVICE std::uint32_t neighbor_word(const SpaceArgs& args, std::uint32_t of, std::uint32_t neighbor) {
  const std::uint64_t key = (std::uint64_t{of} << 32 | neighbor) + (std::uint64_t{args.round} << 59);
  if (device::chance(device::Place::kOldWord, key, 4)) return required(args, neighbor);
  return word(args, neighbor);
}

MOTIFLUX_DEVICE std::uint32_t warps(const SpaceArgs&) {
  return gridDim.x * (blockDim.x / Warp::kLanes);
}

// Calls visit(vertex, word) with all lanes for each vertex that serves any query vertex. Neighbouring
// vertices go to different warps, the last ones first: hubs have the highest ids.
template <class Visit>
MOTIFLUX_DEVICE void each_candidate(const Warp& warp, const SpaceArgs& args, Visit&& visit) {
  const std::uint64_t stride = warps(args);
  for (std::uint64_t first = warp.in_grid(); first < args.vertices; first += stride * Warp::kLanes) {
    const std::uint64_t mine = first + stride * warp.lane();
    const bool there = mine < args.vertices;
    const auto vertex = static_cast<std::uint32_t>(there ? args.vertices - 1 - mine : 0);
    const std::uint32_t serves = there ? word(args, vertex) : 0;
    for_each_bit(warp.ballot(serves != 0), [&](std::uint32_t lane) {
      visit(warp.broadcast(vertex, lane), warp.broadcast(serves, lane));
    });
  }
}

// The query vertices that some neighbour serves, at least until `wanted` are among them.
MOTIFLUX_DEVICE std::uint32_t reach(const Warp& warp, const SpaceArgs& args, const view::Adjacency& rows,
                                    std::uint32_t vertex, std::uint32_t wanted) {
  const std::uint32_t* const end = rows.end(vertex);
  std::uint32_t mine = 0, all = 0;
  for (const std::uint32_t* at = rows.begin(vertex); at < end && (all & wanted) != wanted;
       at += kStripsPerCheck * Warp::kLanes) {
    for (std::uint32_t strip = 0; strip < kStripsPerCheck; ++strip) {
      const std::uint32_t* const neighbor = at + strip * Warp::kLanes + warp.lane();
      if (neighbor < end) mine |= neighbor_word(args, vertex, *neighbor);
    }
    all = warp.unite(mine);
  }
  return all;
}

MOTIFLUX_DEVICE bool enough(const Warp& warp, const SpaceArgs& args, const Group& group,
                            std::uint32_t vertex) {
  const view::Adjacency& rows = args.kinds[group.kind];
  const std::uint32_t* const end = rows.end(vertex);
  std::uint32_t found = 0;
  for (const std::uint32_t* at = rows.begin(vertex); at < end && found < group.least; at += Warp::kLanes) {
    const std::uint32_t* const neighbor = at + warp.lane();
    found +=
        count_bits(warp.ballot(neighbor < end && (neighbor_word(args, vertex, *neighbor) & group.mask) != 0));
  }
  return found >= group.least;
}

// The query vertices that `vertex` may still serve, according to its neighbours.
MOTIFLUX_DEVICE std::uint32_t checked(const Warp& warp, const SpaceArgs& args, std::uint32_t vertex,
                                      std::uint32_t served) {
  for (std::uint32_t kind = 0; kind < args.kind_count; ++kind) {
    const std::uint32_t* const needs = args.needs[kind];
    std::uint32_t wanted = 0;
    for_each_bit(served, [&](std::uint32_t u) { wanted |= needs[u]; });
    if (wanted == 0) continue;
    const std::uint32_t reached = reach(warp, args, args.kinds[kind], vertex, wanted);
    for_each_bit(served, [&](std::uint32_t u) {
      if (needs[u] & ~reached) served &= ~(std::uint32_t{1} << u);
    });
  }
  for_each_bit(served, [&](std::uint32_t u) {
    for (std::uint32_t g = args.first_group[u]; g < args.first_group[u + 1]; ++g)
      if (!enough(warp, args, args.groups[g], vertex)) {
        served &= ~(std::uint32_t{1} << u);
        break;
      }
  });
  return served;
}

// Whether this warp skips a round, or one vertex of it, although it would pay: only in the emulator. A filter
// that stops anywhere is sound.
MOTIFLUX_DEVICE bool stops_early(const Warp& warp, const SpaceArgs& args) {
  if constexpr (device::kDrawsChances) {
    const std::uint64_t filter = warp.sum(args.report->started[warp.lane()] * (2 * warp.lane() + 1));
    return device::chance(device::Place::kNoRound, filter, 4) ||
           device::chance(device::Place::kStop, filter << 8 | args.round, 3);
  } else {
    return false;
  }
}

MOTIFLUX_DEVICE bool leaves_out(const SpaceArgs& args, std::uint32_t vertex) {
  return device::chance(device::Place::kLeaveOut, std::uint64_t{args.round} << 32 | vertex, 4);
}

// Whether round `round` is to be run: every query vertex has candidates left, and the last round paid.
MOTIFLUX_DEVICE bool pays(const Warp& warp, const SpaceArgs& args, std::uint32_t round) {
  std::uint64_t left = args.report->started[warp.lane()], last = 0;
  for (std::uint32_t earlier = 0; earlier < round; ++earlier)
    left -= last = args.report->removed[earlier][warp.lane()];
  if (warp.ballot(warp.lane() < args.query_vertices && left == 0) != 0) return false;
  const std::uint64_t removed = warp.sum(last);
  return round == 0 || (removed > 0 && removed * kLeastShare >= warp.sum(left));
}

// The query vertices that `vertex` may serve by itself.
MOTIFLUX_DEVICE std::uint32_t alone(const SpaceArgs& args, std::uint32_t vertex) {
  std::uint32_t served = required(args, vertex);
  if (served == 0) return 0;
  const std::uint64_t out = args.out.degree(vertex), in = args.in.degree(vertex);
  for_each_bit(served, [&](std::uint32_t u) {
    if (out < args.min_out[u] || in < args.min_in[u]) served &= ~(std::uint32_t{1} << u);
  });
  return served;
}

// First kernel: fills the words.
MOTIFLUX_DEVICE void start(const SpaceArgs& args) {
  const Warp warp;
  const std::uint64_t stride = std::uint64_t{warps(args)} * Warp::kLanes;
  std::uint64_t mine = 0;  // candidates of the query vertex with the lane's number
  for (std::uint64_t first = std::uint64_t{warp.in_grid()} * Warp::kLanes; first < args.vertices;
       first += stride) {
    const std::uint64_t vertex = first + warp.lane();
    std::uint32_t served = 0;
    if (vertex < args.vertices) {
      served = alone(args, static_cast<std::uint32_t>(vertex));
      args.serves[vertex] = served;
    }
    for_each_bit(warp.unite(served), [&](std::uint32_t u) {
      const std::uint32_t number = count_bits(warp.ballot(served >> u & 1));
      if (u == warp.lane()) mine += number;
    });
  }
  if (mine > 0)
    device::device_wide(args.report->started[warp.lane()]).fetch_add(mine, device::Order::kRelaxed);
}

// One round over all vertices that serve any query vertex; none if the last one was enough.
MOTIFLUX_DEVICE void sweep(const SpaceArgs& args) {
  const Warp warp;
  if (!pays(warp, args, args.round) || stops_early(warp, args)) return;
  std::uint64_t gone = 0;
  each_candidate(warp, args, [&](std::uint32_t vertex, std::uint32_t before) {
    if (leaves_out(args, vertex)) return;
    const std::uint32_t after = checked(warp, args, vertex, before);
    if (after == before) return;
    if (warp.leads()) device::device_wide(args.serves[vertex]).store(after, device::Order::kRelaxed);
    gone += (before & ~after) >> warp.lane() & 1;
  });
  if (gone > 0) {
    std::uint64_t& removed = args.report->removed[args.round][warp.lane()];
    device::device_wide(removed).fetch_add(gone, device::Order::kRelaxed);
  }
}

}  // namespace motiflux::candidates
