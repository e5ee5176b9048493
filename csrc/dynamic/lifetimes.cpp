#include "dynamic/lifetimes.hpp"

#include <algorithm>

namespace motiflux::dynamic {

void Lifetimes::start(int partitions) {
  for (const std::vector<End>& ends : partitions_)
    for (const End& end : ends) touched_[end.vertex / 64] = 0;
  partitions_.resize(static_cast<std::size_t>(partitions));
  for (std::vector<End>& ends : partitions_) ends.clear();
  ranges_.resize(graph_.vertices());
  touched_.resize(graph_.vertices() / 64 + 1, 0);
}

void Lifetimes::fill(int partition, std::vector<End>& ends) {
  auto& own = partitions_[static_cast<std::size_t>(partition)];
  own.swap(ends);
  for (std::size_t at = 0; at < own.size();) {
    const Vertex vertex = own[at].vertex;
    const auto first = static_cast<std::uint32_t>(at);
    while (at < own.size() && own[at].vertex == vertex) ++at;
    ranges_[vertex] = {first, static_cast<std::uint32_t>(at)};
    touched_[vertex / 64] |= std::uint64_t{1} << (vertex % 64);
  }
}

void Lifetimes::clear() {
  partitions_ = {};
  ranges_ = {};
  touched_ = {};
}

bool Lifetimes::there_at(const Edge& edge, Moment moment) const {
  if (!touches(edge.source)) return true;
  const Class to = *graph_.relations().known_class(edge.label, graph_.label(edge.target));
  bool known = false;
  for (const End& end : of(edge.source)) {
    if (end.of != to || end.neighbor != edge.target) continue;
    if (end.first <= moment && moment <= end.last) return true;
    known = true;
  }
  return !known;
}

void Lifetimes::add_holes(Vertex vertex, bool forward, Class of, Moment moment,
                          std::vector<Vertex>& holes) const {
  const std::uint32_t row = of | (forward ? 0 : End::kBack);
  const std::span<const End> ends = this->of(vertex);
  for (std::size_t at = 0; at < ends.size();) {
    if (ends[at].of != row) {
      ++at;
      continue;
    }
    const Vertex neighbor = ends[at].neighbor;
    bool there = false;
    do {
      there |= ends[at].first <= moment && moment <= ends[at].last;
      ++at;
    } while (at < ends.size() && ends[at].neighbor == neighbor && ends[at].of == row);
    if (!there) holes.push_back(neighbor);
  }
}

sets::Span AtMoment::neighbors(Vertex vertex, Way way, std::uint32_t target,
                               std::vector<Vertex>& scratch) const {
  if (!lifetimes.touches(vertex) || graph.in_one_run(way, target))
    return graph.neighbors(vertex, way, target, scratch);
  std::vector<Vertex> holes;
  return graph.merged_neighbors(
      vertex, way, target, scratch, [&](bool forward, Class of, auto& list, std::size_t first) {
        holes.clear();
        lifetimes.add_holes(vertex, forward, of, moment, holes);
        if (holes.empty()) return;
        const auto begin = list.begin() + static_cast<std::ptrdiff_t>(first);
        list.erase(std::remove_if(
                       begin, list.end(),
                       [&](Vertex other) { return std::binary_search(holes.begin(), holes.end(), other); }),
                   list.end());
      });
}

void AtMoment::add_holes(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& holes) const {
  if (!lifetimes.touches(vertex) || !graph.in_one_run(way, target)) return;
  const bool forward = !graph.directed() || way != Way::kIn;
  for (Class of : graph.relations().target(target).classes)
    lifetimes.add_holes(vertex, forward, of, moment, holes);
}

bool AtMoment::witnessed(Vertex from, Vertex to, Way way, std::uint32_t relation, const Edge* ignored) const {
  return graph.witnessed(from, to, way, relation, [&](const Edge& edge) {
    return (ignored == nullptr || !(edge == *ignored)) && lifetimes.there_at(edge, moment);
  });
}

}  // namespace motiflux::dynamic
