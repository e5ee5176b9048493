#include "dynamic/lifetimes.hpp"

#include <algorithm>
#include <tuple>

namespace motiflux::dynamic {

void Lifetimes::clear() {
  numbers_.clear();
  lived_.clear();
  ends_.clear();
  touched_.assign(graph_.vertices() / 64 + 1, 0);
}

Lifetimes::Lived& Lifetimes::lived(const Edge& edge) {
  if (const std::uint32_t* known = numbers_.find(edge)) return lived_[*known];
  numbers_[edge] = static_cast<std::uint32_t>(lived_.size());
  lived_.push_back({edge, {}});
  return lived_.back();
}

bool Lifetimes::is_there(const Edge& edge) const {
  const std::uint32_t* known = numbers_.find(edge);
  return known == nullptr || lived_[*known].spans.back().last == kForever;
}

void Lifetimes::begin(const Edge& edge, Moment at) {
  lived(edge).spans.push_back({at, kForever});
}

void Lifetimes::end(const Edge& edge, Moment at) {
  Lived& one = lived(edge);
  if (one.spans.empty()) one.spans.push_back({0, kForever});
  one.spans.back().last = at;
}

void Lifetimes::sort() {
  for (std::uint32_t number = 0; number < lived_.size(); ++number) {
    const Edge& edge = lived_[number].edge;
    const auto to = *graph_.relations().known_class(edge.label, graph_.label(edge.target));
    const auto from = *graph_.relations().known_class(edge.label, graph_.label(edge.source));
    ends_.push_back({edge.source, true, to, edge.target, number});
    ends_.push_back({edge.target, !graph_.directed(), from, edge.source, number});
    for (Vertex vertex : {edge.source, edge.target}) touched_[vertex / 64] |= std::uint64_t{1} << (vertex % 64);
  }
  std::sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
    return std::tie(a.vertex, a.forward, a.of, a.neighbor) < std::tie(b.vertex, b.forward, b.of, b.neighbor);
  });
}

bool Lifetimes::Lived::there_at(Moment moment) const {
  return std::any_of(spans.begin(), spans.end(),
                     [&](Span span) { return span.first <= moment && moment <= span.last; });
}

bool Lifetimes::there_at(const Edge& edge, Moment moment) const {
  const std::uint32_t* known = numbers_.find(edge);
  return known == nullptr || lived_[*known].there_at(moment);
}

void Lifetimes::add_holes(Vertex vertex, bool forward, Class of, Moment moment,
                          std::vector<Vertex>& holes) const {
  auto at = std::partition_point(ends_.begin(), ends_.end(), [&](const End& end) {
    return std::tie(end.vertex, end.forward, end.of) < std::tie(vertex, forward, of);
  });
  for (; at != ends_.end() && at->vertex == vertex && at->forward == forward && at->of == of; ++at)
    if (!lived_[at->lived].there_at(moment)) holes.push_back(at->neighbor);
}

sets::Span AtMoment::neighbors(Vertex vertex, Way way, std::uint32_t target,
                               std::vector<Vertex>& scratch) const {
  if (!lifetimes.touches(vertex) || graph.in_one_run(vertex, way, target))
    return graph.neighbors(vertex, way, target, scratch);
  std::vector<Vertex> holes;
  return graph.merged_neighbors(vertex, way, target, scratch, [&](bool forward, Class of, auto& list, std::size_t first) {
    holes.clear();
    lifetimes.add_holes(vertex, forward, of, moment, holes);
    if (holes.empty()) return;
    const auto begin = list.begin() + static_cast<std::ptrdiff_t>(first);
    list.erase(std::remove_if(begin, list.end(),
                              [&](Vertex other) {
                                return std::binary_search(holes.begin(), holes.end(), other);
                              }),
               list.end());
  });
}

void AtMoment::add_holes(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& holes) const {
  if (!lifetimes.touches(vertex) || !graph.in_one_run(vertex, way, target)) return;
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
