// Counting cliques: a block or a warp takes a vertex, finds the edges among its greater neighbours, and
// counts the rest of the clique among them in bits.
//
// All vertices of a clique but the least are greater neighbours of the least. In a graph's degree order these
// are few, so that the edges among them fit into shared memory as bits; the last two vertices are then an AND
// and a population count for each word, whatever the number of choices.
#pragma once

#include "motiflux/match/units.cuh"

namespace motiflux::match {

class CliqueCount : public UnitWalk<CliqueCount> {
 public:
  using UnitWalk::UnitWalk;

  template <class Team>
  MOTIFLUX_DEVICE void count_unit(const Team& team, unsigned char* memory, const CliqueUnit unit) {
    const std::uint64_t begin = task_.rows.first(unit.root);
    const auto size = static_cast<std::uint32_t>(task_.rows.degree(unit.root));
    const bool in_bits = task_.vertices > 3;
    const auto stops = [this] { return read_stop(); };
    team.sync();  // no thread reads the last neighbourhood any more
    Neighborhood all(memory, size);
    all.open(team, task_.rows.at(begin), task_.rows, in_bits);
    if (in_bits) {
      // Rows of members before the slice are not read.
      stop_seen_ |= !all.find_links(
          team, task_.rows, unit.slice, 1, [&](std::uint32_t i, std::uint32_t rank) { all.link(i, rank); },
          stops);
      count_chains(team, all, unit);
    } else {
      stop_seen_ |= !all.find_links(
          team, task_.rows, unit.slice, unit.slices, [&](std::uint32_t, std::uint32_t) { ++found_; }, stops);
    }
    if (team.place() == 0) done_ += (size - unit.slice + unit.slices - 1) / unit.slices;
  }

 private:
  // The vertices of the clique from the second to the third last are taken one by one; the last two are
  // counted among the members that may follow. Each warp takes the second vertices at a stride.
  template <class Team>
  MOTIFLUX_DEVICE void count_chains(const Team& team, const Neighborhood& all, const CliqueUnit& unit) {
    const std::uint32_t words = all.words(), deepest = task_.vertices - 4;
    const std::uint32_t warp = team.place() / 32, step = Team::size() / 32 * unit.slices;
    // For each vertex taken one by one: the set of members that may follow, and the place in that set.
    std::uint32_t* sets = all.row(all.size()) + warp * (deepest + 1) * (words + 1);
    for (std::uint32_t i = unit.slice + warp * unit.slices; i < all.size() && !stop_seen_; i += step) {
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

  // Counts triangles among the members in a set, which has one word in each lane.
  MOTIFLUX_DEVICE void count_triples(const Neighborhood& all, std::uint32_t set) {
    for (std::uint32_t word = 0; word < all.words() && !stop_seen_; ++word)
      for (std::uint32_t left = warp_.broadcast(set, word); left != 0; left &= left - 1) {
        const std::uint32_t* row = all.row(32 * word + lowest_bit(left));
        count_pairs(all, warp_.lane() < all.words() ? set & row[warp_.lane()] : 0);
      }
  }

  // Counts edges among them: each lane has one bit of every word.
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

  // Counts larger cliques, or in larger neighbourhoods, with the sets in memory.
  MOTIFLUX_DEVICE void walk(const Neighborhood& all, std::uint32_t* sets, std::uint32_t* places,
                            std::uint32_t deepest) {
    const std::uint32_t words = all.words();
    for (std::uint32_t level = 0; !stop_seen_;) {
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

  // The first set bit at or behind a place, or kNowhere.
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
};

MOTIFLUX_DEVICE void count_cliques(const CliqueArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  CliqueCount(args.task, shared_memory).run();
}

}  // namespace motiflux::match
