// The kernel that draws samples: persistent warps, which take groups of 32 from their block's pool.
//
//   shared memory   pool | scratch of each warp (warp_scratch.hpp)
//
// Sample synchronisation (gSWORD, section 3.2): the lanes of a warp take a group through each level together,
// and the next group when all are done. Iteration synchronisation, for comparison: a lane whose sample died
// begins another at once, so no lane inherits; the results of groups are added up afterwards.
//
// The result of a group is the same for both, for any grid and any streaming, and equals
// csrc/sample/groups.cpp to the last bit. So this is compiled without contracting multiplications and
// additions.
#pragma once

#include "motiflux/sample/choose.hpp"
#include "motiflux/sample/pool.cuh"
#include "motiflux/sample/stream.cuh"
#include "motiflux/sample/task.hpp"

namespace motiflux::sample {

// A warp that takes samples from level to level.
template <class Policy, Streaming streaming>
class Warp {
 public:
  static constexpr bool kRefines = Policy::kPick == Pick::kRefined || Policy::kPick == Pick::kWeighted;

  MOTIFLUX_DEVICE Warp(const DrawArgs& args, unsigned char* memory)
      : graph_(args.graph), seed_(args.seed), watch_(lanes_, args.control) {
    unsigned char* place = memory + std::uint64_t{args.scratch_bytes} * lanes_.in_block();
    scratch_.lane_rows = reinterpret_cast<LaneRows*>(place);
    if (kRefines) place += sizeof(LaneRows);
    scratch_.window_weights = reinterpret_cast<WindowWeights*>(place);
    if (Policy::kPick == Pick::kWeighted) place += sizeof(WindowWeights);
    scratch_.values = reinterpret_cast<std::uint32_t*>(place);
  }

  MOTIFLUX_DEVICE const Lanes& lanes() const { return lanes_; }
  MOTIFLUX_DEVICE Watch& watch() { return watch_; }
  MOTIFLUX_DEVICE ScratchState begin() {
    return {&graph_, scratch_.values + lanes_.lane(), first_weight<Policy>(graph_)};
  }

  // Extends the live samples of lanes by one level, as `extend` does; returns the work of this lane.
  MOTIFLUX_DEVICE std::uint64_t extend(bool lives, ScratchState& state, std::uint32_t level, const Key& key) {
    if constexpr (!kRefines) {
      return lives ? sample::extend<Policy>(graph_, state, level, key) : 0;
    } else {
      const bool refined = lives && refines<Policy>(graph_, level);
      Row row{nullptr, 0, 0};
      Choice choice{0, 0};
      if (lives) row = row_to_choose_from<Policy>(graph_, state, level);
      if (lives && !refined) choice = choose_unrefined<Policy>(graph_, state, level, row, key);
      if (lanes_.ballot(refined) != 0) {
        Stream<Policy, streaming> stream(graph_, seed_, scratch_, lanes_, watch_);
        const Choice found = stream.choose(refined, state, level, row, key);
        if (refined) choice = found;
      }
      if (!lives) return 0;
      settle<Policy>(graph_, state, level, row, choice);
      return work_of(graph_, level, row, refined);
    }
  }

  // Lets lanes whose samples died continue with samples of other lanes, which are alive at `level`.
  MOTIFLUX_DEVICE void inherit(Inheritance mode, std::uint32_t alive, ScratchState& state,
                               std::uint32_t level) {
    if (mode == Inheritance::kOff || alive == bits_below(kGroup)) return;
    lanes_.sync();  // values of this level are visible
    const std::uint32_t lane = lanes_.lane();
    const Heritage from = heritage(mode, alive, lane);
    state.weight = lanes_.broadcast(state.weight, from.lane) / from.shares;
    if (from.lane != lane)
      for (std::uint32_t at = 0; at <= level; ++at) state.take(at, scratch_.values[at * kGroup + from.lane]);
    lanes_.sync();  // no lane overwrites a value before it is inherited
  }

