// A graph whose edges come and go.
#pragma once

#include <cstdint>
#include <vector>

#include "dynamic/flat_map.hpp"
#include "dynamic/relations.hpp"
#include "dynamic/rows.hpp"
#include "sets/span.hpp"

namespace motiflux::dynamic {

// An edge; of an undirected graph, from the lower end to the higher.
struct Edge {
  Vertex source = 0, target = 0;
  Label label = 0;
  bool operator==(const Edge&) const = default;
  std::uint64_t hash() const { return mixed(mixed(std::uint64_t{source} << 32 | target) + label); }
};

class Graph {
 public:
  explicit Graph(bool directed) : directed_(directed) {}

  bool directed() const { return directed_; }
  std::uint32_t vertices() const { return out_.vertices(); }
  std::uint64_t edges() const { return edges_; }
  Label label(Vertex vertex) const { return labels_[vertex]; }
  Relations& relations() { return relations_; }
  const Relations& relations() const { return relations_; }

  void reserve(std::uint32_t vertices);
  void add_vertex(Label label);
  // Takes the last vertices away again, which have no edges, so that there are `count`.
  void keep_vertices(std::uint32_t count);
  // Fills the rows of a graph that has no edges yet; each distinct edge once, `copies` of it.
  void load(std::span<const std::uint64_t> offsets, std::span<const Vertex> neighbors,
            std::span<const Label> labels, std::span<const std::uint32_t> copies);

  Edge named(Vertex source, Vertex target, Label label) const;
  bool has(const Edge& edge) const;
  std::uint64_t copies(const Edge& edge) const { return has(edge) ? 1 + more_copies(edge) : 0; }
  std::uint64_t more_copies(const Edge& edge) const {
    const std::uint64_t* more = more_copies_.find(edge);
    return more == nullptr ? 0 : *more;
  }
  void set_more_copies(const Edge& edge, std::uint64_t more);
  // False if the edge was there already, or was not there. Leaves its further copies alone.
  bool insert(const Edge& edge);
  bool erase(const Edge& edge);

  // Whether there is an edge between two vertices that serves a query edge, seen from the first; other than
  // `ignored`, if that is not null.
  bool witnessed(Vertex from, Vertex to, Way way, std::uint32_t relation, const Edge* ignored) const;

  // Brings nearer what a change of the edge will touch, in two steps.
  void prefetch(const Edge& edge) const {
    out_.prefetch(edge.source);
    (directed_ ? in_ : out_).prefetch(edge.target);
  }
  void prefetch_rows(const Edge& edge) const {
    out_.prefetch_row(edge.source);
    (directed_ ? in_ : out_).prefetch_row(edge.target);
  }

  const Rows& rows(Way way) const { return way == Way::kIn && directed_ ? in_ : out_; }
  // The distinct neighbours that a target leads to, ascending; in `scratch`, unless they lie in one run.
  sets::Span neighbors(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& scratch) const;

  std::size_t bytes() const;
  template <class Visit>
  void for_each_edge(Visit&& visit) const;

 private:
  bool witnessed_one_way(const Rows& rows, Vertex from, Vertex to, std::uint32_t relation,
                         const Edge* ignored, bool forward) const;

  bool directed_;
  std::uint64_t edges_ = 0;
  std::vector<Label> labels_;
  Rows out_, in_;
  Relations relations_;
  FlatMap<Edge, std::uint64_t> more_copies_;  // beyond the first
};

// Calls visit(edge) for every edge, by source.
template <class Visit>
void Graph::for_each_edge(Visit&& visit) const {
  for (Vertex source = 0; source < vertices(); ++source) {
    const sets::Span row = out_.all(source);
    const Class* classes = out_.classes(source);
    for (std::size_t at = 0; at < row.size(); ++at) {
      const Vertex target = row.first[at];
      if (!directed_ && target < source) continue;
      visit(Edge{source, target, relations_.classes()[classes == nullptr ? 0 : classes[at]].edge});
    }
  }
}

}  // namespace motiflux::dynamic
