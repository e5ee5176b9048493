// Sums over the graph of the neighbours of each vertex, the hub.
//
//   places  [members]         of each neighbour that is in a triangle with the hub, in the hub's row: members
//   members [members]         these neighbours, ascending
//   bits    [members][pitch]  bit j of row i: members i and j are adjacent; in shared memory if they fit
//
// A block takes a hub, or a part of it: every `parts`-th member i, after it made all bits. Its warps take a
// member each.
//
//   triangle hub, i, j   `common` members are adjacent to both: 4-cliques on the triangle
//   4-cycle of members   has two pairs of opposite members; found from each of its members
//   5-clique             hub < i < j < k: counted once, from its least vertex; for sums at edges, those of an
//                        edge are that of the hub to a member, and are found from each hub
//   both [warps][members]    members adjacent to both a warp's member and another one
#pragma once

#include "motiflux/local_counts/five/arrays.cuh"

namespace motiflux::local_counts {

struct HubArgs {
  FiveGraph graph;
  Frame frame;
  const std::uint32_t* order;  // the vertices, those of the longest rows first
  std::uint32_t begin;         // the first of them, and their number
  std::uint32_t count;
  std::uint32_t parts;
  std::uint32_t longest;  // row of these
  std::uint64_t* taken;
  std::uint64_t near_words;  // words of a block in shared memory, behind the scratch
  std::uint64_t far_words;   // words of a block in device memory; a hub that needs more of both fails
  std::uint32_t* far;        // [blocks][far_words]
  std::uint32_t* members;    // [blocks][2 + warps][longest]
};

template <bool kAtEdges>
class HubCounter {
  static constexpr std::uint64_t kWordSteps = 5, kBitSteps = 12;  // for a word, and for a bit

 public:
  MOTIFLUX_DEVICE HubCounter(const HubArgs& args, unsigned char* shared)
      : args_(args),
        graph_(args.graph),
        scratch_(*reinterpret_cast<Scratch*>(shared)),
        near_(reinterpret_cast<std::uint32_t*>(shared + kScratchBytes)),
        warp_(lanes_.in_block()),
        warps_(blockDim.x / Lanes::kLanes),
        members_(args.members + std::uint64_t{blockIdx.x} * (2 + warps_) * args.longest),
        places_(members_ + args.longest),
        both_(places_ + std::uint64_t{1 + warp_} * args.longest) {}

  MOTIFLUX_DEVICE void run() {
    const std::uint64_t all = std::uint64_t{args_.count} * args_.parts;
    for (;;) {
      __syncthreads();  // no thread uses the memory of the last hub any more
      if (threadIdx.x == 0) {
        scratch_.taken = all;
        if (!is_stopped(args_.frame)) scratch_.taken = device::fast_add(*args_.taken, std::uint64_t{1});
      }
      __syncthreads();
      const std::uint64_t taken = scratch_.taken;
      if (taken >= all) return;
      take(args_.order[args_.begin + taken / args_.parts], static_cast<std::uint32_t>(taken % args_.parts));
      if (threadIdx.x == 0) tell_done(args_.frame, 1);
    }
  }

 private:
  MOTIFLUX_DEVICE void take(std::uint32_t hub, std::uint32_t part) {
    row_ = graph_.rows.offsets[hub];
    if (warp_ == 0) find_members(hub);
    __syncthreads();
    size_ = scratch_.counts[0];
    above_ = scratch_.counts[1];
    average_ = scratch_.counts[2];
    if (size_ == 0) return;
    words_ = (size_ + 31) / 32;
    pitch_ = words_ | 1;  // rows begin in different banks
    const std::uint64_t words = std::uint64_t{size_} * pitch_;
    if (words > args_.near_words && words > args_.far_words) return fail(args_.frame, true);
    bits_ = words <= args_.near_words ? near_ : args_.far + blockIdx.x * args_.far_words;
    for (std::uint64_t at = threadIdx.x; at < words; at += blockDim.x) bits_[at] = 0;
    __syncthreads();
    for (std::uint32_t i = warp_; i < size_; i += warps_) fill(i, i % args_.parts == part);
    __syncthreads();
    HubSums sums;
    for (std::uint32_t i = part + warp_ * args_.parts; i < size_ && !stopped(); i += warps_ * args_.parts) {
      if constexpr (kAtEdges) {
        add_triangles_at(i);
        if (graph_.sums != nullptr) add_cycles_at(i);
      } else {
        add_triangles(i, sums);
        add_cycles(i, sums);
      }
    }
    if constexpr (kAtEdges) return;
    put(69, hub, sums.cycles);
    put(71, hub, sums.squares);
    put(72, hub, sums.fives);
  }

