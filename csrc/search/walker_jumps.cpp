// Backjumping over levels that have no part in a failure: failing sets (DAF, SIGMOD 2019), the conflict sets
// of constraint solvers.
//
// Where a partial embedding has no extension, a few of its levels are the reason: the levels that made a set
// empty, and the levels that hold a vertex which another level needs. The reasons of all of a level's
// candidates are united with the levels that its set depends on; if the level itself is not among the reasons
// of one candidate, other candidates fail too:
//
//   level 3   a ── b ── c        below b: the set of level 7, from levels 1 and 5, is empty;
//             |    |    x        level 5 has no other candidate; its set depends on level 1.
//           fails {1}  left out  So {1} remains: c is skipped, as are all candidates of level 2.
#include <bit>

#include "search/walker.hpp"

namespace motiflux::search {
namespace {

constexpr std::uint32_t bit(int level) {
  return std::uint32_t{1} << level;
}

// The levels before `level`.
constexpr std::uint32_t before(int level) {
  return bit(level) - 1;
}

}  // namespace

void Walker::note_sources() {
  const view::PlanShape& shape = native_plan_.plan.shape;
  for (int level = 1; level <= last_level_; ++level) {
    const view::StepShape& step = shape.steps[level];
    const auto at = static_cast<std::size_t>(level);
    bounds_of_[at] = step.after | step.before;
    set_of_[at] = bounds_of_[at] & before(step.anchor + 1);
    if (step.reuse != view::kNoReuse) set_of_[at] |= set_of_[static_cast<std::size_t>(step.reuse)];
    for (std::uint32_t s = 0; s < step.source_count; ++s)
      set_of_[at] |= bit(shape.sources[step.first_source + s].level);
    if (level >= tail_) tail_reads_ |= (reads(level) | step.distinct) & before(tail_);
  }
}

// Tries the open candidates of `level`, some of which may be given away meanwhile, until one fails for
// reasons that hold for all of them.
bool Walker::jump_on(int level) {
  Level& state = levels_[static_cast<std::size_t>(level)];
  const std::size_t size = state.open.size();
  const auto all = static_cast<std::size_t>(state.open.last - state.start);
  Levels failing = why_no_others(level, state.open);
  while (state.open.first != state.open.last) {
    const Vertex candidate = *state.open.first++;
    if (!accepts(level, candidate)) {
      failing |= why_refused(level, candidate);
      continue;
    }
    begin_candidate(level);
    assign(level, candidate);
    if (!extend(level + 1)) {
      stop_at(level, static_cast<std::size_t>(state.open.first - state.start - 1), all);
      return false;
    }
    if (!jumps()) {  // given up meanwhile: the reasons of failures are unknown
      failing = failing_ = kAllLevels;
      if (jumping_ == Jumping::kWanted) jumping_ = Jumping::kOn;
    }
    if ((failing_ & bit(level)) == 0) {
      const std::size_t left = state.open.size();
      state.open.first = state.open.last;
      return spend(size - left + 1);
    }
    failing |= failing_;
  }
  failing_ = state.given ? kAllLevels : failing & ~bit(level);
  return spend(size + 1);
}

void Walker::choose_to_jump() {
  if (jumping_ == Jumping::kOff && finds_ < kFewFinds) jumping_ = Jumping::kWanted;
  if (jumping_ == Jumping::kOn && !adaptive_ && finds_ > kManyFinds) jumping_ = Jumping::kOff;
  finds_ = 0;
}

// Continues from the open candidates of `level` with jumps, or in adaptive order if allowed. The reasons of
// failures before are unknown.
bool Walker::start_to_jump(int level) {
  Level& state = levels_[static_cast<std::size_t>(level)];
  if (!jumps()) {
    note_sources();
    jumping_ = Jumping::kOn;
    if (native_plan_.adaptive_order) adapt();
  } else if ((failing_ & bit(level)) == 0) {
    state.open.first = state.open.last;
    return spend(1);
  }
  state.given = true;
  return adaptive_ ? adapt_on(level) : jump_on(level);
}

void Walker::adapt() {
  adaptive_ = std::make_unique<Adaptive>(native_plan_, native_plan_.adaptive_order(),
                                         static_cast<Adaptive::Owner&>(*this));
}

// Tries the open candidates of `level`, with the levels after it in adaptive order.
bool Walker::adapt_on(int level) {
  Level& state = levels_[static_cast<std::size_t>(level)];
  const std::size_t size = state.open.size();
  const auto all = static_cast<std::size_t>(state.open.last - state.start);
  Levels failing = why_no_others(level, state.open);
  bool more = true, jumped = !adaptive_->begin(value_.data(), level);
  while (more && !jumped && state.open.first != state.open.last) {
    begin_candidate(level);
    more = adaptive_->search(level, *state.open.first++);
    jumped = native_plan_.backjump != Backjump::kOff && (adaptive_->failing() & bit(level)) == 0;
    failing |= adaptive_->failing();
  }
  adaptive_->end();
  if (!more) {
    stop_at(level, static_cast<std::size_t>(state.open.first - state.start - 1), all);
    return false;
  }
  state.open.first = state.open.last;
  failing_ = jumped ? adaptive_->failing() : state.given ? kAllLevels : failing & ~bit(level);
  return spend(size + 1);
}

// The candidates of `level`, without those that would leave later levels too few.
Walker::Span Walker::all_different(int level, Span candidates) const {
  if (native_plan_.all_different.empty()) return candidates;
  const AllDifferentBound& bound = native_plan_.all_different[static_cast<std::size_t>(level)];
  if (candidates.size() <= bound.others) return {candidates.first, candidates.first};
  return {candidates.first, candidates.last - bound.greater};
}

// The levels that the set of `level` depends on. Order restrictions count only if they excluded a candidate.
Walker::Levels Walker::why_no_others(int level, Span candidates) const {
  const auto at = static_cast<std::size_t>(level);
  const bool whole = level > 1 && candidates.size() == levels_[at].base.size();
  return whole ? set_of_[at] : reads(level);
}

// The levels whose vertices make `level` refuse a candidate; none if its degree is the reason.
Walker::Levels Walker::why_refused(int level, Vertex candidate) const {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  const Vertex vertex = compare_.vertex(static_cast<std::size_t>(level), candidate);
  const auto vertex_at = [&](std::uint32_t l) { return compare_.vertex(l, value_[l]); };
  for (Levels rest = step.distinct; rest != 0; rest &= rest - 1)
    if (!rules::is_distinct(rest & -rest, vertex, vertex_at)) return rest & -rest;
  if (compare_.has_own_arcs(level)) {
    for (const Apart& one : native_plan_.apart[static_cast<std::size_t>(level)])
      if (compare_.leads_to(one, vertex, value_.data())) return Levels{1} << one.earlier;
    return 0;
  }
  for (Levels rest = step.not_out; rest != 0; rest &= rest - 1)
    if (!rules::is_apart(rest & -rest, native_plan_.out, vertex, vertex_at)) return rest & -rest;
  for (Levels rest = step.not_in; rest != 0; rest &= rest - 1)
    if (!rules::is_apart(rest & -rest, native_plan_.in, vertex, vertex_at)) return rest & -rest;
  return 0;
}

// The reasons of the last level when all its candidates are refused.
Walker::Levels Walker::why_none_last(int level, Span candidates) const {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  const Levels all = step.distinct | step.not_out | step.not_in;
  Levels refusing = 0;
  for (Vertex candidate : candidates) {
    refusing |= why_refused(level, candidate);
    if (refusing == all) break;
  }
  return why_no_others(level, candidates) | refusing;
}

// The reasons of a level that is counted, alone or in a component: the levels that its set depends on, and
// the levels that hold vertices of it.
Walker::Levels Walker::why_uncounted(int level) const {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  Levels failing = reads(level);
  const Span set = step.source_count > 0 ? row(step.first_source + step.source_count - 1)
                                         : levels_[static_cast<std::size_t>(step.reuse)].base;
  for (Levels rest = matched_of(level); rest != 0; rest &= rest - 1) {
    const auto other = static_cast<std::size_t>(std::countr_zero(rest));
    const Place at = compare_.place(level, other, value_.data());
    if (at.there && sets::contains(set, static_cast<Vertex>(at.first_not_less))) failing |= rest & -rest;
  }
  return failing;
}

Walker::Levels Walker::why_no_clique(int level) const {
  Levels failing = 0;
  for (int one = level; one <= last_level_; ++one) failing |= reads(one);
  return failing & before(level);
}

}  // namespace motiflux::search
