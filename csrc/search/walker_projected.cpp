// Levels of a search that projects embeddings (search/projection.hpp): it leaves a subtree at its first
// witness, and does not enter one that can tell nothing new.
#include <algorithm>
#include <utility>

#include "search/projection.hpp"
#include "search/walker.hpp"

namespace motiflux::search {

void Walker::project(Projector& projector) {
  projector_ = &projector;
  projector.watch(value_.data());
  if (native_plan_.backjump == Backjump::kOff || ranges_ || jumps()) return;
  jumping_ = Jumping::kOn;
  note_sources();
}

// The last level of which candidates may be given to other threads.
int Walker::last_shared_level() const {
  const int last = std::min(last_level_, tail_) - 1;
  return projector_ ? std::min(last, projector_->last_shared_level()) : last;
}

// Searches from a root, whose arcs are not divided where all of them are one group.
bool Walker::project_root(Vertex root, ArcRange slice, bool starts_row) {
  if (projector_->group_level() == 0) {
    if (!starts_row) return spend(1);
    const std::uint64_t* offsets = native_plan_.root().offsets;
    slice = {offsets[root], offsets[root + 1]};
  }
  assign(0, root);
  if (!enters(0) || !projector_->enters(0)) return spend(1);
  slice_ = slice;
  if (!visit(1, from_root())) return false;
  if (projector_->group_level() == 0) projector_->end_group();
  projector_->stay();
  return !projector_->is_done();
}

// Tries the open candidates of `level`, some of which may be given away meanwhile. As in jump_on, it stops at
// a failure that the others would share.
bool Walker::project_on(int level) {
  Level& state = levels_[static_cast<std::size_t>(level)];
  const std::size_t size = state.open.size();
  const Levels own = Levels{1} << level;
  Levels failing = jumps() ? why_no_others(level, state.open) : kAllLevels;
  while (state.open.first != state.open.last) {
    if (projector_->hopeless(level, state.open.size())) {
      failing = kAllLevels;
      break;
    }
    const Vertex candidate = *state.open.first++;
    if (!accepts(level, candidate)) {
      if (jumps()) failing |= why_refused(level, candidate);
      continue;
    }
    assign(level, candidate);
    if (!enters(level)) continue;
    if (!projector_->enters(level)) {
      failing = kAllLevels;
      continue;
    }
    if (!extend(level + 1)) return false;
    if (level == projector_->group_level()) projector_->end_group();
    if (projector_->is_done()) return false;
    if (projector_->next_level() < level) break;
    projector_->stay();
    if (jumps() && (failing_ & own) == 0) {
      const std::size_t left = state.open.size();
      state.open.first = state.open.last;
      return spend(size - left + 1);
    }
    failing |= failing_;
  }
  const std::size_t left = state.open.size();
  state.open.first = state.open.last;
  failing_ = state.given || projector_->next_level() < level ? kAllLevels : failing & ~own;
  return spend(size - left + 1);
}

// The last level; where one vertex is enough, the first few of the shorter of two sets are looked up in the
// other, before all that both have are found.
bool Walker::project_last(int level) {
  constexpr std::size_t kFirst = 16;
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  if (!projector_->needs_one(level) || is_known(level) ||
      step.source_count + (step.reuse != view::kNoReuse) != 2)
    return visit(level, clipped(level));
  gather(level, bounds(level, step.after, step.before));
  Span small = spans_[0], large = spans_[1];
  if (large.size() < small.size()) std::swap(small, large);
  const Vertex* const end = small.first + std::min(small.size(), kFirst);
  for (const Vertex* one = small.first; one != end; ++one) {
    if (!sets::contains(large, *one) || !accepts(level, *one)) continue;
    hand_out({one, one + 1});
    return spend(static_cast<std::size_t>(one - small.first) + 1);
  }
  if (end != small.last) return visit(level, clipped(level));
  failing_ = reads(level) | step.distinct | step.not_out | step.not_in;
  return spend(small.size() + 1);
}

}  // namespace motiflux::search
