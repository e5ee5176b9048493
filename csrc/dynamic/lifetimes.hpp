// The graph at a moment: now, or at one of several updates that are matched at once.
//
// While a run of updates is matched, the graph holds every edge that existed at any time of the run. Edges
// that did not exist all the time have lifetimes: from the update that inserted them to the update that
// deleted them, both included, since each update sees its own edge (DCSM section 1.5.1). Few edges have
// lifetimes, so rows are read as they are; neighbours that are absent at the moment are the *holes* of a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "dynamic/entries.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/marked_rows.hpp"
#include "dynamic/plan.hpp"
#include "sets/intersect.hpp"
#include "sets/span.hpp"

namespace motiflux::dynamic {

// The graph now.
struct Now {
  static constexpr bool kHoles = false;
  static constexpr bool kKeepsRows = true;

  const Graph& graph;

  sets::Span neighbors(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& scratch) const {
    return graph.neighbors(vertex, way, target, scratch);
  }
  sets::Span class_row(Vertex vertex, Way way, Class of, std::vector<Vertex>&) const {
    return graph.rows(way).of_class(vertex, of);
  }
  bool witnessed(Vertex from, Vertex to, Way way, std::uint32_t relation, const Edge* ignored) const {
    return graph.witnessed(from, to, way, relation,
                           [&](const Edge& edge) { return ignored == nullptr || !(edge == *ignored); });
  }
  bool one_witness(std::uint32_t relation) const { return graph.relations().one_witness(relation); }
  static constexpr bool one_change = false, appears = false;
  bool witnessed_around(Vertex, Vertex, Way, std::uint32_t, bool) const { return false; }
  bool may_have_holes(Vertex) const { return false; }
  void add_holes(Vertex, Way, std::uint32_t, sets::Span, std::vector<Vertex>&) const {}
  bool serves(Vertex vertex, const Needs& needs) const {
    if (needs.columns != 0) return graph.candidates().has(vertex, needs.word, needs.columns);
    return (needs.out & ~graph.rows(Way::kOut).present(vertex)) == 0 &&
           (needs.in == 0 || (needs.in & ~graph.rows(Way::kIn).present(vertex)) == 0);
  }
  std::uint64_t now() const { return graph.now(); }
  std::uint64_t changed(Vertex vertex, Way, std::uint32_t, std::vector<Vertex>&) const {
    return graph.changed(vertex);
  }
  std::uint64_t class_changed(Class of) const { return graph.class_changed(of); }
  std::uint64_t gained(const Needs& needs) const {
    if (needs.columns != 0) return graph.gained_columns(needs.word, needs.columns);
    return std::max(graph.gained(Way::kOut, needs.out), graph.gained(Way::kIn, needs.in));
  }
};

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

// By vertex: bits of the touched ones, and the number of the first group of each. A vertex has a group of
// lifetimes for each class of each of its rows.
class Lifetimes {
 public:
  static constexpr Moment kForever = UINT32_MAX;

  // The lifetimes in one class of a row, by neighbour and time.
  struct Group {
    const End* first;
    std::uint32_t size;
    bool repeats;  // some edge has several lifetimes
    bool last;     // of its vertex; otherwise another one follows, whose number is greater by partitions()

    std::uint32_t of() const { return first->of; }
    std::span<const End> ends() const { return {first, size}; }
  };

  explicit Lifetimes(const Graph& graph) : graph_(graph) {}

  // Forgets all lifetimes; the next ones come in `partitions` partitions.
  void start(int partitions);
  // Takes the lifetimes in the rows of a partition, sorted by vertex, row, class, neighbour and time. Threads
  // may call it at once.
  void fill(int partition, std::vector<End>& ends);
  // Frees the memory.
  void clear();

  void prefetch(const Edge& edge) const {
    for (Vertex vertex : {edge.source, edge.target}) {
      __builtin_prefetch(&touched_[vertex / 64]);
      __builtin_prefetch(&first_group_[vertex]);
    }
  }
  void prefetch_ends(const Edge& edge) const {
    for (Vertex vertex : {edge.source, edge.target})
      if (touches(vertex)) __builtin_prefetch(group(first_group(vertex)).first);
  }
  bool there_at(const Edge& edge, Moment moment) const;
  // Whether an edge is there after the run, or before it; each edge changes at most once in it.
  bool there_around(const Edge& edge, bool after) const;
  // Those in one class of a row.
  std::span<const End> ends_of(Vertex vertex, bool forward, Class of) const {
    const Group* const known = touches(vertex) ? find_group(vertex, forward, of) : nullptr;
    return known == nullptr ? std::span<const End>() : known->ends();
  }
  // Calls visit(neighbor) for the neighbours of one class that are absent at the moment, ascending.
  template <class Visit>
  void for_each_absent(Vertex vertex, bool forward, Class of, Moment moment, Visit&& visit) const {
    const std::span<const End> ends = ends_of(vertex, forward, of);
    for (std::size_t at = 0; at < ends.size();) {
      const Vertex neighbor = ends[at].neighbor;
      bool there = false;
      for (; at < ends.size() && ends[at].neighbor == neighbor; ++at) there |= ends[at].has(moment);
      if (!there) visit(neighbor);
    }
  }
  // The number of these, and whether one of them is absent.
  std::size_t count_absent(Vertex vertex, bool forward, Class of, Moment moment) const;
  bool is_absent(Vertex vertex, bool forward, Class of, Vertex neighbor, Moment moment) const;
  bool touches(Vertex vertex) const { return touched_[vertex / 64] >> (vertex % 64) & 1; }

