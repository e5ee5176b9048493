#include "dynamic/lifetimes.hpp"

#include <algorithm>

namespace motiflux::dynamic {

void Lifetimes::start(int partitions) {
  for (const Partition& partition : partitions_)
    for (const Group& one : partition.groups) touched_[one.first->vertex / 64] = 0;
  partitions_.resize(static_cast<std::size_t>(partitions));
  for (Partition& partition : partitions_) {
    partition.ends.clear();
    partition.groups.clear();
  }
  first_group_.resize(graph_.vertices());
  touched_.resize(graph_.vertices() / 64 + 1, 0);
}

void Lifetimes::fill(int partition, std::vector<End>& new_ends) {
  auto& [ends, groups] = partitions_[static_cast<std::size_t>(partition)];
  ends.swap(new_ends);
  for (std::size_t at = 0; at < ends.size();) {
    const std::size_t first = at;
    const Vertex vertex = ends[first].vertex;
    bool repeats = false;
    while (++at < ends.size() && ends[at].vertex == vertex && ends[at].of == ends[first].of)
      repeats |= ends[at].neighbor == ends[at - 1].neighbor;
    if (first == 0 || ends[first - 1].vertex != vertex) {
      touched_[vertex / 64] |= std::uint64_t{1} << (vertex % 64);
      first_group_[vertex] =
          static_cast<std::uint32_t>(groups.size()) * partitions() + static_cast<std::uint32_t>(partition);
    }
    const bool last = at == ends.size() || ends[at].vertex != vertex;
    groups.push_back({&ends[first], static_cast<std::uint32_t>(at - first), repeats, last});
  }
}

void Lifetimes::clear() {
  partitions_ = {};
  first_group_ = {};
  touched_ = {};
}

std::size_t Lifetimes::most_groups() const {
  std::size_t most = 0;
  for (const Partition& one : partitions_) most = std::max(most, one.groups.size());
  return most * partitions_.size();
}

// Of a touched vertex; null if the class has no lifetimes in its row.
const Lifetimes::Group* Lifetimes::find_group(Vertex vertex, bool forward, Class of) const {
  const std::uint32_t row = of | (forward ? 0 : End::kBack);
  for (std::uint32_t number = first_group(vertex);; number += partitions()) {
    const Group& found = group(number);
    if (found.of() == row) return &found;
    if (found.last) return nullptr;
  }
}

template <class Has>
bool Lifetimes::there_if(const Edge& edge, Has&& has) const {
  if (!touches(edge.source)) return true;
  const Class to = *graph_.relations().known_class(edge.label, graph_.label(edge.target));
  const Group* const known = find_group(edge.source, true, to);
  if (known == nullptr) return true;
  const auto ends = std::ranges::equal_range(known->ends(), edge.target, {}, &End::neighbor);
  return ends.empty() || std::ranges::any_of(ends, has);
}

bool Lifetimes::there_at(const Edge& edge, Moment moment) const {
  return there_if(edge, [&](const End& end) { return end.has(moment); });
}

bool Lifetimes::there_around(const Edge& edge, bool after) const {
  return there_if(edge, [&](const End& end) { return (end.last == kForever) == after; });
}

std::size_t Lifetimes::count_absent(Vertex vertex, bool forward, Class of, Moment moment) const {
  const Group* const known = touches(vertex) ? find_group(vertex, forward, of) : nullptr;
  std::size_t absent = 0;
  if (known != nullptr && !known->repeats)
    for (const End& end : known->ends()) absent += !end.has(moment);
  else
    for_each_absent(vertex, forward, of, moment, [&](Vertex) { ++absent; });
  return absent;
}

bool Lifetimes::is_absent(Vertex vertex, bool forward, Class of, Vertex neighbor, Moment moment) const {
  const auto ends = std::ranges::equal_range(ends_of(vertex, forward, of), neighbor, {}, &End::neighbor);
  return !ends.empty() && std::ranges::none_of(ends, [&](const End& end) { return end.has(moment); });
}

void Lifetimes::add_holes(Vertex vertex, bool forward, Class of, Moment moment, sets::Span set,
                          std::vector<Vertex>& holes) const {
  const Group* const known = find_group(vertex, forward, of);
  if (known == nullptr) return;
  const std::span<const End> ends = known->ends();
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
  if (ends.size() <= kFew && !known->repeats) {
    for (; at != last; ++at)
      if (!at->has(moment) && sets::contains(set, at->neighbor)) holes.push_back(at->neighbor);
    return;
  }
  // First all that are absent, without a branch that depends on the moment.
  const std::size_t before = holes.size();
  holes.resize(before + ends.size());
  std::size_t end = before;
  if (!known->repeats) {
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

sets::Span WithHoles::neighbors(Vertex vertex, Way way, std::uint32_t target,
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

void WithHoles::add_holes(Vertex vertex, Way way, std::uint32_t target, sets::Span set,
                          std::vector<Vertex>& holes) const {
  if (!lifetimes.touches(vertex) || !graph.in_one_run(way, target)) return;
  const bool forward = !graph.directed() || way != Way::kIn;
  for (Class of : graph.relations().target(target).classes)
    lifetimes.add_holes(vertex, forward, of, moment, set, holes);
}

const MarkedRow* WithHoles::marked_row(Vertex vertex, Way way, std::uint32_t target) const {
  if (marked == nullptr || !graph.in_one_run(way, target)) return nullptr;
  const std::uint32_t row = class_of(way, target) | (is_forward(way) ? 0 : End::kBack);
  return marked->row(vertex, row, moment, graph.vertices(), [&] {
    std::vector<Vertex> unused;  // one run is read where it is
    return graph.neighbors(vertex, way, target, unused);
  });
}

bool WithHoles::witnessed_around(Vertex from, Vertex to, Way way, std::uint32_t relation, bool after) const {
  return graph.witnessed(from, to, way, relation,
                         [&](const Edge& edge) { return lifetimes.there_around(edge, after); });
}

bool WithHoles::witnessed(Vertex from, Vertex to, Way way, std::uint32_t relation,
                          const Edge* ignored) const {
  return graph.witnessed(from, to, way, relation, [&](const Edge& edge) {
    return (ignored == nullptr || !(edge == *ignored)) && lifetimes.there_at(edge, moment);
  });
}

}  // namespace motiflux::dynamic
