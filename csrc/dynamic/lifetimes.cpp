#include "dynamic/lifetimes.hpp"

#include <algorithm>
#include <tuple>

namespace motiflux::dynamic {

void Lifetimes::clear() {
  numbers_.clear();
  lived_.clear();
  ends_.clear();
  first_.clear();
  touched_.assign(graph_.vertices() / 64 + 1, 0);
}

bool Lifetimes::is_there(const Edge& edge) const {
  const std::uint32_t* known = numbers_.find(edge);
  return known == nullptr || lived_[*known].span.last == kForever;
}

void Lifetimes::begin(const Edge& edge, Moment at) {
  if (const std::uint32_t* known = numbers_.find(edge)) {
    Lived& one = lived_[*known];
    one.earlier.push_back(one.span);
    one.span = {at, kForever};
    return;
  }
  numbers_[edge] = static_cast<std::uint32_t>(lived_.size());
  lived_.push_back({edge, {at, kForever}, {}});
}

void Lifetimes::end(const Edge& edge, Moment at) {
  if (const std::uint32_t* known = numbers_.find(edge)) {
    lived_[*known].span.last = at;
    return;
  }
  numbers_[edge] = static_cast<std::uint32_t>(lived_.size());
  lived_.push_back({edge, {0, at}, {}});
}

void Lifetimes::sort() {
  for (const Lived& one : lived_) {
    const Edge& edge = one.edge;
    const auto to = *graph_.relations().known_class(edge.label, graph_.label(edge.target));
    const auto from = *graph_.relations().known_class(edge.label, graph_.label(edge.source));
    const auto add = [&](Span span) {
      ends_.push_back({edge.source, true, to, edge.target, span});
      ends_.push_back({edge.target, !graph_.directed(), from, edge.source, span});
    };
    add(one.span);
    for (Span span : one.earlier) add(span);
    for (Vertex vertex : {edge.source, edge.target})
      touched_[vertex / 64] |= std::uint64_t{1} << (vertex % 64);
  }
  std::sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
    return std::tie(a.vertex, a.forward, a.of, a.neighbor) < std::tie(b.vertex, b.forward, b.of, b.neighbor);
  });
  for (std::size_t at = 0; at < ends_.size(); ++at)
    if (at == 0 || ends_[at].vertex != ends_[at - 1].vertex)
      first_[{ends_[at].vertex}] = static_cast<std::uint32_t>(at);
}

bool Lifetimes::Lived::there_at(Moment moment) const {
  return span.has(moment) ||
         std::any_of(earlier.begin(), earlier.end(), [&](Span one) { return one.has(moment); });
}

bool Lifetimes::there_at(const Edge& edge, Moment moment) const {
  const std::uint32_t* known = numbers_.find(edge);
  return known == nullptr || lived_[*known].there_at(moment);
}

void Lifetimes::add_holes(Vertex vertex, bool forward, Class of, Moment moment,
                          std::vector<Vertex>& holes) const {
  const std::uint32_t* first = first_.find({vertex});
  if (first == nullptr) return;
  for (std::size_t at = *first; at < ends_.size() && ends_[at].vertex == vertex;) {
    const Vertex neighbor = ends_[at].neighbor;
    const bool asked = ends_[at].forward == forward && ends_[at].of == of;
    bool there = false;
    do {
      there |= ends_[at].span.has(moment);
      ++at;
    } while (at < ends_.size() && ends_[at].neighbor == neighbor && ends_[at].vertex == vertex &&
             ends_[at].of == ends_[at - 1].of && ends_[at].forward == ends_[at - 1].forward);
    if (asked && !there) holes.push_back(neighbor);
  }
}

sets::Span AtMoment::neighbors(Vertex vertex, Way way, std::uint32_t target,
                               std::vector<Vertex>& scratch) const {
  if (!lifetimes.touches(vertex) || graph.in_one_run(vertex, way, target))
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
