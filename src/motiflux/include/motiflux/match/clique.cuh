// Counting cliques: a warp takes a vertex, finds which of its greater neighbours are neighbours of each
// other, and counts the rest of the clique among those in bits.
//
// All vertices of a clique but the least are greater neighbours of that one. In a graph's degree order these
// are few, so that which are linked fits into shared memory; the last two vertices are then an AND and a
// population count for each word, whatever the number of choices.
#pragma once

#include "motiflux/device/total.hpp"
#include "motiflux/match/clique_task.hpp"
#include "motiflux/match/neighborhood.hpp"

namespace motiflux::match {

class CliqueCount {
 public:
  MOTIFLUX_DEVICE explicit CliqueCount(const CliqueTask& task) : task_(task) {}

  MOTIFLUX_DEVICE void run(unsigned char* shared_memory) {
    // The warps of a block have scratch memory last: spilled units go to all multiprocessors.
    const std::uint64_t turn = std::uint64_t{warp_.in_block()} * gridDim.x + blockIdx.x;
    if (turn < task_.spill_warps)
      for (std::uint64_t unit = turn; unit < task_.spilled && !told_; unit += task_.spill_warps)
        count_unit(task_.memory + turn * task_.spill_bytes, task_.units[unit]);
    unsigned char* mine = shared_memory + warp_.in_block() * task_.shared_bytes;
    for (std::uint64_t unit, end; !told_ && take(unit, end);)
      for (; unit < end && !told_; ++unit) count_unit(mine, task_.units[unit]);
    report();
  }

 private:
  MOTIFLUX_DEVICE bool take(std::uint64_t& unit, std::uint64_t& end) {
    report();
    told_ = told_ || stopped();
    std::uint64_t taken = 0;
    if (warp_.leads())
      taken = device::device_wide(task_.control->taken)
                  .fetch_add(std::uint64_t{task_.chunk}, device::Order::kRelaxed);
    unit = task_.spilled + warp_.broadcast(taken);
    end = unit + task_.chunk < task_.unit_count ? unit + task_.chunk : task_.unit_count;
    return !told_ && unit < task_.unit_count;
  }

  // Force the choice of memory to be known where it is read: loads from shared memory are the faster ones.
  MOTIFLUX_DEVICE void count_unit(unsigned char* memory, const CliqueUnit unit) {
    const std::uint64_t begin = task_.rows.offsets[unit.root];
    const auto size = static_cast<std::uint32_t>(task_.rows.offsets[unit.root + 1] - begin);
    const bool in_bits = task_.vertices > 3;
    warp_.sync();  // nobody reads the last neighbourhood any more
    Neighborhood all(memory, size);
    all.open(warp_, task_.rows.neighbors + begin, in_bits);
    for (std::uint32_t strip = 0; strip < size; strip += 32) meet(all, unit, begin, strip, in_bits);
    warp_.sync();
    if (in_bits) count_chains(all, unit);
    if (warp_.leads()) done_ += (size - unit.slice + unit.slices - 1) / unit.slices;
  }

  // Looks for members in the rows of 32 members, eight lanes to a row: rows are mostly short.
  MOTIFLUX_DEVICE void meet(const Neighborhood& all, const CliqueUnit& unit, std::uint64_t begin,
                            std::uint32_t strip, bool in_bits) {
    const std::uint32_t mine = strip + warp_.lane();
    std::uint64_t row = 0;
    std::uint32_t length = 0;
    // All rows are needed in bits, but for those of the members that no vertex of the slice comes before.
    const bool serves = in_bits ? mine >= unit.slice : mine % unit.slices == unit.slice;
    if (mine < all.size() && serves) {
      const std::uint32_t member = task_.rows.neighbors[begin + mine];
      row = task_.rows.offsets[member];
      length = static_cast<std::uint32_t>(task_.rows.offsets[member + 1] - row);
    }
    const std::uint32_t members = all.size() - strip < 32 ? all.size() - strip : 32;
    for (std::uint32_t first = 0; first < members; first += kRows) {
      const std::uint32_t member = first + warp_.lane() / kRowLanes;
      const std::uint32_t* neighbors = task_.rows.neighbors + warp_.broadcast(row, member);
      const std::uint32_t end = warp_.broadcast(length, member);
      for (std::uint32_t at = warp_.lane() % kRowLanes; at < end; at += kRowLanes) {
        const std::uint32_t rank = all.find(neighbors[at]);
        if (rank == Neighborhood::kNowhere) continue;
        if (in_bits)
          all.link(strip + member, rank);
        else
          ++found_;
      }
    }
  }

