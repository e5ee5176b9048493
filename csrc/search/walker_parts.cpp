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
  if (part.level == last_level_)
    return visit_last(part.level, {candidates.first + part.from, candidates.first + part.to});
  Level& state = levels_[static_cast<std::size_t>(part.level)];
  state.start = candidates.first;
  state.open = {candidates.first + part.from, candidates.first + part.to};
  return go_on(part.level);
}

bool Walker::search_arcs() {
  const view::Adjacency& root = problem_.root();
  const std::uint64_t* end = root.offsets + problem_.roots + 1;
  const std::uint64_t* row_end = root.offsets;
  while (arcs_.first < arcs_.last) {
    const std::uint64_t arc = arcs_.first;
    row_end = std::upper_bound(row_end, end, arc);  // empty rows are stepped over
    const auto vertex = static_cast<Vertex>(row_end - root.offsets - 1);
    arcs_.first = std::min(arcs_.last, *row_end);
    if (!search_root(vertex, {arc, arcs_.first}, arc == root.offsets[vertex])) return false;
  }
  return true;
}

bool Walker::search_root(Vertex root, ArcRange slice, bool starts_row) {
  if (!accepts(0, root)) return spend(1);
  assign(0, root);
  if (!starts_row) --sizes_[0];
  slice_ = slice;
  return visit(1, from_root());
}

// The candidates of level 1 among slice_.
Walker::Span Walker::from_root() {
  const view::StepShape& step = problem_.plan.shape.steps[1];
  const rules::Bounds allowed = bounds(1, step.after, step.before);
  const Vertex* arcs = problem_.root().neighbors;
  spans_.assign(1, sets::clip({arcs + slice_.first, arcs + slice_.last}, allowed.first, allowed.end));
  for (std::uint32_t s = 1; s < step.source_count; ++s)
    spans_.push_back(sets::clip(row(step.first_source + s), allowed.first, allowed.end));
  return spans_.size() == 1 ? spans_[0] : fold(spans_.size(), levels_[1].buffer);
}

// Comes to where the candidates of the part are, which are the result. What was met on the way counts for the
// thread that gave the part away.
Walker::Span Walker::replay(const Part& part) {
  slice_ = part.slice;
  for (int level = 0; level < part.level; ++level) {
    if (level >= 2) base(level);  // later levels may start from it
    assign(level, part.prefix[static_cast<std::size_t>(level)]);
    --sizes_[static_cast<std::size_t>(level)];
  }
  return part.level == 1 ? from_root() : clipped(part.level);
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
    return;
  }
}

}  // namespace motiflux::search