 private:
  const CandidateGraph& graph_;
  const std::uint64_t seed_;
  Lanes lanes_;
  Watch watch_;
  WarpScratch scratch_;
};

// Writes the result of a group, from the weight and the work of each of its samples.
MOTIFLUX_DEVICE void write_group(const DrawArgs& args, const Lanes& lanes, std::uint32_t group, double weight,
                                 std::uint64_t work) {
  constexpr std::uint64_t kMostWork = ~std::uint32_t{0};
  const std::uint32_t valid = count_bits(lanes.ballot(weight > 0));
  const double sum = lanes.add_up(weight);
  work = lanes.sum(work);
  if (!lanes.leads()) return;
  args.weights[group] = sum;
  args.work[group] = static_cast<std::uint32_t>(work < kMostWork ? work : kMostWork);
  args.valid[group] = valid + 1;
}

template <class Policy, Streaming streaming>
MOTIFLUX_DEVICE void draw_group(const DrawArgs& args, Warp<Policy, streaming>& warp, std::uint32_t group) {
  const CandidateGraph& graph = args.graph;
  const Lanes& lanes = warp.lanes();
  const Key key{args.seed, (args.first + group) * kGroup + lanes.lane()};
  ScratchState state = warp.begin();
  std::uint64_t work = 0;
  std::uint32_t alive = bits_below(kGroup);
  for (std::uint32_t level = 0; level < graph.levels; ++level) {
    work += warp.extend((alive >> lanes.lane() & 1) != 0, state, level, key);
    if (warp.watch().stopped()) return;
    alive = lanes.ballot(state.weight > 0);
    if (alive == 0) break;
    const auto mode = static_cast<Inheritance>(args.inheritance);
    if (level + 1 == graph.levels) break;
    warp.inherit(mode, alive, state, level);
    if (mode != Inheritance::kOff) alive = bits_below(kGroup);
  }
  write_group(args, lanes, group, state.weight, work);
}

// The block's memory: the word of its pool, then the scratch of its warps.
inline constexpr std::uint32_t kPoolBytes = 16;

MOTIFLUX_DEVICE std::uint64_t& pool_word(unsigned char* memory) {
  auto& word = *reinterpret_cast<std::uint64_t*>(memory);
  if (threadIdx.x == 0) word = 0;
  __syncthreads();
  return word;
}

template <class Policy, Streaming streaming>
MOTIFLUX_DEVICE void draw_by_samples(const DrawArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(memory);
  Pool pool(pool_word(memory), args.control->taken, args.count, args.pool);
  Warp<Policy, streaming> warp(args, memory + kPoolBytes);
  const Lanes& lanes = warp.lanes();
  for (;;) {
    warp.watch().check();
    std::uint32_t group = args.count;
    if (lanes.leads() && !warp.watch().stopped())
      if (const Range taken = pool.take(1); taken.size() > 0) group = taken.begin;
    group = lanes.broadcast(group);
    if (group == args.count) return;
    draw_group(args, warp, group);
    if (warp.watch().stopped()) return;
  }
}

template <class Policy, Streaming streaming>
MOTIFLUX_DEVICE void draw_by_iterations(const DrawArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(memory);
  Pool pool(pool_word(memory), args.control->taken, args.count * kGroup, args.pool);
  Warp<Policy, streaming> warp(args, memory + kPoolBytes);
  const Lanes& lanes = warp.lanes();
  std::uint32_t sample = 0, level = 0;
  std::uint64_t work = 0;
  ScratchState state = warp.begin();
  bool lives = false, more = true;
  for (;;) {
    if (warp.watch().count_round()) return;
    const std::uint32_t idle = lanes.ballot(!lives);
    if (more && idle != 0) {
      Range taken{0, 0};
      if (lanes.leads()) taken = pool.take(count_bits(idle));
      taken.begin = lanes.broadcast(taken.begin);
      taken.end = lanes.broadcast(taken.end);
      more = taken.size() > 0;
      const std::uint32_t rank = count_bits(idle & bits_below(lanes.lane()));
      if (!lives && rank < taken.size()) {
        state = warp.begin();
        sample = taken.begin + rank;
        level = 0;
        work = 0;
        lives = true;
      }
    }
    if (lanes.ballot(lives) == 0) return;
    work += warp.extend(lives, state, level, Key{args.seed, args.first * kGroup + sample});
    if (warp.watch().stopped()) return;
    if (!lives) continue;
    ++level;
    if (state.weight > 0 && level < args.graph.levels) continue;
    constexpr std::uint64_t kMostWork = ~std::uint32_t{0};
    args.sample_weights[sample] = state.weight;
    args.sample_work[sample] = static_cast<std::uint32_t>(work < kMostWork ? work : kMostWork);
    lives = false;
  }
}

// Adds up groups of samples drawn separately; incomplete groups stay marked as not drawn.
MOTIFLUX_DEVICE void add_groups(const DrawArgs& args) {
  const Lanes lanes;
  const std::uint32_t warps = gridDim.x * (blockDim.x / kGroup);
  for (std::uint32_t group = lanes.in_grid(); group < args.count; group += warps) {
    const std::uint32_t sample = group * kGroup + lanes.lane();
    const std::uint32_t work = args.sample_work[sample];
    if (lanes.ballot(work == 0) != 0) continue;
    write_group(args, lanes, group, args.sample_weights[sample], work);
  }
}

}  // namespace motiflux::sample
