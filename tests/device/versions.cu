// Updates are written, read and collected at the same time: block 0 is the updater, warp 0 of block 1 the
// collector, and all other warps read rows at the moments of the updates.
#define MOTIFLUX_CHECKS_VERSIONS  // by assertions: in the emulator
#include "motiflux/lanes/group.hpp"
#include "motiflux/streaming/load.cuh"
#include "motiflux/streaming/team.hpp"
#include "motiflux/streaming/updater.hpp"

namespace streaming = motiflux::streaming;
namespace view = motiflux::view;
using motiflux::device::Backoff;
using motiflux::device::device_wide;
using motiflux::device::Order;
using Warp = motiflux::lanes::Group<32>;

struct VersionsArgs {
  streaming::StreamGraph graph;
  const streaming::Update* updates;
  streaming::Batch* batch;
  const std::uint32_t* asked;  // rows that each update asks for
  std::uint32_t* found;        // for each of them: the number of living ids, whether it was clean, the ids
  std::uint64_t* wrong;        // rows that were not the same when they were opened again
  std::uint64_t start;         // the last moment before the updates
  std::uint64_t update_count;
  std::uint64_t seed;
  std::uint32_t asked_of_update;
  std::uint32_t most_found;
  std::uint32_t batch_size;
  std::uint32_t lag;  // updates that are published before one is read
};

namespace {

__device__ std::uint32_t draw(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::uint32_t>(state >> 33);
}

__device__ void update(const VersionsArgs& args) {
  __shared__ std::uint32_t sums[32];
  const streaming::BlockTeam team(sums);
  std::uint64_t random = args.seed;
  for (std::uint64_t next = streaming::published(args.graph.stages) - args.start; next < args.update_count;) {
    const std::uint64_t left = args.update_count - next;
    std::uint32_t count = 1 + draw(random) % args.batch_size;
    if (count > left) count = static_cast<std::uint32_t>(left);
    const auto written = write_updates(team, Warp(), args.graph, args.updates + next, count, *args.batch);
    if (written != streaming::Written::kYes) {
      if (team.thread() == 0) {
        if (written == streaming::Written::kExhausted) args.graph.stages.progress->exhausted = 1;
        motiflux::device::system_wide(args.graph.stages.progress->stop).store(1u, Order::kRelaxed);
      }
      return;
    }
    next += count;
  }
}

__device__ void collect(const VersionsArgs& args) {
  const Warp warp;
  std::uint64_t random = args.seed + 1;
  Backoff backoff(8, 512);
  while (warp.ballot(warp.leads() && streaming::must_stop(args.graph.stages)) == 0) {
    if (!streaming::collect(warp, args.graph, 1 + draw(random) % 8)) backoff.wait();
    if (warp.ballot(streaming::is_all_collected(args.graph.stages, args.start + args.update_count)) != 0) return;
  }
}

// Writes the ids that live in a row; returns their number.
__device__ std::uint32_t write_living(const Warp& warp, const view::VersionedRow& row, std::uint32_t* ids,
                           std::uint32_t most) {
  std::uint32_t count = 0;
  for (std::uint32_t first = 0; first < row.size; first += 32) {
    const std::uint32_t entry = first + warp.lane();
    const bool lives = entry < row.size && (row.is_clean() || row.lives_at_moment(entry));
    const std::uint32_t all = warp.ballot(lives);
    const std::uint32_t place = count + motiflux::count_bits(all & motiflux::bits_below(warp.lane()));
    if (lives && place < most) ids[place] = row.neighbors[entry];
    count += motiflux::count_bits(all);
  }
  warp.sync();
  return count;
}

__device__ void read_update(const Warp& warp, const VersionsArgs& args, std::uint64_t moment, std::uint64_t& random) {
  for (std::uint32_t number = 0; number < args.asked_of_update; ++number) {
    const std::uint64_t place = (moment - args.start - 1) * args.asked_of_update + number;
    const std::uint32_t row = args.asked[place];
    std::uint32_t* found = args.found + place * (args.most_found + 2);
    const view::VersionedRow opened = draw(random) % 2 == 0 ? args.graph.versions.open(warp, row, moment)
                                                            : args.graph.versions.open(row, moment);
    const std::uint32_t count = write_living(warp, opened, found + 2, args.most_found);
    if (warp.leads()) {
      found[0] = count;
      found[1] = opened.is_clean() ? 1 : 0;
    }
    // Others go on meanwhile; the row still is what it was.
    for (std::uint32_t pause = draw(random) % 16; pause > 0; --pause) __nanosleep(64);
    const view::VersionedRow again = args.graph.versions.open(warp, row, moment);
    const bool same = again.neighbors == opened.neighbors && again.moment == opened.moment;
    if ((write_living(warp, again, found + 2, args.most_found) != count || !same) && warp.leads())
      device_wide(*args.wrong).fetch_add(1, Order::kRelaxed);
  }
}

__device__ void read(const VersionsArgs& args) {
  const Warp warp;
  const streaming::Stages& stages = args.graph.stages;
  std::uint64_t random = args.seed + 2 + warp.in_grid();
  for (;;) {
    const std::uint64_t moment = warp.broadcast(
        warp.leads() ? device_wide(stages.progress->taken).fetch_add(1, Order::kRelaxed) + 1 : 0);
    if (moment > args.start + args.update_count) return;
    Backoff backoff(8, 512);
    const std::uint64_t end = args.start + args.update_count;
    const std::uint64_t awaited = moment + args.lag < end ? moment + args.lag : end;
    for (;;) {
      const std::uint64_t last = warp.broadcast(warp.leads() ? streaming::published(stages) : 0);
      if (last >= awaited) break;
      if (warp.ballot(warp.leads() && streaming::must_stop(stages)) != 0) return;
      if (args.graph.strip != 0) streaming::help_to_copy<Warp>(args.graph);
      backoff.wait();
    }
    warp.sync();
    read_update(warp, args, moment, random);
    warp.sync();
    if (warp.leads()) streaming::finish(stages, moment);
  }
}

}  // namespace

extern "C" __global__ void run_stages(const __grid_constant__ VersionsArgs args) {
  if (blockIdx.x == 0)
    update(args);
  else if (blockIdx.x == 1 && threadIdx.x < 32)
    collect(args);
  else
    read(args);
}

// The updater alone, so that all versions stay.
extern "C" __global__ void run_updater(const __grid_constant__ VersionsArgs args) {
  update(args);
}
