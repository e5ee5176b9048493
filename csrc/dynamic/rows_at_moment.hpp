// Rows without the neighbours that are absent at the moment of a search: those of one thread, for one run.
//
// A row is copied when a search first needs it while some of its neighbours are absent. The copy is valid
// until the next update of that row, and is then brought up to date: a thread takes updates in ascending
// order, so few neighbours come or go in between. Rows of which no neighbour is absent are those of the
// graph. If there is no more room, the row is written to the memory of the caller, each time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynamic/lifetimes.hpp"
#include "sets/span.hpp"

namespace motiflux::dynamic {

class RowsAtMoment {
 public:
  // `most`: of all copies together, in words.
  explicit RowsAtMoment(const Lifetimes& lifetimes, std::size_t most = std::size_t{1} << 22)
      : lifetimes_(lifetimes), most_(most) {}

  // The neighbours of one class, and the moment of the last update before that changed them; 0 if there is
  // none.
  struct Row {
    sets::Span neighbors{};
    Moment since = 0;
  };

  // Forgets all rows; call it when a run is written.
  void start();
  // The same, and frees the memory.
  void clear() {
    copies_ = {};
    words_ = nullptr;
    used_ = 0;
  }
  // Call it between searches: rows that are in use stay.
  void make_room() {
    if (used_ > most_ / 2) start();
  }

  // Of a touched vertex. all() returns the row of the graph, which does not change before start().
  template <class All>
  Row row(Vertex vertex, bool forward, Class of, Moment moment, std::vector<Vertex>& scratch, All&& all) {
    const std::uint32_t row = of | (forward ? 0 : End::kBack);
    std::uint32_t number = lifetimes_.first_group(vertex);
    while (copies_[number].of != row) {
      if (copies_[number].last) return {all(), 0};
      number += lifetimes_.partitions();
    }
    const Copy& copy = copies_[number];
    if (moment < copy.since || moment >= copy.until) {
      const sets::Span whole = all();
      if (!renew(number, moment, whole)) return written(whole, moment, scratch);
    }
    return {{copy.neighbors, copy.neighbors + copy.size}, copy.since};
  }

 private:
  // With more changes, the row is copied again.
  static constexpr std::size_t kFewChanges = 16;

  struct Copy {
    std::uint32_t of = 0;         // as that of its group
    bool last = false;            // of its vertex
    Moment since = 0, until = 0;  // its contents are valid from `since` to before `until`
    const Vertex* neighbors = nullptr;
    std::uint32_t size = 0;
    // Its own memory has the neighbours of the moment `made`, if there is any.
    Moment made = 0;
    std::uint32_t own_size = 0;
    Vertex* own = nullptr;
  };
  struct Change {
    Vertex neighbor;
    bool comes;
  };

  bool renew(std::uint32_t number, Moment moment, sets::Span all);
  static void change(Copy& copy, const Change& one);
  Row written(sets::Span all, Moment moment, std::vector<Vertex>& scratch) const;
  std::size_t write(sets::Span all, Vertex* to) const;

  const Lifetimes& lifetimes_;
  std::size_t most_;
  std::vector<Copy> copies_;  // by the number of the group
  std::unique_ptr<Vertex[]> words_;
  std::size_t used_ = 0;
  std::vector<Vertex> absent_;
  std::vector<Change> changes_;
};

// The graph at the moment of an update of a run.
struct AtMoment {
  static constexpr bool kHoles = false;
  static constexpr bool kKeepsRows = false;

  const Graph& graph;
  const Lifetimes& lifetimes;
  RowsAtMoment& rows;
  std::uint64_t start;  // the number of changes of the graph before the run (Graph::now)
  Moment moment;
  bool one_change = false, appears = false;

  sets::Span neighbors(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& scratch) const {
    if (!lifetimes.touches(vertex)) return graph.neighbors(vertex, way, target, scratch);
    if (graph.in_one_run(way, target)) return row(vertex, way, target, scratch).neighbors;
    return then().neighbors(vertex, way, target, scratch);
  }
  sets::Span class_row(Vertex vertex, Way way, Class of, std::vector<Vertex>& scratch) const {
    const auto all = [&] { return graph.rows(way).of_class(vertex, of); };
    if (!lifetimes.touches(vertex)) return all();
    return rows.row(vertex, then().is_forward(way), of, moment, scratch, all).neighbors;
  }
  bool witnessed(Vertex from, Vertex to, Way way, std::uint32_t relation, const Edge* ignored) const {
    return then().witnessed(from, to, way, relation, ignored);
  }
  bool witnessed_around(Vertex from, Vertex to, Way way, std::uint32_t relation, bool after) const {
    return then().witnessed_around(from, to, way, relation, after);
  }
  bool one_witness(std::uint32_t relation) const { return graph.relations().one_witness(relation); }
  bool may_have_holes(Vertex) const { return false; }
  void add_holes(Vertex, Way, std::uint32_t, sets::Span, std::vector<Vertex>&) const {}
  bool serves(Vertex vertex, const Needs& needs) const { return Now{graph}.serves(vertex, needs); }

  // Each update of the run has a number of its own.
  std::uint64_t now() const { return start + 1 + moment; }
  std::uint64_t changed(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& scratch) const {
    if (!lifetimes.touches(vertex)) return graph.changed(vertex);
    const Moment since = row(vertex, way, target, scratch).since;
    return since == 0 ? start : start + 1 + since;
  }
  std::uint64_t class_changed(Class of) const {
    const std::uint64_t last = graph.class_changed(of);
    return last > start ? now() : last;  // some update of the run changes it
  }
  // Rows have all neighbours of the run, so no vertex gains one after its start.
  std::uint64_t gained(const Needs& needs) const { return std::min(Now{graph}.gained(needs), start + 1); }

 private:
  WithHoles then() const { return {graph, lifetimes, moment}; }
  // Of a touched vertex.
  RowsAtMoment::Row row(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& scratch) const {
    return rows.row(vertex, then().is_forward(way), then().class_of(way, target), moment, scratch,
                    [&] { return graph.neighbors(vertex, way, target, scratch); });
  }
};

}  // namespace motiflux::dynamic
