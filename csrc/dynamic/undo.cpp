#include "dynamic/undo.hpp"

#include <algorithm>
#include <new>

#include "dynamic/entries.hpp"

namespace motiflux::dynamic {
namespace {

// Fewer changes are taken back one by one.
constexpr std::size_t kFew = 256;

void one_by_one(Graph& graph, std::vector<Done>& done) {
  for (; !done.empty(); done.pop_back()) {
    const Done& last = done.back();
    switch (last.kind) {
      case Done::kInserted:
        graph.take(last.edge);
        break;
      case Done::kErased:
        graph.put(last.edge);
        break;
      case Done::kCopies:
        graph.set_more_copies(last.edge, last.more);
        break;
    }
  }
}

// Gives rows the neighbours of these entries that come, and takes the others away.
void restore(Graph& graph, Way way, const Entries& entries) {
  Rows& rows = graph.rows(way);
  std::vector<Rows::Change> changes;
  Places places(rows, entries);
  for (std::size_t at = 0; at < entries.size();) {
    const Vertex row = entries[at].row;
    changes.clear();
    for (; at < entries.size() && entries[at].row == row; ++at) {
      const Entry& one = entries[at];
      const std::size_t place = places.of(at);
      if (rows.is_at(row, place, one.to(), one.neighbor) != one.comes())
        changes.push_back({one.to(), one.neighbor, one.comes(), place});
    }
    if (changes.empty()) continue;
    rows.change(row, changes);
    graph.encode(row);
  }
}

void row_by_row(Graph& graph, const std::vector<Done>& done) {
  Entries entries, scratch;
  for (const auto& [kind, edge, more] : done) {
    if (kind == Done::kCopies) continue;
    const Class to = graph.relations().class_of(edge.label, graph.label(edge.target));
    entries.push_back({edge.source, edge.target, to | (kind == Done::kErased ? Entry::kComes : 0), 0});
  }
  sort_entries(graph, entries, scratch, true);
  // The first change of an edge says whether it was there before.
  const auto end = std::unique(entries.begin(), entries.end(),
                               [](const Entry& a, const Entry& b) { return a.has_edge_of(b); });
  entries.erase(end, entries.end());
  restore(graph, Way::kOut, entries);
  for (Entry& one : entries) {
    const Label label = graph.relations().classes()[one.to()].edge;
    const Class from = graph.relations().class_of(label, graph.label(one.row));
    one = {one.neighbor, one.row, from | (one.of & Entry::kComes), 0};
  }
  sort_entries(graph, entries, scratch, true);
  restore(graph, Way::kIn, entries);
  for (auto one = done.rbegin(); one != done.rend(); ++one)
    if (one->kind == Done::kCopies) graph.set_more_copies(one->edge, one->more);
}

}  // namespace

void take_back_changes(Graph& graph, std::vector<Done>& done) {
  if (done.size() >= kFew) {
    try {
      row_by_row(graph, done);
      done.clear();
    } catch (const std::bad_alloc&) {
      // One by one, from whatever state this left: the first change of each edge decides.
    }
  }
  one_by_one(graph, done);
}

void take_back_changes(Graph& graph, std::span<const Update> done) {
  if (done.empty()) return;
  try {
    std::vector<Done> changes;
    changes.reserve(done.size());
    for (const auto& [edge, inserts] : done)
      changes.push_back({inserts ? Done::kInserted : Done::kErased, edge});
    take_back_changes(graph, changes);
  } catch (const std::bad_alloc&) {
    for (const auto& [edge, inserts] : done)
      if (inserts)
        graph.take(edge);
      else
        graph.put(edge);
  }
}

}  // namespace motiflux::dynamic
