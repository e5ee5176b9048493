// Warp streaming (gSWORD, section 4.2): the lanes of a warp refine their candidates together.
//
// Rows have different lengths, and a warp takes as long as its longest. In a round each lane has the next
// block of its row, of up to 32 candidates, and these blocks are walked as one concatenated list, a window of
// 32 at a time:
//
//   lane                 0        1     2        3
//   block of its row     p q r          s t      u v w x
//   end of the block     3        3     5        9
//   window 0             p q r s t u v w x
//
// Algorithm 3 streams only full blocks (kLeader): the block's lane leads, and all lanes test candidates of
// its row; the rest of each row is walked by its lane alone. Short rows, frequent in candidate graphs, gain
// nothing by that. Packing gains if few lanes have many candidates, and because neighbouring lanes read
// neighbouring candidates; it costs a search for the owner of each. If all blocks are short and hardly more
// than the windows, lanes alone are as fast (kAdaptive). In all modes, each lane's reservoir gets the same
// blocks with the same random numbers.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/match/task.hpp"
#include "motiflux/sample/window.cuh"

namespace motiflux::sample {

enum class Streaming : std::uint32_t {
  kOff,       // each lane walks its own row
  kLeader,    // full blocks are tested by all lanes, one lane's after another's
  kPacked,    // the blocks of all lanes are tested as one list
  kAdaptive,  // the same, except that each lane walks rounds of short blocks alone
};

// Checks from time to time, all lanes together, whether the kernel must stop.
class Watch {
 public:
  MOTIFLUX_DEVICE Watch(const Lanes& lanes, match::Control* control) : lanes_(lanes), control_(control) {}

  MOTIFLUX_DEVICE bool stopped() const { return stopped_; }

  MOTIFLUX_DEVICE void check() {
    std::uint32_t stop = 0;
    if (lanes_.leads()) stop = device::device_wide(control_->stop).load(device::Order::kRelaxed);
    stopped_ = lanes_.broadcast(stop) != 0;
  }

  // Counts a round of work of some ten microseconds; true: give up.
  MOTIFLUX_DEVICE bool count_round() {
    if (++rounds_ % kRoundsBetweenChecks == 0) check();
    return stopped_;
  }

 private:
  static constexpr std::uint32_t kRoundsBetweenChecks = 64;

  const Lanes& lanes_;
  match::Control* control_;
  std::uint32_t rounds_ = 0;
  bool stopped_ = false;
};

template <class Policy, Streaming streaming>
class Stream {
 public:
  MOTIFLUX_DEVICE Stream(const CandidateGraph& graph, std::uint64_t seed, const WarpScratch& desk,
                         const Lanes& lanes, Watch& watch)
      : graph_(graph), seed_(seed), scratch_(desk), lanes_(lanes), watch_(watch) {}

  // Chooses a refined candidate of its row for each lane with `wants`. All lanes call it; after a stop by the
  // watch, the result is undefined.
  MOTIFLUX_DEVICE Choice choose(bool wants, const ScratchState& state, std::uint32_t level, const Row& row,
                                const Key& key) {
    CandidateReservoir<Policy> reservoir;
    const Row mine = wants ? row : Row{nullptr, 0, 0};
    std::uint64_t begin = 0;
    if constexpr (streaming == Streaming::kLeader || streaming == Streaming::kPacked)
      publish_row(level, mine, key);
    if constexpr (streaming == Streaming::kAdaptive)
      adapt(reservoir, state, level, mine, key);
    else if constexpr (streaming == Streaming::kPacked)
      pack(reservoir, level, mine, key);
    else {
      if constexpr (streaming == Streaming::kLeader) begin = collaborate(reservoir, level, mine, key);
      walk(reservoir, state, level, mine, begin, key);
    }
    return reservoir.choice(mine);
  }

 private:
  // The tests by one lane that take as long as the test of a window, and the size of a short block.
  static constexpr std::uint32_t kTestsOfWindow = 2;
  static constexpr std::uint32_t kShort = 8;

  // Shows this lane's row to the other lanes.
  MOTIFLUX_DEVICE void publish_row(std::uint32_t level, const Row& mine, const Key& key) {
    const std::uint32_t lane = lanes_.lane();
    lanes_.sync();  // all lanes have read the last rows
    scratch_.lane_rows->rows[lane] = mine;
    scratch_.lane_rows->ids[lane] = key.id;
    scratch_.lane_rows->levels[lane] = level;
    lanes_.sync();
  }

  // Tests the candidate at `index` of a lane's row.
  MOTIFLUX_DEVICE void test(Window<Policy>& window, std::uint32_t owner, bool there, std::uint64_t index) {
    const ScratchState state{&graph_, scratch_.values + owner, 0};
    window.test(lanes_, there, state, scratch_.lane_rows->levels[owner], scratch_.lane_rows->rows[owner],
                index, Key{seed_, scratch_.lane_rows->ids[owner]});
  }

