// A graph whose edges are inserted and deleted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/large_pages.hpp"
#include "common/parallel.hpp"
#include "dynamic/candidate_table.hpp"
#include "dynamic/flat_map.hpp"
#include "dynamic/relations.hpp"
#include "dynamic/rows.hpp"
#include "sets/span.hpp"

namespace motiflux::dynamic {

// An edge; in an undirected graph, the source is the lower end.
struct Edge {
  Vertex source = 0, target = 0;
  Label label = 0;
  bool operator==(const Edge&) const = default;
  std::uint64_t hash() const { return mixed(mixed(std::uint64_t{source} << 32 | target) + label); }
};

// Arcs by their first vertex, each row ascending by (neighbour, label), each arc once; an undirected edge is
// two arcs. `labels` is empty if all are 0.
struct Arcs {
  std::span<const std::uint64_t> offsets;
  std::span<const Vertex> neighbors;
  std::span<const Label> labels;

  Label label(std::uint64_t arc) const { return labels.empty() ? 0 : labels[arc]; }
};

// Rows sorted by class, in the form of Rows::make_lent.
struct ClassOrder {
  std::vector<Label> classes;  // two labels for each
  std::array<std::vector<std::uint32_t>, 2> rows;
};

// Sorts the rows of a graph; `in` has no offsets if that is undirected.
ClassOrder class_order(std::span<const Label> vertex_labels, const Arcs& out, const Arcs& in,
                       const Workers& workers);

// Such rows, and the memory that they are in.
struct LentRows {
  std::span<const std::uint32_t> blocks;
  std::shared_ptr<const Arena> memory;
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

  void add_vertex(Label label);
  // Removes the last vertices, which have no edges, so that `count` remain.
  void keep_vertices(std::uint32_t count);
  // Adds the vertices and edges of a graph to one that has none. `copies` has the number of copies of each
  // arc of `out`; empty: one each. `in`, for a directed graph, are the same arcs turned; with empty offsets
  // they are found here. Throws Cancelled if `workers` say so; the graph cannot be used then.
  void load(std::span<const Label> vertex_labels, const Arcs& out, const Arcs& in,
            std::span<const std::uint32_t> copies, const Workers& workers);
  // The same without labels, with rows that are lent (Rows::make_lent): the neighbours of `out`, and of `in`
  // for a directed graph, are in the memory of `lent[0]` and `lent[1]`.
  void load_lent(const Arcs& out, const Arcs& in, std::span<const std::uint32_t> copies,
                 const std::array<std::shared_ptr<const Arena>, 2>& lent, const Workers& workers);
  // The same with labels, with rows sorted by class: `classes` has two labels for each class, of the edge and
  // of the vertex, and `lent` the rows of `out`, and of `in` for a directed graph. Returns what is wrong with
  // them, if anything: the graph cannot be used then.
  std::string load_in_class_order(std::span<const Label> vertex_labels, const Arcs& out, const Arcs& in,
                                  std::span<const std::uint32_t> copies, std::span<const Label> classes,
                                  const std::array<LentRows, 2>& lent, const Workers& workers);
  bool has_lent_rows() const { return out_.has_lent() || in_.has_lent(); }
  void take_over_lent_rows(const Workers& workers);

  Edge named(Vertex source, Vertex target, Label label) const {
    const bool turned = !directed_ && source > target;
    return {turned ? target : source, turned ? source : target, label};
  }
  bool has(const Edge& edge) const;
  std::uint64_t copies(const Edge& edge) const { return has(edge) ? 1 + more_copies(edge) : 0; }
  std::uint64_t more_copies(const Edge& edge) const {
    const std::uint64_t* more = more_copies_.find(edge);
    return more == nullptr ? 0 : *more;
  }
  void set_more_copies(const Edge& edge, std::uint64_t more);
  // False if the edge existed already (insert) or did not exist (erase). Further copies stay unchanged.
  bool insert(const Edge& edge);
  bool erase(const Edge& edge);
  // The classes of an edge that exists, and its places in both rows, until these change.
  struct Located {
    Class to, from;
    std::size_t at, back_at;
  };
  std::optional<Located> find(const Edge& edge) const;
  void erase(const Edge& edge, const Located& where);
  // The same for each of the two rows separately, for a change that may have been made in one row only; edge
  // counts stay unchanged.
  void put(const Edge& edge);
  void take(const Edge& edge);
  void count_edges(std::uint64_t edges) { edges_ = edges; }

