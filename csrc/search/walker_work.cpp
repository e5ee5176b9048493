// A walker's side of work sharing: it takes work items and gives away some of its own work.
#include <algorithm>
#include <stdexcept>

#include "search/walker.hpp"

namespace motiflux::search {

bool Walker::search(const WorkItem& item) {
  arcs_done_ = item.arcs;
  if (item.level == 0) {
    arcs_ = {item.from, item.to};
    return search_arcs();
  }
  arcs_ = {};
  const Span candidates = replay(item);
  if (item.level >= tail_) return search_tail(item);
  check_positions(item, candidates);
  if (item.level == last_level_ && !adaptive_)
    return visit_last(item.level, {candidates.first + item.from, candidates.first + item.to});
  open_all(item.level, candidates);
  levels_[static_cast<std::size_t>(item.level)].open = {candidates.first + item.from,
                                                        candidates.first + item.to};
  if (projector_) return project_on(item.level);
  if (adaptive_) return adapt_on(item.level);
  return jumps() ? jump_on(item.level) : go_on(item.level);
}

// An item of another process may be one of another graph.
void Walker::check_positions(const WorkItem& item, Span candidates) {
  if (item.from > item.to || item.to > candidates.size())
    throw std::logic_error("a part of a search names candidates that are not there");
}

// Continues with candidates of a nested sum at the beginning of the tail.
bool Walker::search_tail(const WorkItem& item) {
  if (!nested_tail_) nested_tail_ = std::make_unique<NestedTailCounter>(*this);
  for (Level& state : levels_) state.open = {};
  try {
    nested_tail_->go_on(item.level, item.from, item.to);
  } catch (const Stopped&) {
    return false;
  }
  return spend(1);
}

// Returns the candidates of the item, with the vertices of the levels before assigned. The partial embeddings
// on the way were counted by the thread that gave the item away.
Walker::Span Walker::replay(const WorkItem& item) {
  slice_ = item.slice;
  for (int level = 0; level < item.level; ++level) {
    if (level >= std::min(2, tail_) && !ranges_) base(level);  // later levels may start from it
    assign(level, item.prefix[static_cast<std::size_t>(level)]);
    enters(level);  // it does: the thread that gave the item away saw it
    --sizes_[static_cast<std::size_t>(level)];
  }
  if (item.level == 1 && tail_ > 1) return from_root();
  return ranges_ ? compared_candidates(item.level) : clipped(item.level);
}

bool Walker::complete(const Vertex* values, int levels) {
  arcs_ = {};
  for (int level = 0; level < levels; ++level) {
    if (level >= std::min(2, tail_)) base(level);  // later levels may start from it
    assign(level, values[level]);
  }
  return extend(levels);
}

// Gives half of the remaining candidates of the shallowest level that has any to a thread that waits, or all
// of all levels if the pool hands back. The current candidate of each level stays: so each item makes
// progress.
void Walker::share_work() {
  const bool all = pool_->hands_back();
  if (const std::uint64_t left = arcs_.last - arcs_.first; left > 0) {
    const std::uint64_t middle = all ? arcs_.first : arcs_.first + left / 2;
    arcs_done_ -= arcs_.last - middle;
    pool_->add({.level = 0, .from = middle, .to = arcs_.last, .arcs = arcs_.last - middle});
    arcs_.last = middle;
    if (!all) return;
  }
  for (int level = 1, last = last_shared_level(); level <= last; ++level) {
    Level& state = levels_[static_cast<std::size_t>(level)];
    if (state.open.size() == 0) continue;
    const Vertex* middle = all ? state.open.first : state.open.first + state.open.size() / 2;
    pool_->add({.level = level,
                .from = static_cast<std::uint64_t>(middle - state.start),
                .to = static_cast<std::uint64_t>(state.open.last - state.start),
                .arcs = 0,
                .slice = slice_,
                .prefix = value_});
    state.open.last = middle;
    state.given = true;
    if (!all) return;
  }
  if (nested_tail_) nested_tail_->share_work(*pool_);
}

}  // namespace motiflux::search
