// The graph at a moment: now, or at one of several updates that are matched at once.
//
// While a run of updates is matched, the graph holds every edge that existed at any time of the run. Edges
// that did not exist all the time have lifetimes: from the update that inserted them to the update that
// deleted them, both included, since each update sees its own edge (DCSM section 1.5.1). Few edges have
// lifetimes, so rows are read as they are; neighbours that are absent at the moment are the *holes* of a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynamic/graph.hpp"
#include "dynamic/plan.hpp"
#include "sets/intersect.hpp"
#include "sets/span.hpp"

namespace motiflux::dynamic {

// The graph now.
struct Now {
  static constexpr bool kHoles = false;

  const Graph& graph;

  sets::Span neighbors(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& scratch) const {
    return graph.neighbors(vertex, way, target, scratch);
  }
  bool witnessed(Vertex from, Vertex to, Way way, std::uint32_t relation, const Edge* ignored) const {
    return graph.witnessed(from, to, way, relation,
                           [&](const Edge& edge) { return ignored == nullptr || !(edge == *ignored); });
  }
  bool one_witness(std::uint32_t relation) const { return graph.relations().one_witness(relation); }
  bool may_have_holes(Vertex) const { return false; }
  void add_holes(Vertex, Way, std::uint32_t, sets::Span, std::vector<Vertex>&) const {}
  bool serves(Vertex vertex, const Needs& needs) const {
    return (needs.out & ~graph.rows(Way::kOut).present(vertex)) == 0 &&
           (needs.in == 0 || (needs.in & ~graph.rows(Way::kIn).present(vertex)) == 0);
  }
};

// Positions of updates in a run.
using Moment = std::uint32_t;

// A lifetime of an edge, in the row of one of its ends.
struct End {
  static constexpr std::uint32_t kBack = std::uint32_t{1} << 31;

  Vertex vertex;
  std::uint32_t of;  // the class; with kBack in rows of incoming edges
  Vertex neighbor;
  Moment first, last;

  bool has(Moment moment) const { return (first <= moment) & (moment <= last); }
};

// The partition that the row of a vertex belongs to. 64 consecutive rows share a partition, since threads
// write bits in words for 64 vertices.
inline std::size_t owner(Vertex vertex, int partitions) {
  return partitions == 1 ? 0 : vertex / 64 % static_cast<std::uint32_t>(partitions);
}

class Lifetimes {
 public:
  static constexpr Moment kForever = UINT32_MAX;

  explicit Lifetimes(const Graph& graph) : graph_(graph) {}

  // Forgets all lifetimes; the next ones come in `partitions` partitions.
  void start(int partitions);
  // Takes the lifetimes in the rows of a partition, sorted by vertex, row, class, neighbour and time. Threads
  // may call it at once.
  void fill(int partition, std::vector<End>& ends);
  int partitions() const { return static_cast<int>(partitions_.size()); }
  std::span<const End> of_partition(int partition) const {
    return partitions_[static_cast<std::size_t>(partition)];
  }
  // Frees the memory.
  void clear();

  void prefetch(const Edge& edge) const {
    __builtin_prefetch(&ranges_[edge.source]);
    __builtin_prefetch(&ranges_[edge.target]);
  }
  void prefetch_ends(const Edge& edge) const {
    for (Vertex vertex : {edge.source, edge.target})
      if (touches(vertex)) __builtin_prefetch(of(vertex).data());
  }
  bool there_at(const Edge& edge, Moment moment) const;
  bool touches(Vertex vertex) const { return touched_[vertex / 64] >> (vertex % 64) & 1; }
  // Adds the members of `set` that are neighbours of one class in the row of a vertex but absent at the
  // moment, ascending.
  void add_holes(Vertex vertex, bool forward, Class of, Moment moment, sets::Span set,
                 std::vector<Vertex>& holes) const;

 private:
  struct Range {
    const End* first = nullptr;
    std::uint32_t size = 0;
    bool repeats = false;  // some edge has several lifetimes
  };
  std::span<const End> of(Vertex vertex) const { return {ranges_[vertex].first, ranges_[vertex].size}; }
  std::span<const End> of(Vertex vertex, bool forward, Class of) const;

  const Graph& graph_;
  std::vector<std::vector<End>> partitions_;
  std::vector<Range> ranges_;  // by vertex; valid for touched vertices
  std::vector<std::uint64_t> touched_;
  sets::Policy policy_;
};

struct AtMoment {
  static constexpr bool kHoles = true;

  const Graph& graph;
  const Lifetimes& lifetimes;
  Moment moment;

  sets::Span neighbors(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& scratch) const;
  void add_holes(Vertex vertex, Way way, std::uint32_t target, sets::Span set,
                 std::vector<Vertex>& holes) const;
  bool witnessed(Vertex from, Vertex to, Way way, std::uint32_t relation, const Edge* ignored) const;
  bool one_witness(std::uint32_t relation) const { return graph.relations().one_witness(relation); }
  bool may_have_holes(Vertex vertex) const { return lifetimes.touches(vertex); }
  bool serves(Vertex vertex, const Needs& needs) const { return Now{graph}.serves(vertex, needs); }
};

}  // namespace motiflux::dynamic