  // The number of changes so far, and the numbers of the last change of a vertex's rows, of an edge of a
  // class, and by which a vertex got its first neighbour of one of some classes (Rows::bit).
  std::uint64_t now() const { return now_; }
  std::uint64_t changed(Vertex vertex) const { return std::max(all_changed_, changed_[vertex]); }
  std::uint64_t class_changed(Class of) const {
    return of < class_changed_.size() ? std::max(all_changed_, class_changed_[of]) : all_changed_;
  }
  std::uint64_t gained(Way way, std::uint64_t bits) const;
  // Rows were changed other than by insert(), erase(), put(), take() and as noted by the following.
  void change_all() { all_changed_ = ++now_; }
  // The next changes have these numbers; the last one is now().
  void advance(std::uint64_t changes) { now_ += changes; }
  // Notes that rows changed now: of a vertex, of a class, and that some gained their first neighbours of
  // classes. Threads may note different vertices at once.
  void note_vertex(Vertex vertex) { changed_[vertex] = now_; }
  void note_class(Class of) {
    class_changed_.resize(std::max<std::size_t>(class_changed_.size(), of + std::size_t{1}));
    class_changed_[of] = now_;
  }
  void note_gained(Way way, std::uint64_t bits);

  // Kept in step with the rows by all functions that change them but load(); whoever changes rows itself
  // calls the first two, as a vertex and the columns that it gained (CandidateTable::encode) are noted.
  void encode(Vertex vertex, std::uint64_t* gained) {
    if (candidates_.is_used()) candidates_.encode(*this, vertex, gained);
  }
  void note_gained_columns(std::span<const std::uint64_t> gained);
  void encode(Vertex vertex);
  const CandidateTable& candidates() const { return candidates_; }
  void set_candidates(std::vector<CandidateColumn> columns, std::uint32_t bits) {
    candidates_.set(*this, std::move(columns), bits);
    gained_columns_.assign(candidates_.columns().size(), now_);
    gaining_.reserve(candidates_.width());  // so that a change of rows cannot fail once it is made
  }
  CandidateTable& candidates() { return candidates_; }
  // The last change by which a vertex became a candidate for one of these columns of a word.
  std::uint64_t gained_columns(std::uint32_t word, std::uint64_t columns) const;

  // Whether two vertices are joined by an edge that satisfies a query edge, seen from the first vertex, and
  // for which counts(edge) is true.
  template <class Counts>
  bool witnessed(Vertex from, Vertex to, Way way, std::uint32_t relation, Counts&& counts) const;

  // Whether a neighbour of a target satisfies test(neighbor).
  template <class Test>
  bool any_neighbor(Vertex vertex, Way way, std::uint32_t target, Test&& test) const;

  // Prefetches the memory that a change of the edge will access, in two steps.
  void prefetch(const Edge& edge) const {
    out_.prefetch(edge.source);
    (directed_ ? in_ : out_).prefetch(edge.target);
  }
  void prefetch_labels(const Edge& edge) const {
    __builtin_prefetch(&labels_[edge.source]);
    __builtin_prefetch(&labels_[edge.target]);
  }
  void prefetch_rows(const Edge& edge) const {
    out_.prefetch_row(edge.source);
    (directed_ ? in_ : out_).prefetch_row(edge.target);
  }

  const Rows& rows(Way way) const { return way == Way::kIn && directed_ ? in_ : out_; }
  Rows& rows(Way way) { return way == Way::kIn && directed_ ? in_ : out_; }
  // The distinct neighbours of a target, ascending; in `scratch`, unless they are one run.
  sets::Span neighbors(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& scratch) const;
  // Whether they are one run of one row.
  bool in_one_run(Way way, std::uint32_t target) const {
    if (directed_ && way == Way::kEither) return false;
    const Target& asked = relations_.target(target);
    return (!rows(way).classed() && asked.everything) || asked.classes.size() == 1;
  }
  // The same if they are not, after thin(forward, class, list, first) removed elements of each run: of the
  // elements of `list` from `first` on, which are from the forward row if `forward`.
  template <class Thin>
  sets::Span merged_neighbors(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& scratch,
                              Thin&& thin) const;

  // All neighbours by a target, ascending, one for each edge: sizes[v] of vertex v from places[v] on. Its
  // room, room_of(sizes[v]), ends at places[v + 1]; what is not a neighbour is not written.
  void rows_of_target(std::uint32_t target, Way way, std::uint64_t (*room_of)(std::uint64_t),
                      std::span<std::uint64_t> places, std::span<std::uint64_t> sizes,
                      std::optional<Unwritten<Vertex>>& neighbors, const Workers& workers) const;

  // The size of the row that an edge is in, on average: more than the average row where there are hubs.
  double typical_row() const;

  std::size_t bytes() const;
  template <class Visit>
  void for_each_edge(Visit&& visit) const;

 private:
  void finish_loading(std::vector<Label> labels, const Arcs& out, std::span<const std::uint32_t> copies,
                      const Workers& workers);