  // The second vertex of the clique and those after it, up to the third but last, are taken one by one; among
  // the members that may follow, the last two are counted.
  //
  //   sets: for each vertex taken one by one, who may follow those before it; where that walk stands
  MOTIFLUX_DEVICE void count_chains(const Neighborhood& all, const CliqueUnit& unit) {
    const std::uint32_t words = all.words(), deepest = task_.vertices - 4;
    std::uint32_t* sets = all.behind(true);
    std::uint32_t* places = sets + (deepest + 1) * words;
    for (std::uint32_t i = unit.slice; i < all.size() && !told_; i += unit.slices) {
      if (deepest == 0) {
        count_pairs(all, all.row(i));
        continue;
      }
      for (std::uint32_t word = warp_.lane(); word < words; word += 32) sets[word] = all.row(i)[word];
      if (warp_.leads()) places[0] = i + 1;
      walk(all, sets, places, deepest);
    }
  }

  MOTIFLUX_DEVICE void walk(const Neighborhood& all, std::uint32_t* sets, std::uint32_t* places,
                            std::uint32_t deepest) {
    const std::uint32_t words = all.words();
    for (std::uint32_t level = 0; !told_;) {
      warp_.sync();
      const std::uint32_t* set = sets + level * words;
      const std::uint32_t taken = next_bit(set, words, places[level]);
      warp_.sync();
      if (taken == Neighborhood::kNowhere) {
        if (level-- == 0) return;
        continue;
      }
      std::uint32_t* next = sets + (level + 1) * words;
      for (std::uint32_t word = warp_.lane(); word < words; word += 32)
        next[word] = set[word] & all.row(taken)[word];
      if (warp_.leads()) {
        places[level] = taken + 1;
        places[level + 1] = taken + 1;
      }
      warp_.sync();
      if (level + 1 < deepest)
        ++level;
      else
        count_pairs(all, next);
    }
  }

  // The first bit at or behind a place, or kNowhere.
  static MOTIFLUX_DEVICE std::uint32_t next_bit(const std::uint32_t* set, std::uint32_t words,
                                                std::uint32_t place) {
    for (std::uint32_t word = place / 32; word < words; ++word) {
      const std::uint32_t left = word == place / 32 ? set[word] & ~bits_below(place % 32) : set[word];
      if (left != 0) return 32 * word + lowest_bit(left);
    }
    return Neighborhood::kNowhere;
  }

  // Pairs of a set's members that are neighbours: each lane has a bit of every word.
  MOTIFLUX_DEVICE void count_pairs(const Neighborhood& all, const std::uint32_t* set) {
    const std::uint32_t words = all.words();
    for (std::uint32_t word = 0; word < words; ++word) {
      const std::uint32_t bits = set[word];
      if ((bits >> warp_.lane() & 1) == 0) continue;
      const std::uint32_t* row = all.row(32 * word + warp_.lane());
      std::uint32_t pairs = 0;
      for (std::uint32_t at = word; at < words; ++at) pairs += count_bits(set[at] & row[at]);
      found_ += pairs;
    }
    spend(words);
  }

  MOTIFLUX_DEVICE void spend(std::uint32_t turns) {
    budget_ -= static_cast<std::int32_t>(turns);
    if (budget_ > 0) return;
    budget_ = kTurns;
    report();
    told_ = stopped();
  }

  // All lanes have the same answer.
  MOTIFLUX_DEVICE bool stopped() const {
    std::uint32_t reason = 0;
    if (warp_.leads()) reason = device::device_wide(task_.control->stop).load(device::Order::kRelaxed);
    return warp_.broadcast(reason) != static_cast<std::uint32_t>(Stop::kNone);
  }

  MOTIFLUX_DEVICE void report() {
    const std::uint64_t found = warp_.sum(found_);
    found_ = 0;
    if (!warp_.leads()) return;
    Control& control = *task_.control;
    if (done_ > 0) device::device_wide(control.done).fetch_add(done_, device::Order::kRelaxed);
    done_ = 0;
    if (found == 0) return;
    device::add_128(control.found, found);
    if (task_.limit == kNoLimit) return;
    const bool beyond = device::device_wide(control.found[1]).load(device::Order::kRelaxed) > 0 ||
                        device::device_wide(control.found[0]).load(device::Order::kRelaxed) > task_.limit;
    if (beyond)
      device::device_wide(control.stop)
          .fetch_max(static_cast<std::uint32_t>(Stop::kLimit), device::Order::kRelaxed);
  }

  static constexpr std::uint32_t kRowLanes = 8;
  static constexpr std::uint32_t kRows = 32 / kRowLanes;
  static constexpr std::int32_t kTurns = 1 << 13;  // words between looks at the stop flag

  const CliqueTask& task_;
  Warp warp_;
  std::uint64_t found_ = 0;  // this lane's share
  std::uint64_t done_ = 0;   // the leader's
  std::int32_t budget_ = kTurns;
  bool told_ = false;  // to stop
};

MOTIFLUX_DEVICE void count_cliques(const CliqueArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  CliqueCount(args.task).run(shared_memory);
}

}  // namespace motiflux::match