  MOTIFLUX_DEVICE void pack(CandidateReservoir<Policy>& reservoir, std::uint32_t level, const Row& mine,
                            const Key& key) {
    Window<Policy> window(scratch_.window_weights);
    for (std::uint64_t begin = 0;; begin += kBlock) {
      const std::uint32_t size = block_size(mine, begin);
      const std::uint32_t before = lanes_.sums_before(size);
      const std::uint32_t all = lanes_.broadcast(before + size, kGroup - 1);
      if (all == 0 || watch_.count_round()) return;
      pack_round(window, reservoir, begin, size, before, all);
      if (size > 0) reservoir.end_block(key, level, static_cast<std::uint32_t>(begin / kBlock));
    }
  }

  MOTIFLUX_DEVICE void adapt(CandidateReservoir<Policy>& reservoir, const ScratchState& state,
                             std::uint32_t level, const Row& mine, const Key& key) {
    Window<Policy> window(scratch_.window_weights);
    bool published = false;
    for (std::uint64_t begin = 0;; begin += kBlock) {
      const std::uint32_t size = block_size(mine, begin);
      const std::uint32_t before = lanes_.sums_before(size);
      const std::uint32_t all = lanes_.broadcast(before + size, kGroup - 1);
      if (all == 0 || watch_.count_round()) return;
      const std::uint32_t windows = (all + kGroup - 1) / kGroup;
      if (lanes_.ballot(size > kShort || size > kTestsOfWindow * windows) != 0) {
        if (!published) publish_row(level, mine, key);
        published = true;
        pack_round(window, reservoir, begin, size, before, all);
      } else if (size > 0) {
        reservoir.refine_block(graph_, state, level, mine, begin, size, key);
      }
      if (size > 0) reservoir.end_block(key, level, static_cast<std::uint32_t>(begin / kBlock));
    }
  }

  // Tests the blocks of all lanes that begin at `begin`: `all` candidates, this lane's after `before` others.
  MOTIFLUX_DEVICE void pack_round(Window<Policy>& window, CandidateReservoir<Policy>& reservoir,
                                  std::uint64_t begin, std::uint32_t size, std::uint32_t before,
                                  std::uint32_t all) {
    for (std::uint32_t base = 0; base < all; base += kGroup) {
      const std::uint32_t at = base + lanes_.lane();
      const std::uint32_t owner = owner_of(before + size, at);
      test(window, owner, at < all, begin + at - lanes_.broadcast(before, owner));
      const std::uint32_t first = before > base ? before : base;
      const std::uint32_t last = before + size < base + kGroup ? before + size : base + kGroup;
      if (first < last) window.report_to(reservoir, first - base, last - first, begin + first - before);
    }
  }

  // The lane whose block contains `at`; the last lane, if none does.
  MOTIFLUX_DEVICE std::uint32_t owner_of(std::uint32_t behind, std::uint32_t at) const {
    std::uint32_t owner = 0;
    for (std::uint32_t step = kGroup / 2; step > 0; step /= 2)
      if (lanes_.broadcast(behind, owner + step - 1) <= at) owner += step;
    return owner;
  }

  // Returns the number of candidates of this lane's row that were tested.
  MOTIFLUX_DEVICE std::uint64_t collaborate(CandidateReservoir<Policy>& reservoir, std::uint32_t level,
                                            const Row& mine, const Key& key) {
    Window<Policy> window(scratch_.window_weights);
    std::uint64_t begin = 0;
    for (;;) {
      const std::uint32_t ready = lanes_.ballot(block_size(mine, begin) == kBlock);
      if (ready == 0 || watch_.count_round()) return begin;
      const std::uint32_t leader = lowest_bit(ready);
      test(window, leader, true, lanes_.broadcast(begin, leader) + lanes_.lane());
      if (lanes_.lane() != leader) continue;
      window.report_to(reservoir, 0, kBlock, begin);
      reservoir.end_block(key, level, static_cast<std::uint32_t>(begin / kBlock));
      begin += kBlock;
    }
  }

  // Each lane alone, from `begin` on.
  MOTIFLUX_DEVICE void walk(CandidateReservoir<Policy>& reservoir, const ScratchState& state,
                            std::uint32_t level, const Row& mine, std::uint64_t begin, const Key& key) {
    while (lanes_.ballot(begin < mine.size) != 0 && !watch_.count_round()) {
      if (begin >= mine.size) continue;
      reservoir.refine_block(graph_, state, level, mine, begin, block_size(mine, begin), key);
      reservoir.end_block(key, level, static_cast<std::uint32_t>(begin / kBlock));
      begin += kBlock;
    }
  }

  const CandidateGraph& graph_;
  const std::uint64_t seed_;
  const WarpScratch& scratch_;
  const Lanes& lanes_;
  Watch& watch_;
};

}  // namespace motiflux::sample