  bool directed_;
  std::uint64_t edges_ = 0;
  std::vector<Label> labels_;
  Rows out_, in_;
  Relations relations_;
  FlatMap<Edge, std::uint64_t> more_copies_;  // beyond the first

  // Calls visit(neighbours) for each class of a target, in the rows of the way.
  template <class Visit>
  void for_each_run(Vertex vertex, Way way, const Target& target, Visit&& visit) const;
  // Encodes a vertex after one neighbour of a class came or went.
  void encode_end(Vertex vertex, const Rows& rows, Class of) {
    if (!candidates_.is_saturated(rows.of_class(vertex, of).size())) encode(vertex);
  }
  // Notes a change of the edge, for which rows had these bits before.
  void note_change(const Edge& edge, Class to, Class from, std::uint64_t source_bits,
                   std::uint64_t target_bits);
  std::uint64_t now_ = 1, all_changed_ = 1;
  std::vector<std::uint64_t> changed_;                     // by vertex
  std::vector<std::uint64_t> class_changed_;               // by class
  std::array<std::array<std::uint64_t, 64>, 2> gained_{};  // out, in; by bit
  std::vector<std::uint64_t> gained_columns_;              // by column
  std::vector<std::uint64_t> gaining_;                     // scratch, for one vertex
  CandidateTable candidates_;
};

// Merges ascending runs, which begin at `starts` and end at `size`, into one ascending list.
void merge_ascending(Vertex* values, std::size_t size, std::vector<std::size_t>& starts);
// The same, without repeats.
void merge_runs(std::vector<Vertex>& values, std::vector<std::size_t>& starts);

template <class Counts>
bool Graph::witnessed(Vertex from, Vertex to, Way way, std::uint32_t relation, Counts&& counts) const {
  const auto one_way = [&](const Rows& rows, bool forward) {
    for (Class of : relations_.classes_to(labels_[to])) {
      const Label label = relations_.classes()[of].edge;
      if (!relations_.accepts(relation, label) || !rows.contains(from, of, to)) continue;
      if (counts(forward ? named(from, to, label) : named(to, from, label))) return true;
    }
    return false;
  };
  if (!directed_ || way == Way::kOut) return one_way(out_, true);
  if (way == Way::kIn) return one_way(in_, false);
  return one_way(out_, true) || one_way(in_, false);
}

template <class Test>
bool Graph::any_neighbor(Vertex vertex, Way way, std::uint32_t target, Test&& test) const {
  const Target& asked = relations_.target(target);
  bool found = false;
  const auto look = [&](sets::Span run) {
    for (const Vertex* at = run.first; !found && at < run.last; ++at) found = test(*at);
  };
  const auto look_at_all = [&](const Rows& rows) {
    if (asked.everything)
      rows.for_each_class(vertex, [&](Class, sets::Span run) { look(run); });
    else
      for (Class of : asked.classes) look(rows.of_class(vertex, of));
  };
  look_at_all(rows(way));
  if (directed_ && way == Way::kEither) look_at_all(in_);
  return found;
}

template <class Thin>
sets::Span Graph::merged_neighbors(Vertex vertex, Way way, std::uint32_t target, std::vector<Vertex>& scratch,
                                   Thin&& thin) const {
  const Target& asked = relations_.target(target);
  scratch.clear();
  std::vector<std::size_t> starts;
  const auto add = [&](bool forward, Class of, sets::Span run) {
    const std::size_t first = scratch.size();
    scratch.insert(scratch.end(), run.begin(), run.end());
    thin(forward, of, scratch, first);
    if (scratch.size() > first) starts.push_back(first);
  };
  const auto add_all = [&](const Rows& rows, bool forward) {
    if (asked.everything)
      rows.for_each_class(vertex, [&](Class of, sets::Span run) { add(forward, of, run); });
    else
      for (Class of : asked.classes) add(forward, of, rows.of_class(vertex, of));
  };
  add_all(rows(way), !directed_ || way != Way::kIn);
  if (directed_ && way == Way::kEither) add_all(in_, false);
  if (starts.size() > 1) merge_runs(scratch, starts);
  return {scratch.data(), scratch.data() + scratch.size()};
}

// Calls visit(edge) for every edge, by source.
template <class Visit>
void Graph::for_each_edge(Visit&& visit) const {
  for (Vertex source = 0; source < vertices(); ++source) {
    out_.for_each_class(source, [&](Class of, sets::Span run) {
      const Label label = relations_.classes()[of].edge;
      for (Vertex target : run)
        if (directed_ || source <= target) visit(Edge{source, target, label});
    });
  }
}

}  // namespace motiflux::dynamic
