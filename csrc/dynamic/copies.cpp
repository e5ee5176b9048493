#include "dynamic/copies.hpp"

#include <algorithm>
#include <new>

namespace motiflux::dynamic {
namespace {

// Updates and copies whose chains are prefetched.
constexpr std::size_t kChainsAhead = 8;

}  // namespace

void Copies::fill(std::span<const Edge> edges, std::span<const Label> facets,
                  std::span<const std::int64_t> since, std::int64_t came) {
  if (edges.size() >= kMost) throw std::bad_alloc();
  copies_.resize(edges.size());
  for (std::size_t at = 0; at < edges.size(); ++at) {
    const Edge named_edge = named(edges[at].source, edges[at].target, edges[at].label);
    copies_[at] = {named_edge, facets[at], since[at], kNone, kNone, true};
    link(static_cast<Row>(at));
  }
  came_ = came;
  begin();
}

Copies::Changes Copies::apply(std::span<const Given> updates, std::span<const std::int64_t> moments,
                              std::span<const AttributeColumn> columns) {
  Changes out;
  if (updates.size() >= kMost - copies_.size()) throw std::bad_alloc();
  is_indexed_ = false;
  const std::size_t first = copies_.size();
  copies_.resize(first + updates.size());
  out.updates.reserve(updates.size());
  out.origins.reserve(updates.size());
  out.rows.reserve(updates.size());
  for (std::size_t at = 0; at < updates.size(); ++at) {
    if (at + kChainsAhead < updates.size()) chains_.prefetch(updates[at + kChainsAhead].edge);
    const Given& update = updates[at];
    const auto origin = static_cast<std::int64_t>(at);
    const auto row = static_cast<Row>(first + at);
    const Edge edge = named(update.edge.source, update.edge.target, update.edge.label);
    if (window_ && window_->timed) expire(moments[at], row, origin, out);
    const auto is_noop = [&] {
      ++out.noops;
      out.first_noop = std::min(out.first_noop, at);
    };
    if (update.inserts) {
      std::int64_t since = kStays;
      if (window_ && window_->timed) since = moments[at];
      if (window_ && !window_->timed) expire(since = ++came_, row, origin, out);
      if (chains_.find(edge) != nullptr) is_noop();
      copies_[row] = {edge, update.facet, since, kNone, kNone, true};
      link(row);
      out.updates.push_back({{edge.source, edge.target, update.facet}, true});
      out.origins.push_back(origin);
      out.rows.push_back(row);
      continue;
    }
    copies_[row].edge = edge;
    const Row found = fitting(edge, row, columns);
    if (found == kNone) {
      is_noop();
      continue;
    }
    out.deletions.push_back(origin);
    out.taken.push_back(found);
    remove(found, origin, out);
  }
  return out;
}

Copies::Changes Copies::advance(std::int64_t now) {
  Changes out;
  is_indexed_ = false;
  if (window_) expire(window_->timed ? now : came_, copies_.size(), 0, out);
  return out;
}

// The first copy that a deletion may take; kNone if none fits.
Copies::Row Copies::fitting(const Edge& edge, Row wanted, std::span<const AttributeColumn> columns) const {
  const Chain* const chain = chains_.find(edge);
  if (chain == nullptr) return kNone;
  for (const Ends& ends : {chain->ending, chain->staying})
    for (Row row = ends.first; row != kNone; row = copies_[row].after) {
      const bool fits = std::ranges::all_of(columns, [&](const AttributeColumn& column) {
        return column.missing[wanted] != 0 ||
               (column.missing[row] == 0 && column.words[row] == column.words[wanted]);
      });
      if (fits) return row;
    }
  return kNone;
}

// The deletions until `now`, of copies in rows before `end`.
void Copies::expire(std::int64_t now, std::size_t end, std::int64_t origin, Changes& out) {
  for (; head_ < end; ++head_) {
    const Copy& copy = copies_[head_];
    if (copy.gone || !ends(copy)) continue;
    if (copy.since > now - window_->span) return;
    ++out.expired;
    remove(static_cast<Row>(head_), origin, out);
  }
}

void Copies::remove(Row row, std::int64_t origin, Changes& out) {
  const Copy& copy = copies_[row];
  out.updates.push_back({{copy.edge.source, copy.edge.target, copy.facet}, false});
  out.origins.push_back(origin);
  out.rows.push_back(row);
  removed_.push_back({row, origin});
  unlink(row);
}

// Puts a copy at the end of its chain.
void Copies::link(Row row) {
  Copy& copy = copies_[row];
  Chain& chain = chains_[copy.edge];
  Ends& own = ends(copy) ? chain.ending : chain.staying;
  copy.before = own.last;
  copy.after = kNone;
  (own.last == kNone ? own.first : copies_[own.last].after) = row;
  own.last = row;
  copy.gone = false;
  ++size_;
}

// Takes a copy out of its chain; it keeps its neighbours there, for relink().
void Copies::unlink(Row row) {
  Copy& copy = copies_[row];
  Chain& chain = *chains_.find(copy.edge);
  Ends& own = ends(copy) ? chain.ending : chain.staying;
  (copy.before == kNone ? own.first : copies_[copy.before].after) = copy.after;
  (copy.after == kNone ? own.last : copies_[copy.after].before) = copy.before;
  if (chain.empty()) chains_.erase(copy.edge);
  copy.gone = true;
  --size_;
}

// Undoes unlink(), if all that was linked or unlinked since is as it was then.
void Copies::relink(Row row) {
  Copy& copy = copies_[row];
  Chain& chain = chains_[copy.edge];
  Ends& own = ends(copy) ? chain.ending : chain.staying;
  (copy.before == kNone ? own.first : copies_[copy.before].after) = row;
  (copy.after == kNone ? own.last : copies_[copy.after].before) = row;
  copy.gone = false;
  ++size_;
}

void Copies::begin() {
  removed_.clear();
  removed_of_.clear();
  is_indexed_ = true;
  rows_before_ = copies_.size();
  head_before_ = head_;
  came_before_ = came_;
}

// Copies of the call that were removed again come back first: in the reverse order, a copy is removed after
// it came, and before later ones came.
void Copies::undo() {
  std::size_t rows = copies_.size();
  const auto drop_until = [&](std::size_t end) {
    for (; rows > end; --rows)
      if (const Row row = static_cast<Row>(rows - 1); !copies_[row].gone) unlink(row);
  };
  for (; !removed_.empty(); removed_.pop_back()) {
    const auto [row, origin] = removed_.back();
    drop_until(rows_before_ + static_cast<std::size_t>(origin));
    relink(row);
  }
  drop_until(rows_before_);
  copies_.resize(rows_before_);
  head_ = head_before_;
  came_ = came_before_;
  begin();
}

std::vector<Copies::Row> Copies::alive() const {
  std::vector<Row> rows;
  rows.reserve(size_);
  for (std::size_t row = 0; row < copies_.size(); ++row)
    if (!copies_[row].gone) rows.push_back(static_cast<Row>(row));
  return rows;
}

std::vector<Copies::Row> Copies::alive_before() const {
  std::vector<Row> rows;
  for (std::size_t row = 0; row < rows_before_; ++row)
    if (!copies_[row].gone) rows.push_back(static_cast<Row>(row));
  const std::size_t left = rows.size();
  for (const Removed& one : removed_)
    if (one.row < rows_before_) rows.push_back(one.row);
  std::sort(rows.begin() + static_cast<std::ptrdiff_t>(left), rows.end());
  std::inplace_merge(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(left), rows.end());
  return rows;
}

Copies Copies::compacted() const {
  Copies fewer(directed_, window_);
  const std::vector<Row> rows = alive();
  fewer.copies_.reserve(rows.size());
  for (const Row row : rows) {
    const Copy& copy = copies_[row];
    fewer.copies_.push_back({copy.edge, copy.facet, copy.since, kNone, kNone, true});
    fewer.link(static_cast<Row>(fewer.copies_.size() - 1));
  }
  fewer.came_ = came_;
  fewer.begin();
  return fewer;
}

bool Copies::lived(Row row, std::int64_t position, bool positive, bool whole) const {
  const std::int64_t came =
      row < rows_before_ ? -1 : static_cast<std::int64_t>(row - static_cast<Row>(rows_before_));
  if (whole) return positive ? !copies_[row].gone : came < 0;
  if (positive ? came > position : came >= position) return false;
  if (!copies_[row].gone) return true;
  const auto* const removed = removed_of_.find(copies_[row].edge);
  if (removed == nullptr) return false;
  for (const std::size_t at : *removed)
    if (removed_[at].row == row)
      return positive ? removed_[at].origin > position : removed_[at].origin >= position;
  return false;
}

void Copies::index_removed() {
  if (is_indexed_) return;
  removed_of_.clear();
  for (std::size_t at = 0; at < removed_.size(); ++at)
    removed_of_[copies_[removed_[at].row].edge].push_back(at);
  is_indexed_ = true;
}

Copies::Row Copies::witness(Vertex source, Vertex target, const Query& query, std::int64_t position,
                            bool positive, bool whole) {
  index_removed();
  Row found = kNone;
  const auto look = [&](Row row) {
    if (row >= found) return;
    const Label facet = copies_[row].facet;
    if (facet < query.facets.size() && query.facets[facet] != 0 && lived(row, position, positive, whole))
      found = row;
  };
  const auto look_at = [&](const Edge& edge) {
    if (const Chain* const chain = chains_.find(edge))
      for (const Ends& ends : {chain->ending, chain->staying})
        for (Row row = ends.first; row < found; row = copies_[row].after) look(row);  // chains ascend
    if (const auto* const removed = removed_of_.find(edge))
      for (const std::size_t at : *removed) look(removed_[at].row);
  };
  for (const Label label : query.labels) {
    look_at(named(source, target, label));
    if (directed_ && query.either) look_at(named(target, source, label));
  }
  return found == kNone ? static_cast<Row>(copies_.size()) : found;
}

}  // namespace motiflux::dynamic
