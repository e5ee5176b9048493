// Sums over pairs of vertices p, q with two common neighbours or more, adjacent or not.
//
// Such a q is in two rows of neighbours of p, so it is found without the longest of these rows: a hub does
// not lead from each of its neighbours to all others. What a pair gives must be zero if it has one common
// neighbour.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "local_counts/five/triangles.hpp"

namespace motiflux::local_counts::five {

template <class Word>
class Pairs {
 public:
  explicit Pairs(const Triangles& triangles) : triangles_(triangles), others_(triangles.vertices) {}

  struct Other {
    Word edges = 0;            // between common neighbours of p and q
    Word roofs = 0;            // over common neighbours v: the triangles of v q
    std::uint32_t common = 0;  // common neighbours; 0 for p itself
  };

  // Counts for all q. Adds, by add_spine(arc from p to a, arc from a to b, number), the sum of the common
  // neighbours of p and q over the q that are adjacent to a and b, for each edge ab between neighbours of p.
  template <class AddSpine>
  void open(std::uint32_t p, const Workers& workers, AddSpine&& add_spine) {
    const view::Adjacency& rows = triangles_.rows;
    count_common(p, workers);
    for (std::uint64_t first = rows.offsets[p]; first != rows.offsets[p + 1]; ++first) {
      if (triangles_.closed[first] == 0) continue;
      workers.check();
      const std::uint32_t a = rows.neighbors[first];
      std::uint64_t arc = rows.offsets[a];
      for (const std::uint32_t b : triangles_.common(first, p, a, room_)) {
        if (b < a) continue;
        arc = triangles_.arc_to(arc, a, b);
        Word sum = 0;
        for (const std::uint32_t q : triangles_.common(arc, a, b, more_room_)) {
          ++others_[q].edges;
          sum += others_[q].common;
        }
        if (sum != 0) add_spine(first, arc, sum);
      }
    }
    others_[p].edges = 0;
  }

  // Calls use(arc from v to q, other) for the q that are adjacent to v, the end of an arc from p: for all
  // with two common neighbours or more, and some others.
  template <class Use>
  void for_each_behind(std::uint64_t first, Use&& use) const {
    const view::Adjacency& rows = triangles_.rows;
    if (first == longest_) {
      for (const std::uint64_t arc : in_longest_)
        if (const Other& other = others_[rows.neighbors[arc]]; other.common > 0) use(arc, other);
      return;
    }
    const std::uint32_t v = rows.neighbors[first];
    for (std::uint64_t arc = rows.offsets[v]; arc != rows.offsets[v + 1]; ++arc)
      if (const Other& other = others_[rows.neighbors[arc]]; other.common > 0) use(arc, other);
  }

  // Calls use(q, other) for each of these q, and closes p.
  template <class Use>
  void close(Use&& use) {
    for (const std::uint32_t q : found_) {
      if (others_[q].common > 0) use(q, others_[q]);
      others_[q] = {};
    }
    found_.clear(), in_longest_.clear();
  }

 private:
  void count_common(std::uint32_t p, const Workers& workers) {
    const view::Adjacency& rows = triangles_.rows;
    const std::uint64_t begin = rows.offsets[p], end = rows.offsets[p + 1];
    longest_ = begin;
    for (std::uint64_t first = begin; first != end; ++first)
      if (rows.degree(rows.neighbors[first]) > rows.degree(rows.neighbors[longest_])) longest_ = first;
    for (std::uint64_t first = begin; first != end; ++first) {
      if (first == longest_) continue;
      workers.check();
      const std::uint32_t v = rows.neighbors[first];
      for (std::uint64_t arc = rows.offsets[v]; arc != rows.offsets[v + 1]; ++arc) {
        const std::uint32_t q = rows.neighbors[arc];
        if (others_[q].common == 0) found_.push_back(q);
        meet(others_[q], arc);
      }
    }
    if (begin != end) meet_longest(rows.neighbors[longest_]);
    others_[p] = {};
  }

  void meet(Other& other, std::uint64_t arc) {
    ++other.common;
    other.roofs += triangles_.closed[arc];
  }

  // Looks the vertices found up in the longest row, or reads it, if there are many.
  void meet_longest(std::uint32_t v) {
    const view::Adjacency& rows = triangles_.rows;
    const std::uint64_t degree = rows.degree(v);
    if (found_.size() * static_cast<std::uint64_t>(std::bit_width(degree)) < degree) {
      for (const std::uint32_t q : found_) {
        const std::uint32_t* const at = sets::lower_bound({rows.begin(v), rows.end(v)}, q);
        if (at == rows.end(v) || *at != q) continue;
        in_longest_.push_back(rows.place_of(at));
      }
    } else {
      for (std::uint64_t arc = rows.offsets[v]; arc != rows.offsets[v + 1]; ++arc)
        if (others_[rows.neighbors[arc]].common > 0) in_longest_.push_back(arc);
    }
    for (const std::uint64_t arc : in_longest_) meet(others_[rows.neighbors[arc]], arc);
  }

  const Triangles& triangles_;
  std::vector<Other> others_;  // all zero between calls
  std::vector<std::uint32_t> found_;
  std::uint64_t longest_ = 0;              // the arc from p to the neighbour with the longest row
  std::vector<std::uint64_t> in_longest_;  // arcs from that neighbour to vertices found
  std::vector<std::uint32_t> room_, more_room_;
};

}  // namespace motiflux::local_counts::five
