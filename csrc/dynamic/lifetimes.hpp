// The graph at a moment: as it is, or as it was when one of several updates came that are matched at once.
//
// While a run of updates is matched, the graph holds every edge that was there at any time of the run. Edges
// that were not there all the time have lifetimes: from the update that brought them to the one that took
// them, both included, since each sees its own edge (DCSM section 1.5.1). Few edges do, so rows are read as
// they are, and what was not there at the moment are holes in them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynamic/flat_map.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/plan.hpp"
#include "sets/span.hpp"

namespace motiflux::dynamic {

// The graph as it is.
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
  bool serves(Vertex vertex, const Needs& needs) const {
    return (needs.out & ~graph.rows(Way::kOut).present(vertex)) == 0 &&
           (needs.in == 0 || (needs.in & ~graph.rows(Way::kIn).present(vertex)) == 0);
  }
};

// Positions of updates in a run.
using Moment = std::uint32_t;

class Lifetimes {
 public:
  static constexpr Moment kForever = UINT32_MAX;

  explicit Lifetimes(const Graph& graph) : graph_(graph) {}

  void clear();
  // Whether the edge, which the graph has, is there after all updates so far.
  bool is_there(const Edge& edge) const;
  // An update that brings or takes an edge. A taken one stays in the graph until the run is over.
  void begin(const Edge& edge, Moment at);
  void end(const Edge& edge, Moment at);
  // To be called once all are known, before anything else is asked.
  void sort();

  bool there_at(const Edge& edge, Moment moment) const;
  bool touches(Vertex vertex) const { return touched_[vertex / 64] >> (vertex % 64) & 1; }
  // Adds the neighbours of one class that are in the row of a vertex but not there at the moment.
  void add_holes(Vertex vertex, bool forward, Class of, Moment moment, std::vector<Vertex>& holes) const;
  // Edges that are gone when the run is over.
  template <class Visit>
  void for_each_gone(Visit&& visit) const {
    for (const Lived& one : lived_)
      if (one.span.last != kForever) visit(one.edge);
  }

 private:
  struct Span {
    Moment first, last;
    bool has(Moment moment) const { return first <= moment && moment <= last; }
  };
  struct Lived {
    Edge edge;
    Span span;                  // the latest
    std::vector<Span> earlier;  // those before, of an edge that went and came again
    bool there_at(Moment moment) const;
  };
  // An end of an edge at one time of its life, in the row of a vertex: of the source, if `forward`.
  struct End {
    Vertex vertex;
    bool forward;
    Class of;
    Vertex neighbor;
    Span span;
  };
  struct Key {
    Vertex vertex = 0;
    bool operator==(const Key&) const = default;
    std::uint64_t hash() const { return mixed(vertex); }
  };

  const Graph& graph_;
  FlatMap<Edge, std::uint32_t> numbers_;
  std::vector<Lived> lived_;
  std::vector<End> ends_;              // by vertex, row, class and neighbour
  FlatMap<Key, std::uint32_t> first_;  // of a vertex, in ends_
  std::vector<std::uint64_t> touched_;
};

struct AtMoment {
  static constexpr bool kHoles = true;

  const Graph& graph;
  const Lifetimes& lifetimes;
  Moment moment;

  sets::Span neighbors(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& scratch) const;
  void add_holes(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& holes) const;
  bool witnessed(Vertex from, Vertex to, Way way, std::uint32_t relation, const Edge* ignored) const;
  bool one_witness(std::uint32_t relation) const { return graph.relations().one_witness(relation); }
  bool serves(Vertex vertex, const Needs& needs) const { return Now{graph}.serves(vertex, needs); }
};

}  // namespace motiflux::dynamic