  // Sums of the hub, each lane its share.
  struct HubSums {
    std::uint64_t cycles = 0, squares = 0, fives = 0;
  };

  MOTIFLUX_DEVICE bool stopped() const {
    return lanes_.broadcast(static_cast<std::uint32_t>(lanes_.leads() && is_stopped(args_.frame))) != 0;
  }

  // Adds the shares of all lanes.
  MOTIFLUX_DEVICE void put(std::uint32_t orbit, std::uint32_t vertex, std::uint64_t share) const {
    const std::uint64_t found = lanes_.sum(share);
    if (lanes_.leads()) graph_.add(orbit, vertex, found);
  }

  MOTIFLUX_DEVICE const std::uint32_t* bits_of(std::uint32_t member) const {
    return bits_ + std::uint64_t{member} * pitch_;
  }

  MOTIFLUX_DEVICE std::uint64_t arc_of(std::uint32_t member) const { return row_ + places_[member]; }

  MOTIFLUX_DEVICE void find_members(std::uint32_t hub) const {
    const auto degree = static_cast<std::uint32_t>(graph_.rows.degree(hub));
    std::uint32_t size = 0, lesser = 0;
    std::uint64_t entries = 0;
    for (std::uint32_t first = 0; first < degree; first += Lanes::kLanes) {
      const std::uint32_t at = first + lanes_.lane();
      const std::uint64_t closed = at < degree ? graph_.closed[row_ + at] : 0;
      const std::uint32_t all = lanes_.ballot(closed > 0);
      const std::uint32_t member = closed > 0 ? graph_.rows.neighbors[row_ + at] : 0;
      if (closed > 0) {
        const std::uint32_t place = size + count_bits(all & bits_below(lanes_.lane()));
        members_[place] = member;
        places_[place] = at;
      }
      entries += closed;
      lesser += count_bits(lanes_.ballot(closed > 0 && member < hub));
      size += count_bits(all);
    }
    entries = lanes_.sum(entries);
    if (!lanes_.leads()) return;
    scratch_.counts[0] = size;
    scratch_.counts[1] = lesser;
    scratch_.counts[2] = static_cast<std::uint32_t>(size == 0 ? 0 : entries / size);
  }

  // Sets the bits of a member; if it is in the part, finds the sums of its arc over its triangles.
  MOTIFLUX_DEVICE void fill(std::uint32_t i, bool in_part) const {
    const sets::Span list = graph_.common(arc_of(i));
    std::uint64_t ends = 0, sides = 0;
    for (std::uint64_t at = lanes_.lane(); at < list.size(); at += Lanes::kLanes) {
      const std::uint32_t w = list.first[at];
      const auto j = static_cast<std::uint32_t>(sets::lower_bound(members_, members_ + size_, w) - members_);
      device::fast_or(bits_[std::uint64_t{i} * pitch_ + j / 32], 1u << j % 32);
      if (!in_part) continue;
      ends += graph_.rows.degree(w);
      sides += graph_.closed[arc_of(j)];
    }
    if (!in_part) return;
    ends = lanes_.sum(ends);
    sides = lanes_.sum(sides);
    if (!lanes_.leads()) return;
    graph_.ends[arc_of(i)] = ends;
    graph_.sides[arc_of(i)] = sides;
  }

  // The members adjacent to both.
  MOTIFLUX_DEVICE std::uint32_t common_of(const std::uint32_t* a, const std::uint32_t* b) const {
    std::uint32_t found = 0;
    for (std::uint32_t word = lanes_.lane(); word < words_; word += Lanes::kLanes)
      found += count_bits(a[word] & b[word]);
    return lanes_.sum_of(found, Lanes::kLanes);
  }

  // The same, by one lane.
  MOTIFLUX_DEVICE std::uint32_t common_in_row(const std::uint32_t* a, const std::uint32_t* b) const {
    std::uint32_t found = 0;
    for (std::uint32_t word = 0; word < words_; ++word) found += count_bits(a[word] & b[word]);
    return found;
  }

  // The members behind j that are adjacent to i, j and k, by one lane.
  MOTIFLUX_DEVICE std::uint64_t behind(const std::uint32_t* of_i, const std::uint32_t* of_j,
                                       const std::uint32_t* of_k, std::uint32_t j) const {
    const std::uint32_t first = j / 32;
    std::uint64_t found = count_bits(of_i[first] & of_j[first] & of_k[first] & ~bits_below(j % 32 + 1));
    for (std::uint32_t at = first + 1; at < words_; ++at) found += count_bits(of_i[at] & of_j[at] & of_k[at]);
    return found;
  }