  // The number of the first group of a touched vertex. Numbers are dense if partitions are alike.
  std::uint32_t first_group(Vertex vertex) const { return first_group_[vertex]; }
  const Group& group(std::uint32_t number) const {
    return partitions_[number % partitions()].groups[number / partitions()];
  }
  std::uint32_t partitions() const { return static_cast<std::uint32_t>(partitions_.size()); }
  std::span<const End> of_partition(int partition) const {
    return partitions_[static_cast<std::size_t>(partition)].ends;
  }
  // Calls visit(number, group) for each group; all partitions are filled.
  template <class Visit>
  void for_each_group(Visit&& visit) const {
    for (std::uint32_t partition = 0; partition < partitions(); ++partition) {
      std::uint32_t number = partition;
      for (const Group& one : partitions_[partition].groups) {
        visit(number, one);
        number += partitions();
      }
    }
  }
  // More than the numbers of all groups.
  std::size_t most_groups() const;
  // Adds the members of `set` that are neighbours of one class in the row of a touched vertex but absent at
  // the moment, ascending.
  void add_holes(Vertex vertex, bool forward, Class of, Moment moment, sets::Span set,
                 std::vector<Vertex>& holes) const;

 private:
  struct Partition {
    std::vector<End> ends;
    std::vector<Group> groups;
  };
  const Group* find_group(Vertex vertex, bool forward, Class of) const;
  // Whether an edge has no lifetime, or one for which has(end).
  template <class Has>
  bool there_if(const Edge& edge, Has&& has) const;

  const Graph& graph_;
  std::vector<Partition> partitions_;
  std::vector<std::uint64_t> touched_;
  std::vector<std::uint32_t> first_group_;  // by vertex; valid for touched vertices
  sets::Policy policy_;
};

struct WithHoles {
  static constexpr bool kHoles = true;
  static constexpr bool kKeepsRows = false;

  const Graph& graph;
  const Lifetimes& lifetimes;
  Moment moment;
  MarkedRows* marked = nullptr;
  bool one_change = false, appears = false;

  sets::Span neighbors(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& scratch) const;
  sets::Span class_row(Vertex vertex, Way way, Class of, std::vector<Vertex>&) const {
    return graph.rows(way).of_class(vertex, of);
  }
  void add_holes(Vertex vertex, Way way, std::uint32_t target, sets::Span set,
                 std::vector<Vertex>& holes) const;
  // The row as bits, at the moment; null if it is not marked.
  const MarkedRow* marked_row(Vertex vertex, Way way, std::uint32_t target) const;
  // Calls visit(neighbor) for the absent neighbours of a row, ascending, if it is one run.
  template <class Visit>
  void for_each_absent(Vertex vertex, Way way, std::uint32_t target, Visit&& visit) const {
    if (graph.in_one_run(way, target))
      lifetimes.for_each_absent(vertex, is_forward(way), class_of(way, target), moment, visit);
  }
  std::size_t count_absent(Vertex vertex, Way way, std::uint32_t target) const {
    if (!graph.in_one_run(way, target)) return 0;
    return lifetimes.count_absent(vertex, is_forward(way), class_of(way, target), moment);
  }
  bool is_absent(Vertex vertex, Way way, std::uint32_t target, Vertex neighbor) const {
    return graph.in_one_run(way, target) &&
           lifetimes.is_absent(vertex, is_forward(way), class_of(way, target), neighbor, moment);
  }
  bool witnessed(Vertex from, Vertex to, Way way, std::uint32_t relation, const Edge* ignored) const;
  bool witnessed_around(Vertex from, Vertex to, Way way, std::uint32_t relation, bool after) const;
  bool one_witness(std::uint32_t relation) const { return graph.relations().one_witness(relation); }
  bool may_have_holes(Vertex vertex) const { return lifetimes.touches(vertex); }
  bool serves(Vertex vertex, const Needs& needs) const { return Now{graph}.serves(vertex, needs); }
  std::uint64_t now() const { return graph.now(); }
  std::uint64_t changed(Vertex, Way, std::uint32_t, std::vector<Vertex>&) const { return graph.now(); }
  std::uint64_t class_changed(Class) const { return graph.now(); }
  std::uint64_t gained(const Needs&) const { return graph.now(); }

  // The class of a run, and whether it is in the row of outgoing edges, or of all.
  Class class_of(Way way, std::uint32_t target) const {
    const Target& asked = graph.relations().target(target);
    return graph.rows(way).classed() || !asked.everything ? asked.classes[0] : 0;
  }
  bool is_forward(Way way) const { return !graph.directed() || way != Way::kIn; }
};

}  // namespace motiflux::dynamic
