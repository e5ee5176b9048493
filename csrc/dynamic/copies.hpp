// The copies of edges where each has attributes of its own: which one a deletion takes, when a window ends
// each, and which of them serve a match.
//
// A copy has a row, the position of its attributes in columns that the caller keeps. Rows ascend in the order
// of arrival; the updates of a call have one each, also those that leave no copy. The rows of copies that are
// gone stay until compacted(). A copy's *facet* is the label of the edge that stands for it in the monitor's
// graph: copies of an edge that satisfy the same conditions have the same one.
//
//   copies by row   | e1 | e2 | e1 | gone | e1 | ...      head: the window's copies before it are gone
//   chains by edge    e1: row 0 -> row 2 -> row 4          in the order of arrival
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "dynamic/flat_map.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/update.hpp"

namespace motiflux::dynamic {

// A column of attributes by row: words that are equal where values are, and where there is no value.
struct AttributeColumn {
  std::span<const std::int64_t> words;
  std::span<const std::uint8_t> missing;
};

class Copies {
 public:
  using Row = std::uint32_t;
  // `since` of a copy that no window ends.
  static constexpr std::int64_t kStays = std::numeric_limits<std::int64_t>::max();
  static constexpr Row kMost = std::numeric_limits<Row>::max() - 1;

  struct Window {
    std::int64_t span = 0;  // a time, or a number of later copies
    bool timed = false;
  };
  struct Given {
    Edge edge;
    Label facet = 0;  // of an insertion
    bool inserts = true;
  };
  // Updates of the monitor's graph, whose labels are facets.
  struct Changes {
    Updates updates;
    std::vector<std::int64_t> origins;    // the given update of each; of a deletion by the window, its cause
    std::vector<Row> rows;                // the copy that each adds or takes away
    std::vector<std::int64_t> deletions;  // given deletions that took a copy,
    std::vector<std::int64_t> taken;      // and its row
    std::uint64_t expired = 0;
    std::uint64_t noops = 0;  // insertions of edges that have copies, deletions without a copy that fits
    std::size_t first_noop = std::numeric_limits<std::size_t>::max();
  };
  // The copies that a query edge accepts.
  struct Query {
    std::span<const std::uint8_t> facets;  // by facet: whether it is accepted
    std::span<const Label> labels;         // the labels that these have
    bool either = false;                   // on a directed graph: an arc the other way serves, too
  };

  Copies(bool directed, std::optional<Window> window) : directed_(directed), window_(window) {}

  // Adds the copies that there are at the start, in rows from 0 on; `since`: kStays, or when each came into
  // the window, ascending. `came`: the number of all copies that came into a window of copies.
  void fill(std::span<const Edge> edges, std::span<const Label> facets, std::span<const std::int64_t> since,
            std::int64_t came);
  // Their rows are those from rows() on, which `columns` have. An attribute that a deletion lacks may have
  // any value in the copy that it takes. `moments` ascend; only a window of time needs them.
  Changes apply(std::span<const Given> updates, std::span<const std::int64_t> moments,
                std::span<const AttributeColumn> columns);
  // The deletions until `now`.
  Changes advance(std::int64_t now);
  // undo() takes back all since begin().
  void begin();
  void undo();

  // Rows, those of copies that are gone included.
  std::size_t rows() const { return copies_.size(); }
  std::size_t size() const { return size_; }
  // Edges that have copies.
  std::size_t edges() const { return chains_.size(); }
  std::int64_t came() const { return came_; }
  std::size_t bytes() const { return copies_.capacity() * sizeof(Copy) + chains_.bytes(); }
  // The rows of all copies, ascending; a deletion takes copies of a window before copies that stay.
  std::vector<Row> alive() const;
  // The same at begin(), and the number of rows then.
  std::vector<Row> alive_before() const;
  std::size_t rows_before() const { return rows_before_; }
  const Edge& edge(Row row) const { return copies_[row].edge; }
  Label facet(Row row) const { return copies_[row].facet; }
  std::int64_t since(Row row) const { return copies_[row].since; }
  void set_facet(Row row, Label facet) { copies_[row].facet = facet; }
  // The same copies in rows without gaps, in the same order; nothing of it can be undone.
  Copies compacted() const;

  // The oldest copy between two vertices that serves a query edge, seen from its source; none: rows(). As the
  // graph was after (`positive`) or before the update of the last call with this position; `whole`: after or
  // before the whole call.
  Row witness(Vertex source, Vertex target, const Query& query, std::int64_t position, bool positive,
              bool whole);

  // Has visit_between() know the copies that were removed since begin().
  void index_removed();
  // Calls visit(row) for the copies of these labels between two vertices, those removed since begin()
  // included, in no order, until it returns false. `either`: also those the other way. Any number of threads
  // may.
  template <class Visit>
  void visit_between(Vertex source, Vertex target, std::span<const Label> labels, bool either,
                     Visit&& visit) const;

 private:
  static constexpr Row kNone = std::numeric_limits<Row>::max();

  struct Copy {
    Edge edge;
    Label facet = 0;
    std::int64_t since = kStays;
    Row before = kNone, after = kNone;  // in its chain
    bool gone = true;
  };
  // The copies of an edge that a window ends, and those that stay.
  struct Ends {
    Row first = kNone, last = kNone;
  };
  struct Chain {
    Ends ending, staying;
    bool empty() const { return ending.first == kNone && staying.first == kNone; }
  };
  struct Removed {
    Row row;
    std::int64_t origin;
  };

  bool ends(const Copy& copy) const { return window_ && copy.since != kStays; }
  Edge named(Vertex source, Vertex target, Label label) const {
    const bool turned = !directed_ && source > target;
    return {turned ? target : source, turned ? source : target, label};
  }
  void link(Row row);
  void unlink(Row row);
  void relink(Row row);
  void remove(Row row, std::int64_t origin, Changes& out);
  void expire(std::int64_t now, std::size_t end, std::int64_t origin, Changes& out);
  Row fitting(const Edge& edge, Row wanted, std::span<const AttributeColumn> columns) const;
  bool lived(Row row, std::int64_t position, bool positive, bool whole) const;
  template <class Visit>
  bool visit_copies(const Edge& edge, Visit&& visit) const;

  bool directed_;
  std::optional<Window> window_;
  std::vector<Copy> copies_;
  FlatMap<Edge, Chain> chains_;
  std::size_t size_ = 0, head_ = 0;
  std::int64_t came_ = 0;
  // Of the call, for undo() and witness().
  std::vector<Removed> removed_;
  std::size_t rows_before_ = 0, head_before_ = 0;
  std::int64_t came_before_ = 0;
  bool is_indexed_ = true;
  FlatMap<Edge, std::vector<std::size_t>> removed_of_;  // positions in `removed_`
};

template <class Visit>
bool Copies::visit_copies(const Edge& edge, Visit&& visit) const {
  if (const Chain* const chain = chains_.find(edge))
    for (const Ends& ends : {chain->ending, chain->staying})
      for (Row row = ends.first; row != kNone; row = copies_[row].after)
        if (!visit(row)) return false;
  if (removed_.empty()) return true;
  if (const auto* const removed = removed_of_.find(edge))
    for (const std::size_t at : *removed)
      if (!visit(removed_[at].row)) return false;
  return true;
}

template <class Visit>
void Copies::visit_between(Vertex source, Vertex target, std::span<const Label> labels, bool either,
                           Visit&& visit) const {
  for (const Label label : labels) {
    if (!visit_copies(named(source, target, label), visit)) return;
    if (either && directed_ && !visit_copies(named(target, source, label), visit)) return;
  }
}

}  // namespace motiflux::dynamic