  // Adds what the triangles of the hub and member i give.
  MOTIFLUX_DEVICE void add_triangles(std::uint32_t i, HubSums& sums) const {
    const std::uint32_t* const of_i = bits_of(i);
    std::uint64_t cliques = 0, opposite = 0, fives = 0;  // the same in all lanes; fives: each lane its share
    for (std::uint32_t word = 0; word < words_; ++word) {
      for_each_bit(of_i[word], [&](std::uint32_t bit) {
        const std::uint32_t j = word * 32 + bit;
        const std::uint32_t common = common_of(of_i, bits_of(j));
        if (common == 0) return;
        cliques += common;
        opposite += common * graph_.closed[arc_of(j)];
        if (j < i) return;
        if (lanes_.leads()) sums.squares += squared(common);
        if (i >= above_) fives += add_members(of_i, j, common);
      });
    }
    sums.fives += fives;
    put(72, members_[i], fives);
    if (!lanes_.leads()) return;
    graph_.cliques[arc_of(i)] = cliques;
    graph_.add(66, members_[i], opposite);
  }

  // Adds to the numbers of the members k adjacent to i and j: 4-cliques, and 5-cliques with a member behind
  // j. Returns these 5-cliques, each lane its share.
  MOTIFLUX_DEVICE std::uint64_t add_members(const std::uint32_t* of_i, std::uint32_t j,
                                            std::uint32_t common) const {
    const std::uint32_t* const of_j = bits_of(j);
    std::uint64_t found = 0;
    for (std::uint32_t word = 0; word < words_; ++word) {
      const std::uint32_t both = of_i[word] & of_j[word];
      if ((both >> lanes_.lane() & 1) == 0) continue;
      const std::uint32_t k = word * 32 + lanes_.lane();
      graph_.add(70, members_[k], common);
      if (k <= j) continue;
      const std::uint64_t number = behind(of_i, of_j, bits_of(k), j);
      graph_.add(72, members_[k], 2 * number);
      found += number;
    }
    put(72, members_[j], found);
    return found;
  }

  // Whether walking the rows of the members adjacent to member i takes less than meeting its row with all
  // others. Steps of a warp: the bits of a row are divided between lanes by words.
  MOTIFLUX_DEVICE bool is_sparse(std::uint32_t i) const {
    const std::uint64_t groups = (size_ + Lanes::kLanes - 1) / Lanes::kLanes;
    const std::uint32_t busy = words_ < Lanes::kLanes ? words_ : Lanes::kLanes;
    const std::uint64_t walk = 4 + words_ / Lanes::kLanes * 4 + kBitSteps * average_ / busy;
    return graph_.closed[arc_of(i)] * walk + 4 * groups < kWordSteps * groups * words_;
  }

  // Finds, for each other member, those adjacent to both it and member i.
  MOTIFLUX_DEVICE void find_both(std::uint32_t i) const {
    const std::uint32_t* const of_i = bits_of(i);
    if (!is_sparse(i)) {
      for (std::uint32_t k = lanes_.lane(); k < size_; k += Lanes::kLanes)
        both_[k] = k == i ? 0 : common_in_row(of_i, bits_of(k));
      lanes_.sync();
      return;
    }
    for (std::uint32_t k = lanes_.lane(); k < size_; k += Lanes::kLanes) both_[k] = 0;
    lanes_.sync();
    for (std::uint32_t word = 0; word < words_; ++word) {
      for_each_bit(of_i[word], [&](std::uint32_t bit) {
        const std::uint32_t* const of_j = bits_of(word * 32 + bit);
        // A lane takes the same words of all rows: no two add to one number.
        for (std::uint32_t at = lanes_.lane(); at < words_; at += Lanes::kLanes)
          for_each_bit(of_j[at], [&](std::uint32_t there) { ++both_[at * 32 + there]; });
      });
    }
    lanes_.sync();
    if (lanes_.leads()) both_[i] = 0;
    lanes_.sync();
  }

  // The 4-cycles of members through member i, each lane its share: it has a pair with one opposite member in
  // each.
  MOTIFLUX_DEVICE std::uint64_t cycles_of(std::uint32_t i) const {
    find_both(i);
    std::uint64_t cycles = 0;
    for (std::uint32_t k = lanes_.lane(); k < size_; k += Lanes::kLanes) {
      const std::uint64_t both = both_[k];
      if (both > 1) cycles += both * (both - 1) / 2;
    }
    return cycles;
  }

  // Adds the 4-cycles of members through member i.
  MOTIFLUX_DEVICE void add_cycles(std::uint32_t i, HubSums& sums) const {
    const std::uint64_t cycles = cycles_of(i);
    sums.cycles += cycles;
    put(68, members_[i], cycles);
  }

