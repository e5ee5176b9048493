// Closed walks of five steps, from their greatest vertex x. All other vertices are less, so that a hub is
// reached only from its lesser neighbours.
//
//   x twice:  x a x b c    x once:  x a b c e      wedges[b] wedges from x to b; beyond[b] the sum of
//                                                  wedges[c] over the neighbours c of b
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "local_counts/five/triangles.hpp"

namespace motiflux::local_counts::five {

template <class Word>
class Walks {
 public:
  explicit Walks(const Triangles& triangles) : rows_(triangles.rows), ends_(triangles.vertices) {}

  // Adds, by add(vertex, number), the places of each vertex in walks; see search_edges. Calls workers.check()
  // after each row at most.
  template <class Looks, class Add>
  void search(std::uint32_t x, const Looks& workers, Add&& add) {
    open(x, workers);
    for (const std::uint32_t b : touched_) {
      workers.check();
      sum_beyond(b, x);
    }
    Word once = 0, closed = 0, lesser = 0;
    for (const std::uint32_t b : touched_) {
      const Word number = Word{ends_[b].wedges} * ends_[b].beyond;
      once += number;
      if (number != 0) add(b, 2 * number);
    }
    for_each_lesser(x, x, [&](std::uint32_t a) { lesser += 1, closed += ends_[a].wedges; });
    for_each_lesser(x, x, [&](std::uint32_t a) {
      Word beyond = 0;
      for_each_lesser(a, x, [&](std::uint32_t b) { beyond += ends_[b].beyond; });
      const Word number = 2 * beyond + closed + 2 * lesser * ends_[a].wedges;
      if (number != 0) add(a, number);
    });
    const Word own = once + 2 * lesser * closed;
    if (own != 0) add(x, own);
    for (const std::uint32_t b : touched_) ends_[b] = {};
    touched_.clear();
  }

  // Adds, by add(arc, number), the steps along each arc in walks; arcs of both directions have those of an
  // edge together.
  template <class Looks, class Add>
  void search_edges(std::uint32_t x, const Looks& workers, Add&& add) {
    open(x, workers);
    for (const std::uint32_t b : touched_) {
      workers.check();
      sum_beyond(b, x);
    }
    Word closed = 0, lesser = 0;
    for_each_lesser(x, x, [&](std::uint32_t a) {
      lesser += 1, closed += ends_[a].wedges;
      ends_[a].near = true;
    });
    for (const std::uint32_t b : touched_) {
      workers.check();
      const std::uint32_t* const last = rows_.end(b);
      for (const std::uint32_t* c = std::upper_bound(rows_.begin(b), last, b); c != last && *c < x; ++c)
        if (const std::uint32_t other = ends_[*c].wedges; other != 0)
          add(rows_.place_of(c), 2 * Word{ends_[b].wedges} * other);
    }
    for (std::uint64_t first = rows_.offsets[x]; first != rows_.offsets[x + 1]; ++first) {
      const std::uint32_t a = rows_.neighbors[first];
      if (a >= x) break;
      workers.check();
      Word beyond = 0;
      for (std::uint64_t arc = rows_.offsets[a]; arc != rows_.offsets[a + 1]; ++arc) {
        const std::uint32_t b = rows_.neighbors[arc];
        if (b >= x) break;
        beyond += ends_[b].beyond;
        add(arc, 2 * ends_[b].beyond + (ends_[b].near ? lesser : Word{0}));
      }
      add(first, 2 * (beyond + closed + lesser * ends_[a].wedges));
    }
    for_each_lesser(x, x, [&](std::uint32_t a) { ends_[a] = {}; });
    for (const std::uint32_t b : touched_) ends_[b] = {};
    touched_.clear();
  }

 private:
  struct End {
    Word beyond = 0;
    std::uint32_t wedges = 0;
    bool near = false;  // to x; of search_edges
  };

  template <class Looks>
  void open(std::uint32_t x, const Looks& workers) {
    for_each_lesser(x, x, [&](std::uint32_t a) {
      workers.check();
      for_each_lesser(a, x, [&](std::uint32_t b) {
        if (ends_[b].wedges++ == 0) touched_.push_back(b);
      });
    });
  }

  void sum_beyond(std::uint32_t b, std::uint32_t x) {
    const std::uint32_t* const last = rows_.end(b);
    const std::uint32_t wedges = ends_[b].wedges;
    Word beyond = 0;
    for (const std::uint32_t* c = std::upper_bound(rows_.begin(b), last, b); c != last && *c < x; ++c) {
      End& other = ends_[*c];
      if (other.wedges == 0) continue;
      beyond += other.wedges;
      other.beyond += wedges;
    }
    ends_[b].beyond += beyond;
  }

  // The neighbours of a vertex that are less than x.
  template <class Use>
  void for_each_lesser(std::uint32_t vertex, std::uint32_t x, Use&& use) {
    for (const std::uint32_t* at = rows_.begin(vertex); at != rows_.end(vertex) && *at < x; ++at) use(*at);
  }

  const view::Adjacency rows_;
  std::vector<End> ends_;  // all zero between searches
  std::vector<std::uint32_t> touched_;
};

}  // namespace motiflux::local_counts::five
