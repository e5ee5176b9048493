#include "local_counts/five/triangles.hpp"

#include <algorithm>
#include <span>

#include "local_counts/search_all.hpp"
#include "local_counts/wedges.hpp"

namespace motiflux::local_counts::five {
namespace {

constexpr std::uint64_t kMostMembers = std::uint64_t{1} << 28;  // 1 GiB

}  // namespace

Triangles::Triangles(const view::Adjacency& rows, std::uint32_t vertices, const Workers& workers)
    : rows(rows),
      vertices(vertices),
      closed(triangles_of_arcs(rows, vertices, workers)),
      reverse(rows.offsets[vertices]) {
  std::vector<std::uint64_t> next(rows.offsets, rows.offsets + vertices);
  std::uint64_t members = 0;
  for (std::uint32_t u = 0; u < vertices; ++u) {  // rows ascend: arcs to a vertex are met in its row's order
    workers.check();
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc) {
      reverse[arc] = next[rows.neighbors[arc]]++;
      if (rows.neighbors[arc] > u) members += closed[arc];
    }
  }
  if (members > kMostMembers) return;
  begins_.resize(reverse.size());
  members_.resize(members);
  std::uint64_t begin = 0;
  for (std::uint32_t u = 0; u < vertices; ++u) {
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc) {
      if (rows.neighbors[arc] < u) continue;
      begins_[arc] = begin;
      begin += closed[arc];
    }
  }
  const std::span offsets(rows.offsets, std::size_t{vertices} + 1);
  parallel_rows(workers, offsets, kRowArcs, [&](std::size_t first, std::size_t last) {
    std::vector<std::uint32_t> room;
    for (std::size_t at = first; at < last; ++at) {
      workers.check();
      const auto u = static_cast<std::uint32_t>(at);
      for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc) {
        if (rows.neighbors[arc] < u || closed[arc] == 0) continue;
        const sets::Span found = intersected(u, rows.neighbors[arc], closed[arc], room);
        std::copy(found.begin(), found.end(), members_.begin() + static_cast<std::ptrdiff_t>(begins_[arc]));
      }
    }
  });
}

sets::Span Triangles::intersected(std::uint32_t u, std::uint32_t v, std::uint64_t size,
                                  std::vector<std::uint32_t>& room) const {
  if (size == 0) return {};
  const std::size_t most = std::min(rows.degree(u), rows.degree(v));
  if (room.size() < most) room.resize(most);
  sets::intersect({rows.begin(u), rows.end(u)}, {rows.begin(v), rows.end(v)}, room.data(), policy_);
  return {room.data(), room.data() + size};
}

}  // namespace motiflux::local_counts::five