  MOTIFLUX_DEVICE void put_at(std::uint32_t orbit, std::uint32_t member, std::uint64_t share) const {
    const std::uint64_t found = lanes_.sum(share);
    if (lanes_.leads()) graph_.add_at(orbit, arc_of(member), found);
  }

  // As add_triangles, for the edge from the hub to member i. Without sums, only the 4-cliques.
  MOTIFLUX_DEVICE void add_triangles_at(std::uint32_t i) const {
    const std::uint32_t* const of_i = bits_of(i);
    // The same in all lanes; fives: each lane its share.
    std::uint64_t cliques = 0, opposite = 0, squares = 0, ends = 0, fives = 0;
    for (std::uint32_t word = 0; word < words_; ++word) {
      for_each_bit(of_i[word], [&](std::uint32_t bit) {
        const std::uint32_t j = word * 32 + bit;
        const std::uint32_t common = common_of(of_i, bits_of(j));
        cliques += common;
        if (common == 0 || graph_.sums == nullptr) return;
        opposite += common * graph_.closed[arc_of(j)];
        squares += squared(common);
        ends += common * graph_.rows.degree(members_[j]);
        if (j > i) fives += add_members_at(i, j, common);
      });
    }
    if (lanes_.leads()) graph_.cliques[arc_of(i)] = cliques;
    if (graph_.sums == nullptr) return;
    put_at(67, i, fives);
    if (!lanes_.leads()) return;
    graph_.add_at(50, arc_of(i), ends);
    graph_.add_at(61, arc_of(i), opposite);
    graph_.add_at(66, arc_of(i), squares);
  }

  // As add_members, for the edges from the hub to members; and the triangles at the edge from i to j.
  MOTIFLUX_DEVICE std::uint64_t add_members_at(std::uint32_t i, std::uint32_t j, std::uint32_t common) const {
    const std::uint32_t *const of_i = bits_of(i), *const of_j = bits_of(j);
    const std::uint64_t closed = graph_.closed[graph_.arc_to(members_[i], members_[j])];
    std::uint64_t found = 0;
    for (std::uint32_t word = 0; word < words_; ++word) {
      if ((of_i[word] & of_j[word] & 1u << lanes_.lane()) == 0) continue;
      const std::uint32_t k = word * 32 + lanes_.lane();
      graph_.add_at(65, arc_of(k), common);
      graph_.add_at(60, arc_of(k), closed);
      const std::uint64_t number = k > j ? behind(of_i, of_j, bits_of(k), j) : 0;
      graph_.add_at(67, arc_of(k), 2 * number);
      found += number;
    }
    put_at(67, j, found);
    return found;
  }

  // As add_cycles, for the edge from the hub to member i, and for the edges of the cycles.
  MOTIFLUX_DEVICE void add_cycles_at(std::uint32_t i) const {
    const std::uint32_t* const of_i = bits_of(i);
    put_at(64, i, cycles_of(i));
    // A cycle with the edge from i to j has another neighbour k of j, and another common one of i and k.
    for (std::uint32_t word = i / 32; word < words_; ++word) {
      for_each_bit(of_i[word], [&](std::uint32_t bit) {
        const std::uint32_t j = word * 32 + bit;
        if (j < i) return;
        const std::uint32_t* const of_j = bits_of(j);
        std::uint64_t found = 0;
        for (std::uint32_t at = 0; at < words_; ++at) {
          const std::uint32_t k = at * 32 + lanes_.lane();
          if ((of_j[at] >> lanes_.lane() & 1) != 0 && k != i) found += both_[k] - 1;
        }
        found = lanes_.sum(found);
        if (lanes_.leads() && found > 0) graph_.add_at(63, graph_.arc_to(members_[i], members_[j]), found);
      });
    }
    lanes_.sync();  // all lanes have read the numbers of this member
  }

  const HubArgs& args_;
  const FiveGraph& graph_;
  Lanes lanes_;
  Scratch& scratch_;
  std::uint32_t* near_;
  const std::uint32_t warp_, warps_;
  std::uint32_t* members_;
  std::uint32_t* places_;
  std::uint32_t* both_;
  std::uint64_t row_ = 0;
  std::uint32_t* bits_ = nullptr;
  std::uint32_t size_ = 0, above_ = 0, words_ = 0, pitch_ = 0;
  std::uint32_t average_ = 0;  // number of members adjacent to a member
};

// The body of the kernels. Sum 69 is four times that of the equations: its division by 4 is close.cuh's.
template <bool at_edges>
MOTIFLUX_DEVICE void count_hubs(const HubArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  HubCounter<at_edges>(args, shared_memory).run();
}

}  // namespace motiflux::local_counts
