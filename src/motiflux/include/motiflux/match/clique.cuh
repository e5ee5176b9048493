// Counting cliques: a block or a warp takes a vertex, finds which of its greater neighbours are neighbours of
// each other, and counts the rest of the clique among those in bits.
//
// All vertices of a clique but the least are greater neighbours of that one. In a graph's degree order these
// are few, so that which are linked fits into shared memory; the last two vertices are then an AND and a
// population count for each word, whatever the number of choices.
#pragma once

#include "motiflux/device/total.hpp"
#include "motiflux/match/clique_task.hpp"
#include "motiflux/match/limit.hpp"
#include "motiflux/match/neighborhood.hpp"

namespace motiflux::match {

class CliqueCount {
 public:
  MOTIFLUX_DEVICE CliqueCount(const CliqueTask& task, unsigned char* shared)
      : task_(task), taken_(reinterpret_cast<std::uint64_t*>(shared)), shared_(shared + kHeader) {}

  MOTIFLUX_DEVICE void run() {
    if (blockIdx.x < task_.spill_blocks)
      for (std::uint64_t unit = blockIdx.x; unit < task_.spilled && !block_stops();
           unit += task_.spill_blocks)
        count_unit(BlockTeam{}, task_.memory + blockIdx.x * task_.spill_bytes, task_.unit(unit));
    std::uint64_t unit = task_.spilled + blockIdx.x;  // the first without a counter: all start at once
    for (; unit < task_.blocks; unit = block_takes()) count_unit(BlockTeam{}, shared_, task_.unit(unit));
    // The block has taken a unit that is for a warp, which its first one has; unless none is left, or it was
    // told to stop.
    if (unit < task_.unit_count) {
      std::uint64_t end = warp_.in_block() == 0 ? unit + 1 : unit;
      unsigned char* mine = shared_ + warp_.in_block() * (task_.shared_bytes - kHeader);
      do {
        for (; unit < end && !told_; ++unit) count_unit(WarpTeam{}, mine, task_.unit(unit));
      } while (warp_takes(unit, end));
    }
    report();
  }

 private:
  MOTIFLUX_DEVICE bool block_stops() const {
    __syncthreads();
    if (threadIdx.x == 0) *taken_ = read_stop();
    __syncthreads();
    return *taken_ != 0;
  }

  // The next unit behind the spilled ones; none once the search is stopped. Warps must not go on then: units
  // that are for blocks may be left, and have no room in a warp's part of the memory.
  MOTIFLUX_DEVICE std::uint64_t block_takes() {
    __syncthreads();
    if (threadIdx.x == 0) *taken_ = read_stop() ? task_.unit_count : take(1);
    __syncthreads();
    return *taken_;
  }

  MOTIFLUX_DEVICE bool warp_takes(std::uint64_t& unit, std::uint64_t& end) {
    spend(kTurns / 16);  // the control is one line of memory, and units may take a microsecond each
    unit = warp_.broadcast(warp_.leads() ? take(task_.chunk) : 0);
    end = unit + task_.chunk < task_.unit_count ? unit + task_.chunk : task_.unit_count;
    return !told_ && unit < task_.unit_count;
  }

  MOTIFLUX_DEVICE std::uint64_t take(std::uint64_t units) const {
    const auto taken = device::device_wide(task_.control->taken);
    return task_.spilled + gridDim.x + taken.fetch_add(units, device::Order::kRelaxed);
  }

  template <class Team>
  MOTIFLUX_DEVICE void count_unit(const Team& team, unsigned char* memory, const CliqueUnit unit) {
    const std::uint64_t begin = task_.rows.offsets[unit.root];
    const auto size = static_cast<std::uint32_t>(task_.rows.offsets[unit.root + 1] - begin);
    const bool in_bits = task_.vertices > 3;
    team.sync();  // nobody reads the last neighbourhood any more
    Neighborhood all(memory, size);
    all.open(team, task_.rows, begin, in_bits);
    if (in_bits) {
      // Rows of members before the slice are not looked at.
      meet(team, all, unit.slice, 1, [&](std::uint32_t i, std::uint32_t rank) { all.link(i, rank); });
      team.sync();
      count_chains(team, all, unit);
    } else {
      meet(team, all, unit.slice, unit.slices, [&](std::uint32_t, std::uint32_t) { ++found_; });
    }
    if (team.place() == 0) done_ += (size - unit.slice + unit.slices - 1) / unit.slices;
  }

