// The graph of the neighbours of one vertex, the hub, and sums over its edges: pairs of neighbours that are
// in a triangle with the hub.
//
//   members   0 1 2 ...   neighbours of the hub that are in a triangle with it, ascending
//   starts    others[starts[i] .. starts[i + 1]) are the members adjacent to member i, ascending
//   bits      the same as a row of bits for each member, unless there are very many members
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/total.hpp"
#include "local_counts/five/triangles.hpp"
#include "sets/routines.hpp"

namespace motiflux::local_counts::five {

inline constexpr std::size_t kMostBitMembers = 1 << 14;  // 32 MiB of bits

class Hub {
 public:
  explicit Hub(const Triangles& triangles) : triangles_(triangles), place_(triangles.vertices, 0) {}

  std::vector<std::uint32_t> members, others;
  std::vector<std::uint64_t> arcs;  // from the hub to each member
  std::vector<std::size_t> starts;
  std::vector<std::uint64_t> bits;  // [members * words]
  std::size_t words = 0;            // of a row of bits; 0 without bits
  std::size_t above = 0;            // the first member that is greater than the hub

  std::vector<std::uint64_t>
      between;  // of each entry of others: the arc from member to member; see find_arcs

  std::size_t size() const { return members.size(); }

  void open(std::uint32_t hub) {
    members.clear(), arcs.clear(), others.clear(), starts.assign(1, 0);
    const view::Adjacency& rows = triangles_.rows;
    for (std::uint64_t arc = rows.offsets[hub]; arc != rows.offsets[hub + 1]; ++arc) {
      if (triangles_.closed[arc] == 0) continue;
      members.push_back(rows.neighbors[arc]);
      arcs.push_back(arc);
      place_[rows.neighbors[arc]] = static_cast<std::uint32_t>(members.size()) - 1;
    }
    above = static_cast<std::size_t>(std::upper_bound(members.begin(), members.end(), hub) - members.begin());
    for (std::size_t at = 0; at < size(); ++at) {
      for (const std::uint32_t other : triangles_.common(arcs[at], hub, members[at], room_))
        others.push_back(place_[other]);
      starts.push_back(others.size());
    }
    words = size() <= kMostBitMembers ? (size() + 63) / 64 : 0;
    bits.assign(size() * words, 0);
    for (std::size_t at = 0; at < size() && words > 0; ++at)
      for (std::size_t entry = starts[at]; entry != starts[at + 1]; ++entry)
        bits[at * words + others[entry] / 64] |= std::uint64_t{1} << (others[entry] % 64);
  }

  // Finds the arcs between members of the open hub.
  void find_arcs() {
    between.resize(others.size());
    for (std::size_t at = 0; at < size(); ++at) {
      std::uint64_t arc = triangles_.rows.offsets[members[at]];
      for (std::size_t entry = starts[at]; entry != starts[at + 1]; ++entry)
        between[entry] = arc = triangles_.arc_to(arc, members[at], members[others[entry]]);
    }
  }

 private:
  const Triangles& triangles_;
  std::vector<std::uint32_t> place_;  // of each member
  std::vector<std::uint32_t> room_;
};

// Sums over the triangles hub, i, j of members i < j, and over the members k that are adjacent to all three.
// Those of members are added; the caller clears them. For sums of vertices, `apexes` and `fives` are those of
// triangles and 5-cliques in which the hub is the least vertex: each is met once. For sums of edges they are
// those of all, and belong to the edge from the hub to the member.
template <class Word>
struct HubSums {
  explicit HubSums(bool of_edges) : of_edges(of_edges) {}

  const bool of_edges;
  std::vector<Word> cliques;  // of i: 4-cliques of hub and i, each twice
  std::vector<Word>
      opposite;              // of i: 4-cliques on the triangle, times triangles of the edge from the hub to j
  std::vector<Word> apexes;  // of k: 4-cliques on the triangle
  std::vector<Word> fives;   // of i: 5-cliques, each twice; of edges three times as often
  Word squares = 0;          // the square of the 4-cliques on the triangle
  Word own_fives = 0;        // of the hub: as fives

  // Of edges:
  std::vector<Word> squares_at;  // of i: as squares
  std::vector<Word> ends;        // of i: 4-cliques on the triangle, times the degree of j
  std::vector<Word> fans;        // of i: triangles of the edge from the hub to j, times those of i j
  std::vector<Word> far;         // of k: triangles of i j

  void clear(std::size_t size) {
    for (auto* one : {&cliques, &opposite, &apexes, &fives}) one->assign(size, 0);
    for (auto* one : {&squares_at, &ends, &fans, &far}) one->assign(of_edges ? size : 0, 0);
    squares = own_fives = 0;
  }
};

// Adds them for the open hub.
template <class Word>
class HubSearch {
 public:
  explicit HubSearch(const Triangles& triangles) : triangles_(triangles) {}

  void add(const Hub& hub, HubSums<Word>& sums, const Workers& workers);

 private:
  template <class Each>
  void add_by_bits(const Hub& hub, HubSums<Word>& sums, const Workers& workers, Each&& each);
  void add_by_lists(const Hub& hub, HubSums<Word>& sums, const Workers& workers);
  void add_fan(const Hub& hub, HubSums<Word>& sums, std::size_t i, std::size_t entry);
  void add_pair(const Hub& hub, HubSums<Word>& sums, std::size_t i, std::size_t j, std::uint64_t common);

  const Triangles& triangles_;
  std::vector<std::uint64_t> both_;             // bits of the members adjacent to two
  std::vector<std::uint8_t> near_, both_near_;  // marks of members: all zero between pairs
  std::vector<std::uint32_t> found_;
};

}  // namespace motiflux::local_counts::five
