// A walker's side of work sharing: it takes work items and gives away some of its own work.
#include <algorithm>

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
  if (item.level == last_level_ && !adaptive_)
    return visit_last(item.level, {candidates.first + item.from, candidates.first + item.to});
  open_all(item.level, candidates);
  levels_[static_cast<std::size_t>(item.level)].open = {candidates.first + item.from,
                                                        candidates.first + item.to};
  if (adaptive_) return adapt_on(item.level);
  return jumps() ? jump_on(item.level) : go_on(item.level);
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

// Gives half of the remaining candidates of the shallowest level that has any to a thread that waits.
void Walker::share_work() {
  if (const std::uint64_t left = arcs_.last - arcs_.first; left > 0) {
    const std::uint64_t middle = arcs_.first + left / 2;
    arcs_done_ -= arcs_.last - middle;
    pool_->add({.level = 0, .from = middle, .to = arcs_.last, .arcs = arcs_.last - middle});
    arcs_.last = middle;
    return;
  }
  for (int level = 1; level < std::min(last_level_, tail_); ++level) {
    Level& state = levels_[static_cast<std::size_t>(level)];
    if (state.open.size() == 0) continue;
    const Vertex* middle = state.open.first + state.open.size() / 2;
    pool_->add({.level = level,
                .from = static_cast<std::uint64_t>(middle - state.start),
                .to = static_cast<std::uint64_t>(state.open.last - state.start),
                .arcs = 0,
                .slice = slice_,
                .prefix = value_});
    state.open.last = middle;
    state.given = true;
    return;
  }
  if (nested_tail_) nested_tail_->share_work(*pool_);
}

}  // namespace motiflux::search
