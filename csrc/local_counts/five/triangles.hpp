// The triangles of a graph, by their edges.
#pragma once

#include <cstdint>
#include <vector>

#include "common/parallel.hpp"
#include "motiflux/view/adjacency.hpp"
#include "sets/intersect.hpp"

namespace motiflux::local_counts::five {

//   arc u -> v, u < v:  members[begins[arc] .. + closed[arc]) are the common neighbours of u and v,
//   ascending.
class Triangles {
 public:
  // `rows` are symmetric, without repeated neighbours. Throws Cancelled.
  Triangles(const view::Adjacency& rows, std::uint32_t vertices, const Workers& workers);

  const view::Adjacency rows;
  const std::uint32_t vertices;
  const std::vector<std::uint64_t> closed;  // of each arc: its triangles
  std::vector<std::uint64_t> reverse;       // of each arc

  // The common neighbours of the ends of the arc u -> v. They are in `room` unless all lists are kept.
  sets::Span common(std::uint64_t arc, std::uint32_t u, std::uint32_t v,
                    std::vector<std::uint32_t>& room) const {
    const std::uint64_t size = closed[arc];
    if (begins_.empty()) return intersected(u, v, size, room);
    const std::uint32_t* const first = members_.data() + begins_[u < v ? arc : reverse[arc]];
    return {first, first + size};
  }

  // The arc u -> v, searched in the row of u from the entry `from` on.
  std::uint64_t arc_to(std::uint64_t from, std::uint32_t u, std::uint32_t v) const {
    return rows.place_of(sets::gallop(rows.at(from), rows.end(u), v));
  }

 private:
  sets::Span intersected(std::uint32_t u, std::uint32_t v, std::uint64_t size,
                         std::vector<std::uint32_t>& room) const;

  const sets::Policy policy_;
  std::vector<std::uint64_t> begins_;  // of each arc to a greater vertex; empty if lists are not kept
  std::vector<std::uint32_t> members_;
};

}  // namespace motiflux::local_counts::five
