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
    const std::size_t first = at;
    bool repeats = false;
    while (++at < own.size() && own[at].vertex == vertex)
      repeats |= own[at].of == own[at - 1].of && own[at].neighbor == own[at - 1].neighbor;
    ranges_[vertex] = {&own[first], static_cast<std::uint32_t>(at - first), repeats};
    touched_[vertex / 64] |= std::uint64_t{1} << (vertex % 64);
  }
}

void Lifetimes::clear() {
  partitions_ = {};
  ranges_ = {};
  touched_ = {};
}

// The lifetimes in one class of a row.
std::span<const End> Lifetimes::of(Vertex vertex, bool forward, Class of) const {
  const std::span<const End> ends = this->of(vertex);
  const std::uint32_t row = of | (forward ? 0 : End::kBack);
  if (ends.front().of == row && ends.back().of == row) return ends;
  const auto found = std::ranges::equal_range(ends, row, {}, &End::of);
  return {found.begin(), found.end()};
}

bool Lifetimes::there_at(const Edge& edge, Moment moment) const {
  if (!touches(edge.source)) return true;
  const Class to = *graph_.relations().known_class(edge.label, graph_.label(edge.target));
  const auto ends = std::ranges::equal_range(of(edge.source, true, to), edge.target, {}, &End::neighbor);
  return ends.empty() || std::ranges::any_of(ends, [&](const End& end) { return end.has(moment); });
}

void Lifetimes::add_holes(Vertex vertex, bool forward, Class of, Moment moment, sets::Span set,
                          std::vector<Vertex>& holes) const {
  const std::span<const End> ends = this->of(vertex, forward, of);
  // The longer list is searched rather than read if it is this many times as long.
  constexpr std::size_t kLonger = 8;
  const auto* at = ends.data();
  const auto* const last = at + ends.size();
  if (ends.size() > kLonger * set.size()) {
    for (Vertex neighbor : set) {
      at = std::lower_bound(at, last, neighbor,
                            [](const End& end, Vertex sought) { return end.neighbor < sought; });
      bool known = false, there = false;
      for (; at != last && at->neighbor == neighbor; ++at) {
        known = true;
        there |= at->has(moment);
      }
      if (known && !there) holes.push_back(neighbor);
    }
    return;
  }
  constexpr std::size_t kFew = 4;
  if (ends.size() <= kFew && !ranges_[vertex].repeats) {
    for (; at != last; ++at)
      if (!at->has(moment) && sets::contains(set, at->neighbor)) holes.push_back(at->neighbor);
    return;
  }
  // First all that are absent, without a branch that depends on the moment.
  const std::size_t before = holes.size();
  holes.resize(before + ends.size());
  std::size_t end = before;
  if (!ranges_[vertex].repeats) {
    for (; at != last; ++at) {
      holes[end] = at->neighbor;
      end += !at->has(moment);
    }
  } else {
    while (at != last) {
      const Vertex neighbor = at->neighbor;
      bool there = false;
      for (; at != last && at->neighbor == neighbor; ++at) there |= at->has(moment);
      holes[end] = neighbor;
      end += !there;
    }
  }
  const sets::Span absent{holes.data() + before, holes.data() + end};
  holes.resize(before + sets::intersect(absent, set, holes.data() + before, policy_));
}

sets::Span AtMoment::neighbors(Vertex vertex, Way way, std::uint32_t target,
                               std::vector<Vertex>& scratch) const {
  if (!lifetimes.touches(vertex) || graph.in_one_run(way, target))
    return graph.neighbors(vertex, way, target, scratch);
  std::vector<Vertex> holes;
  return graph.merged_neighbors(
      vertex, way, target, scratch, [&](bool forward, Class of, auto& list, std::size_t first) {
        holes.clear();
        lifetimes.add_holes(vertex, forward, of, moment, {list.data() + first, list.data() + list.size()},
                            holes);
        if (holes.empty()) return;
        const auto begin = list.begin() + static_cast<std::ptrdiff_t>(first);
        list.erase(std::remove_if(
                       begin, list.end(),
                       [&](Vertex other) { return std::binary_search(holes.begin(), holes.end(), other); }),
                   list.end());
      });
}

void AtMoment::add_holes(Vertex vertex, Way way, std::uint32_t target, sets::Span set,
                         std::vector<Vertex>& holes) const {
  if (!lifetimes.touches(vertex) || !graph.in_one_run(way, target)) return;
  const bool forward = !graph.directed() || way != Way::kIn;
  for (Class of : graph.relations().target(target).classes)
    lifetimes.add_holes(vertex, forward, of, moment, set, holes);
}

bool AtMoment::witnessed(Vertex from, Vertex to, Way way, std::uint32_t relation, const Edge* ignored) const {
  return graph.witnessed(from, to, way, relation, [&](const Edge& edge) {
    return (ignored == nullptr || !(edge == *ignored)) && lifetimes.there_at(edge, moment);
  });
}

}  // namespace motiflux::dynamic