  // Looks for members in the rows of members first, first + step, ...: eight threads to a row, since rows are
  // mostly short, with some neighbours each under way.
  template <class Team, class Met>
  MOTIFLUX_DEVICE void meet(const Team& team, const Neighborhood& all, std::uint32_t first,
                            std::uint32_t step, Met&& met) {
    const std::uint32_t* neighbors = task_.rows.neighbors;
    const std::uint32_t stride = Team::size() / kRowThreads * step;
    for (std::uint32_t i = first + team.place() / kRowThreads * step; i < all.size(); i += stride) {
      const std::uint64_t begin = all.begin(i);
      const std::uint32_t length = all.length(i);
      for (std::uint32_t at = team.place() % kRowThreads; at < length; at += kRowThreads * kUnderWay) {
        std::uint32_t found[kUnderWay];
#pragma unroll
        for (std::uint32_t way = 0; way < kUnderWay; ++way) {
          const std::uint32_t place = at + way * kRowThreads;
          found[way] = place < length ? neighbors[begin + place] : Neighborhood::kNowhere;
        }
#pragma unroll
        for (std::uint32_t way = 0; way < kUnderWay; ++way) {
          if (found[way] == Neighborhood::kNowhere) continue;
          const std::uint32_t rank = all.find(found[way]);
          if (rank != Neighborhood::kNowhere) met(i, rank);
        }
      }
    }
  }

  // The second vertex of the clique and those after it, up to the third but last, are taken one by one; among
  // the members that may follow, the last two are counted. A warp takes every so many of the second vertices.
  template <class Team>
  MOTIFLUX_DEVICE void count_chains(const Team& team, const Neighborhood& all, const CliqueUnit& unit) {
    const std::uint32_t words = all.words(), deepest = task_.vertices - 4;
    const std::uint32_t warp = team.place() / 32, step = Team::size() / 32 * unit.slices;
    // For each vertex taken one by one: who may follow those before it, and where that walk stands.
    std::uint32_t* sets = all.row(all.size()) + warp * (deepest + 1) * (words + 1);
    for (std::uint32_t i = unit.slice + warp * unit.slices; i < all.size() && !told_; i += step) {
      if (words <= 32 && deepest <= 1) {
        const std::uint32_t word = warp_.lane() < words ? all.row(i)[warp_.lane()] : 0;
        deepest == 0 ? count_pairs(all, word) : count_triples(all, word);
        continue;
      }
      warp_.sync();
      for (std::uint32_t word = warp_.lane(); word < words; word += 32) sets[word] = all.row(i)[word];
      std::uint32_t* places = sets + (deepest + 1) * words;
      if (warp_.leads()) places[0] = i + 1;
      if (deepest == 0) {
        warp_.sync();
        count_pairs_of(all, sets);
      } else {
        walk(all, sets, places, deepest);
      }
    }
  }

  // Of the members in a set, which has a word in each lane, three that are all neighbours.
  MOTIFLUX_DEVICE void count_triples(const Neighborhood& all, std::uint32_t set) {
    for (std::uint32_t word = 0; word < all.words() && !told_; ++word)
      for (std::uint32_t left = warp_.broadcast(set, word); left != 0; left &= left - 1) {
        const std::uint32_t* row = all.row(32 * word + lowest_bit(left));
        count_pairs(all, warp_.lane() < all.words() ? set & row[warp_.lane()] : 0);
      }
  }

  // Two of them that are neighbours: each lane has a bit of every word.
  MOTIFLUX_DEVICE void count_pairs(const Neighborhood& all, std::uint32_t set) {
    for (std::uint32_t some = warp_.ballot(set != 0); some != 0; some &= some - 1) {
      const std::uint32_t word = lowest_bit(some);
      const bool mine = (warp_.broadcast(set, word) >> warp_.lane() & 1) != 0;
      const std::uint32_t* row = all.row(32 * word + (mine ? warp_.lane() : 0));
      std::uint32_t pairs = 0;
      for (std::uint32_t rest = some; rest != 0; rest &= rest - 1) {
        const std::uint32_t at = lowest_bit(rest);
        pairs += count_bits(warp_.broadcast(set, at) & row[at]);
      }
      if (mine) found_ += pairs;
    }
    spend(all.words());
  }

  // The same for larger cliques and neighbourhoods, with the sets in memory.
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
        count_pairs_of(all, next);
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

  MOTIFLUX_DEVICE void count_pairs_of(const Neighborhood& all, const std::uint32_t* set) {
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

  MOTIFLUX_DEVICE bool read_stop() const {
    return device::device_wide(task_.control->stop).load(device::Order::kRelaxed) !=
           static_cast<std::uint32_t>(Stop::kNone);
  }

  // All lanes of the warp have the same answer.
  MOTIFLUX_DEVICE bool stopped() const {
    return warp_.broadcast(static_cast<std::uint32_t>(warp_.leads() && read_stop())) != 0;
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
    look_at_limit(control, task_.limit);
  }

  static constexpr std::uint32_t kHeader = 16;  // of shared memory: what the block has taken
  static constexpr std::uint32_t kRowThreads = 8;
  static constexpr std::uint32_t kUnderWay = 4;
  static constexpr std::int32_t kTurns = 1 << 13;  // words between looks at the stop flag

  const CliqueTask& task_;
  std::uint64_t* taken_;
  unsigned char* shared_;
  Warp warp_;
  std::uint64_t found_ = 0;  // this lane's share
  std::uint64_t done_ = 0;   // the leader's
  std::int32_t budget_ = kTurns;
  bool told_ = false;  // to stop
};

MOTIFLUX_DEVICE void count_cliques(const CliqueArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  CliqueCount(args.task, shared_memory).run();
}

}  // namespace motiflux::match
