// Where a walker's work comes from, and how it is given away.
#include <algorithm>

#include "search/walker.hpp"

namespace motiflux::search {

bool Walker::search(const Part& part) {
  arcs_done_ = part.arcs;
  if (part.level == 0) {
    arcs_ = {part.from, part.to};
    return search_arcs();
  }
  arcs_ = {};
  const Span candidates = replay(part);
  if (part.level >= tail_) return search_tail(part);
  if (part.level == last_level_ && !adaptive_)
    return visit_last(part.level, {candidates.first + part.from, candidates.first + part.to});
  open_all(part.level, candidates);
  levels_[static_cast<std::size_t>(part.level)].open = {candidates.first + part.from,
                                                        candidates.first + part.to};
  if (adaptive_) return adapt_on(part.level);
  return jumps() ? jump_on(part.level) : go_on(part.level);
}

// Goes on with some of what is summed over at the beginning of the tail.
bool Walker::search_tail(const Part& part) {
  if (!parts_) parts_ = std::make_unique<PartCounter>(*this);
  for (Level& state : levels_) state.open = {};
  try {
    parts_->go_on(part.level, part.from, part.to);
  } catch (const Stopped&) {
    return false;
  }
  return spend(1);
}

// Comes to where the candidates of the part are, which are the result. What was met on the way counts for the
// thread that gave the part away.
Walker::Span Walker::replay(const Part& part) {
  slice_ = part.slice;
  for (int level = 0; level < part.level; ++level) {
    if (level >= std::min(2, tail_)) base(level);  // later levels may start from it
    assign(level, part.prefix[static_cast<std::size_t>(level)]);
    --sizes_[static_cast<std::size_t>(level)];
  }
  return part.level == 1 && tail_ > 1 ? from_root() : clipped(part.level);
}

bool Walker::complete(const Vertex* values, int levels) {
  arcs_ = {};
  for (int level = 0; level < levels; ++level) {
    if (level >= std::min(2, tail_)) base(level);  // later levels may start from it
    assign(level, values[level]);
  }
  return extend(levels);
}

// Gives half of what is left at the shallowest level where something is to a thread that waits.
void Walker::give_away() {
  if (const std::uint64_t left = arcs_.last - arcs_.first; left > 0) {
    const std::uint64_t middle = arcs_.first + left / 2;
    arcs_done_ -= arcs_.last - middle;
    pool_->give({.level = 0, .from = middle, .to = arcs_.last, .arcs = arcs_.last - middle});
    arcs_.last = middle;
    return;
  }
  for (int level = 1; level < std::min(last_level_, tail_); ++level) {
    Level& state = levels_[static_cast<std::size_t>(level)];
    if (state.open.size() == 0) continue;
    const Vertex* middle = state.open.first + state.open.size() / 2;
    pool_->give({.level = level,
                 .from = static_cast<std::uint64_t>(middle - state.start),
                 .to = static_cast<std::uint64_t>(state.open.last - state.start),
                 .arcs = 0,
                 .slice = slice_,
                 .prefix = value_});
    state.open.last = middle;
    state.given = true;
    return;
  }
  if (parts_) parts_->give_away(*pool_);
}

}  // namespace motiflux::search
