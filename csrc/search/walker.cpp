#include "search/walker.hpp"

#include <algorithm>

#include "copies/ranges.hpp"
#include "motiflux/bits.hpp"

namespace motiflux::search {
namespace {

constexpr std::size_t kStrip = 4096;

// Marks of a larger graph leave the second-level cache, and a merge is as fast.
constexpr std::uint32_t kLargestMarked = 1 << 21;

constexpr std::uint32_t levels_up_to(int level) {
  return level >= 31 ? ~std::uint32_t{0} : (std::uint32_t{2} << level) - 1;
}

bool shorter(sets::Span a, sets::Span b) {
  return a.size() < b.size();
}

}  // namespace

Walker::Walker(const NativePlan& native_plan, Visitor& visitor, bool counting)
    : native_plan_(native_plan),
      compare_(native_plan),
      visitor_(visitor),
      counting_(counting),
      last_level_(static_cast<int>(native_plan.plan.shape.levels) - 1),
      tail_(counting ? native_plan.tail.start : last_level_ + 1),
      clique_level_(counting && !native_plan.compared ? CliqueTail::first_level(native_plan).value_or(-1)
                                                      : -1),
      jumping_(native_plan.backjump == Backjump::kOn && !native_plan.compared ? Jumping::kOn : Jumping::kOff),
      budget_(native_plan.check_every) {
  if (native_plan.compared) {
    ranges_ = std::make_unique<copies::Ranges>(*native_plan.compared, last_level_ + 1);
    ranges_->watch([this](std::size_t comparisons) { return spend(comparisons); });
  }
  if (jumps()) note_sources();
  if (native_plan.adaptive_order && native_plan.always_adaptive) adapt();
}

Walker::~Walker() = default;

bool Walker::search_arcs(ArcRange range, const std::function<void(std::uint64_t)>& before) {
  const view::Adjacency& root = native_plan_.root();
  const std::uint64_t* row_end = root.offsets;
  for (std::uint64_t arc = range.first; arc < range.last; arc = std::min(range.last, *row_end)) {
    row_end = std::upper_bound(row_end, root.offsets + native_plan_.roots + 1, arc);
    const auto vertex = static_cast<Vertex>(row_end - root.offsets - 1);
    if (!accepts(0, vertex)) continue;
    assign(0, vertex);
    const view::StepShape& step = native_plan_.plan.shape.steps[1];
    const rules::Bounds allowed = bounds(1, step.after, step.before);
    for (std::uint64_t at = arc; at < std::min(range.last, *row_end); ++at) {
      const Vertex candidate = root.neighbors[at];
      if (candidate < allowed.first || candidate >= allowed.end || !accepts(1, candidate)) continue;
      before(at);
      assign(1, candidate);
      if (!extend(2) || !spend(1)) return false;
    }
  }
  return true;
}

bool Walker::follow(const Walker& leader, int levels, const Walker* lender) {
  const auto end = static_cast<std::size_t>(levels);
  for (std::size_t level = 0; level < end; ++level) {
    value_[level] = leader.value_[level];
    stamp_[level] = leader.stamp_[level];
    levels_[level].base = leader.levels_[level].base;
  }
  const std::uint64_t stamp = stamp_[static_cast<std::size_t>(native_plan_.plan.shape.steps[levels].anchor)];
  if (lender && lender->levels_[end].valid_for == stamp) {
    levels_[end].base = lender->levels_[end].base;
    levels_[end].valid_for = stamp;
  }
  return extend(levels);
}

bool Walker::search_arcs() {
  const view::Adjacency& root = native_plan_.root();
  const std::uint64_t* row_end = root.offsets;
  if (arcs_.first < arcs_.last)
    row_end = std::upper_bound(row_end, root.offsets + native_plan_.roots + 1, arcs_.first);
  while (arcs_.first < arcs_.last) {
    const std::uint64_t arc = arcs_.first;
    while (*row_end <= arc) ++row_end;  // empty rows are skipped
    const auto vertex = static_cast<Vertex>(row_end - root.offsets - 1);
    arcs_.first = std::min(arcs_.last, *row_end);
    if (!search_root(vertex, {arc, arcs_.first}, arc == root.offsets[vertex])) return false;
  }
  return true;
}

bool Walker::search_root(Vertex root, ArcRange slice, bool starts_row) {
  if (!accepts(0, root) || (tail_ == 1 && !starts_row)) return spend(1);
  if (projector_) [[unlikely]]
    return project_root(root, slice, starts_row);
  assign(0, root);
  if (!enters(0)) return spend(1);
  if (tail_ == 1) return count_tail();
  if (!starts_row) --sizes_[0];
  slice_ = slice;
  return visit(1, from_root());
}

// The candidates of level 1 among slice_.
Walker::Span Walker::from_root() {
  const view::StepShape& step = native_plan_.plan.shape.steps[1];
  const rules::Bounds allowed = bounds(1, step.after, step.before);
  const Vertex* arcs = native_plan_.root().neighbors;
  const Span slice = sets::clip({arcs + slice_.first, arcs + slice_.last}, allowed.first, allowed.end);
  if (step.source_count == 1) return slice;
  spans_.assign(1, slice);
  for (std::uint32_t s = 1; s < step.source_count; ++s)
    spans_.push_back(sets::clip(row(step.first_source + s), allowed.first, allowed.end));
  return fold(spans_.size(), levels_[1].buffer);
}

bool Walker::extend(int level) {
  if (ranges_) [[unlikely]]
    return visit(level, compared_candidates(level));
  if (level == tail_) return count_tail();
  if (projector_ && level == last_level_) [[unlikely]]
    return project_last(level);
  if (level == last_level_ && is_fresh(level)) {
    if (const std::uint64_t ways = count_fresh(level))
      found(ways);
    else if (jumps())
      failing_ = why_uncounted(level);
    return spend(1);
  }
  return visit(level, clipped(level));
}

// The candidates of `level`.
Walker::Span Walker::clipped(int level) {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  const std::uint32_t later = ~levels_up_to(step.anchor);
  if (((step.after | step.before) & later) == 0) return base(level);
  const rules::Bounds allowed = bounds(level, step.after & later, step.before & later);
  return sets::clip(base(level), allowed.first, allowed.end);
}

// Whether the set of `level` is computed.
bool Walker::is_known(int level) const {
  const auto anchor = static_cast<std::size_t>(native_plan_.plan.shape.steps[level].anchor);
  return levels_[static_cast<std::size_t>(level)].valid_for == stamp_[anchor];
}

// Whether the set of `level`, which is only counted, is unknown and would be used only once.
bool Walker::is_fresh(int level) const {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  return counting_ && !native_plan_.tail.nested() && step.anchor == std::min(level, tail_) - 1 &&
         (step.not_out | step.not_in) == 0 && step.source_count + (step.reuse != view::kNoReuse) > 1 &&
         level != kept_level_ && !is_known(level);
}

bool Walker::visit(int level, Span candidates) {
  if (level == last_level_) return visit_last(level, candidates);
  begin_level(level);
  if (adaptive_) {
    open_all(level, candidates);
    return adapt_on(level);
  }
  if (level == clique_level_ && candidates.size() > 2 && candidates.size() <= CliqueTail::kMostVertices)
    return count_clique(level, candidates);
  candidates = all_different(level, candidates);
  if (projector_) [[unlikely]] {
    open_all(level, candidates);
    return project_on(level);
  }
  if (pool_ || jumps()) {
    open_all(level, candidates);
    return jumps() ? jump_on(level) : go_on(level);
  }
  for (const Vertex* candidate = candidates.first; candidate != candidates.last; ++candidate) {
    if (!try_candidate(level, *candidate)) {
      stop_at(level, static_cast<std::size_t>(candidate - candidates.first), candidates.size());
      return false;
    }
    if (jumping_ == Jumping::kOff) continue;
    open_all(level, candidates);
    levels_[static_cast<std::size_t>(level)].open.first = candidate + 1;
    return start_to_jump(level);
  }
  return spend(candidates.size() + 1);
}

// Counts the last three levels, whose vertices are all in `candidates`, in bits.
bool Walker::count_clique(int level, Span candidates) {
  const auto middle = static_cast<std::size_t>(level) + 1;
  clique_.begin(candidates, native_plan_.vertices);
  for (const Vertex* candidate = candidates.first; candidate != candidates.last; ++candidate) {
    if (!accepts(level, *candidate)) continue;
    assign(level, *candidate);
    clique_.set_row(static_cast<std::size_t>(candidate - candidates.first), clipped(level + 1));
  }
  const sets::Chains chains = clique_.count(native_plan_.sets);
  sizes_[middle] += chains.pairs;
  if (chains.triples > 0)
    found(chains.triples);
  else if (jumps())
    failing_ = why_no_clique(level);
  return spend(candidates.size() + chains.pairs + 1);
}

// Tries the open candidates of `level`, some of which may be given away meanwhile.
bool Walker::go_on(int level) {
  Level& state = levels_[static_cast<std::size_t>(level)];
  const std::size_t size = state.open.size();
  while (state.open.first != state.open.last) {
    if (!try_candidate(level, *state.open.first++)) {
      stop_at(level, static_cast<std::size_t>(state.open.first - state.start - 1), size);
      return false;
    }
    if (jumping_ != Jumping::kOff) return start_to_jump(level);
  }
  return spend(size + 1);
}

// Updates left_off_ when a search is stopped at candidate `tried` of `level`.
void Walker::stop_at(int level, std::size_t tried, std::size_t candidates) {
  if (!pace_) return;
  const Pace& pace = (*pace_)[static_cast<std::size_t>(level)];
  const bool innermost = left_off_.work == 0;
  const double last = innermost ? static_cast<double>(work() - pace.last)
                                : static_cast<double>(left_begun_ - pace.last) + left_off_.work;
  const double all = static_cast<double>(pace.last - pace.begun) + last;
  const auto size = static_cast<double>(candidates);
  left_off_.share = (static_cast<double>(tried) + left_off_.share) / size;
  left_off_.work = std::max(all, 1.0) * size / (static_cast<double>(tried) + 1);
  left_begun_ = pace.begun;
}

bool Walker::visit_last(int level, Span candidates) {
  if (ranges_) [[unlikely]]
    return visit_last_compared(level, candidates);
  failing_ = 0;
  const bool more = counting_ ? count_last(level, candidates) : list_last(level, candidates);
  if (jumps() && failing_ == 0) failing_ = why_none_last(level, candidates);
  return more;
}

bool Walker::list_last(int level, Span candidates) {
  if (keeps_all(level)) {
    if (candidates.size() > 0) hand_out(candidates);
    return spend(candidates.size() + 1);
  }
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  if ((step.not_out | step.not_in) == 0) {
    hand_out_but(step.distinct, level, candidates);
    return spend(candidates.size() + 1);
  }
  return in_strips(candidates, [&](Span strip) {
    const Span left = without_apart(level, strip);
    if (left.size() > 0) hand_out_but(step.distinct, level, left);
  });
}

// The candidates of the last level to which none of the arcs leads that must be absent; in `kept_`, or
// `candidates` if all are left.
Walker::Span Walker::without_apart(int level, Span candidates) {
  if (!native_plan_.members.empty()) {  // positions, while rows have vertices
    kept_.clear();
    for (Vertex candidate : candidates)
      if (accepts(level, candidate)) kept_.push_back(candidate);
    return {kept_.data(), kept_.data() + kept_.size()};
  }
  if (kept_.size() < candidates.size()) kept_.resize(candidates.size());
  Span left = candidates;
  compare_.rows_apart(level, value_.data(), [&](Span row) {
    if (left.size() == 0) return;
    const Span met = sets::clip(row, left.first[0], std::uint64_t{left.last[-1]} + 1);
    charge(left, met);
    if (met.size() > 0) left = {kept_.data(), kept_.data() + sets::subtract(left, met, kept_.data())};
  });
  return left;
}

// Passes on the candidates of the last level without the vertices of `levels`, run by run.
void Walker::hand_out_but(std::uint32_t levels, int level, Span candidates) {
  std::array<const Vertex*, view::kMaxLevels> taken;
  std::size_t count = 0;
  for_each_bit(levels, [&](std::size_t l) {
    const Place at = compare_.place(level, l, value_.data());
    const Vertex* found = std::lower_bound(candidates.first, candidates.last, at.first_not_less);
    if (at.there && found != candidates.last && *found == at.first_not_less) taken[count++] = found;
  });
  std::sort(taken.begin(), taken.begin() + count);
  for (std::size_t t = 0; t < count; ++t) {
    if (candidates.first < taken[t]) hand_out({candidates.first, taken[t]});
    candidates.first = std::max(candidates.first, taken[t] + 1);  // levels may share a vertex
  }
  if (candidates.size() > 0) hand_out(candidates);
}

bool Walker::count_last(int level, Span candidates) {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  if ((step.not_out | step.not_in) == 0) {
    const std::uint64_t ways = candidates.size() - taken(level, step.distinct, candidates, candidates);
    if (ways > 0) found(ways);
    return spend(1);
  }
  return in_strips(candidates, [&](Span strip) {
    if (const std::uint64_t ways = count_apart(level, strip)) found(ways);
  });
}

// The number of candidates of the last level to which none of the arcs leads that must be absent.
std::uint64_t Walker::count_apart(int level, Span candidates) {
  if (!native_plan_.members.empty()) {
    const auto accepted = [&](Vertex candidate) { return accepts(level, candidate); };
    return static_cast<std::uint64_t>(std::count_if(candidates.begin(), candidates.end(), accepted));
  }
  const std::uint32_t distinct = native_plan_.plan.shape.steps[level].distinct;
  std::size_t rows = 0;
  Span only{};
  compare_.rows_apart(level, value_.data(), [&](Span row) {
    ++rows;
    only = row;
  });
  if (rows > 1) {
    const Span left = without_apart(level, candidates);
    return left.size() - taken(level, distinct, left, left);
  }
  const std::uint64_t all = candidates.size() - taken(level, distinct, candidates, candidates);
  if (candidates.size() == 0) return 0;
  const Span met = sets::clip(only, candidates.first[0], std::uint64_t{candidates.last[-1]} + 1);
  charge(candidates, met);
  const std::uint64_t common = sets::count_common(candidates, met, native_plan_.sets);
  return all - (common - (common == 0 ? 0 : taken(level, distinct, candidates, met)));
}

bool Walker::keeps_all(int level) const {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  return (step.distinct | step.not_out | step.not_in) == 0;
}

// Passes on `candidates` in strips short enough to read the clock in between.
template <class Use>
bool Walker::in_strips(Span candidates, Use&& use) {
  do {
    const Span strip{candidates.first, candidates.first + std::min(candidates.size(), kStrip)};
    use(strip);
    candidates.first = strip.last;
    if (!spend(strip.size() + 1)) return false;
  } while (candidates.size() > 0);
  return true;
}

// Counts a level without writing its intersection.
std::uint64_t Walker::count_fresh(int level) {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  const rules::Bounds allowed = bounds(level, step.after, step.before);
  const Span changing = last_row(step, allowed);
  if (changing.size() == 0) return 0;
  const std::uint32_t matched = matched_of(level);
  std::uint64_t found = 0;
  if (const sets::Marks* marked = marks(level, changing)) {
    found = marked->count(changing, native_plan_.sets);
    for_each_bit(matched, [&](std::size_t l) {
      const Place at = compare_.place(level, l, value_.data());
      const auto value = static_cast<Vertex>(at.first_not_less);
      found -= at.there && marked->has(value) && sets::contains(changing, value) && is_first(matched, l);
    });
  } else {
    gather(level, allowed);
    std::sort(spans_.begin(), spans_.end(), shorter);
    const Span large = spans_.back();
    const Span small = spans_.size() == 2 ? spans_[0] : fold(spans_.size() - 1, scratch_);
    charge(small, large);
    found = sets::count_common(small, large, native_plan_.sets) - taken(level, matched, small, large);
  }
  return found;
}

std::uint64_t Walker::count_level(int level) {
  if (is_fresh(level)) return count_fresh(level);
  const Span candidates = clipped(level);
  return candidates.size() - taken(level, matched_of(level), candidates, candidates);
}

// The matched levels whose vertices the vertex of `level`, which is counted, must differ from.
std::uint32_t Walker::matched_of(int level) const {
  return level < tail_ ? native_plan_.plan.shape.steps[level].distinct
                       : native_plan_.tail.matched[static_cast<std::size_t>(level)];
}

Walker::Span Walker::base(int level) {
  Level& state = levels_[static_cast<std::size_t>(level)];
  if (!is_known(level)) {
    state.base = compute_base(level);
    state.valid_for = stamp_[static_cast<std::size_t>(native_plan_.plan.shape.steps[level].anchor)];
  }
  return state.base;
}

Walker::Span Walker::compute_base(int level) {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  const std::uint32_t known = levels_up_to(step.anchor);
  const rules::Bounds allowed = bounds(level, step.after & known, step.before & known);
  if (step.source_count == 1 && step.reuse == view::kNoReuse) return last_row(step, allowed);
  std::vector<Vertex>& buffer = levels_[static_cast<std::size_t>(level)].buffer;
  if (step.source_count > 0) {
    const Span changing = last_row(step, allowed);
    if (const sets::Marks* marked = marks(level, changing)) {
      if (buffer.size() < changing.size()) buffer.resize(changing.size());
      return {buffer.data(), buffer.data() + marked->intersect(changing, buffer.data(), native_plan_.sets)};
    }
  }
  gather(level, allowed);
  return spans_.size() == 1 ? spans_[0] : fold(spans_.size(), buffer);
}

// The row of the last source, which changes with each candidate of the anchor level.
Walker::Span Walker::last_row(const view::StepShape& step, const rules::Bounds& allowed) const {
  return sets::clip(row(step.first_source + step.source_count - 1), allowed.first, allowed.end);
}

// Where `level` intersects two sets of which only the second, `changing`, differs from one candidate of the
// anchor level to the next: the first, as marks. Null in other cases or where marks do not pay. The marked
// set is not clipped; clipping `changing` suffices.
const sets::Marks* Walker::marks(int level, Span changing) {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  const bool reuses = step.reuse != view::kNoReuse;
  if (step.source_count + reuses != 2 || step.source_count == 0) return nullptr;
  if (native_plan_.sets.method != sets::Method::kAuto || native_plan_.vertices > kLargestMarked)
    return nullptr;
  const std::uint32_t first = step.first_source;
  const int stable = reuses ? native_plan_.plan.shape.steps[step.reuse].anchor
                            : native_plan_.plan.shape.sources[first].level;
  if (stable >= step.anchor) return nullptr;
  const Span set = reuses ? levels_[static_cast<std::size_t>(step.reuse)].base : row(first);
  if (!native_plan_.sets.marks(set.size(), changing.size())) return nullptr;
  sets::Marks& marked = levels_[static_cast<std::size_t>(level)].marks;
  const std::uint64_t stamp = stamp_[static_cast<std::size_t>(stable)];
  if (!marked.holds(stamp)) {
    if (!marked.worthwhile(stamp, set.size(), changing.size())) return nullptr;
    charge(set, set);
    marked.mark(stamp, set, native_plan_.vertices);
  }
  charge(changing, changing);
  return &marked;
}

// Fills spans_ with the sets whose intersection is the base of `level`, each clipped to `allowed`.
void Walker::gather(int level, const rules::Bounds& allowed) {
  const view::StepShape& step = native_plan_.plan.shape.steps[level];
  spans_.clear();
  if (step.reuse != view::kNoReuse)
    spans_.push_back(
        sets::clip(levels_[static_cast<std::size_t>(step.reuse)].base, allowed.first, allowed.end));
  for (std::uint32_t s = 0; s < step.source_count; ++s)
    spans_.push_back(sets::clip(row(step.first_source + s), allowed.first, allowed.end));
}

// Intersects the first `count` >= 2 of spans_, shortest first, into `buffer`.
Walker::Span Walker::fold(std::size_t count, std::vector<Vertex>& buffer) {
  std::sort(spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(count), shorter);
  if (buffer.size() < spans_[0].size()) buffer.resize(spans_[0].size());
  Span result = spans_[0];
  for (std::size_t s = 1; s < count && result.size() > 0; ++s) {
    charge(result, spans_[s]);
    const std::size_t size = sets::intersect(result, spans_[s], buffer.data(), native_plan_.sets);
    result = {buffer.data(), buffer.data() + size};
  }
  return result;
}

Walker::Span Walker::row(std::uint32_t source) const {
  const view::Adjacency& adjacency = native_plan_.adjacencies[native_plan_.plan.args.adjacency[source]];
  const Vertex value = value_[native_plan_.plan.shape.sources[source].level];
  return {adjacency.begin(value), adjacency.end(value)};
}

// The number of `levels` whose vertex is in both sets of values of `level`.
std::uint64_t Walker::taken(int level, std::uint32_t levels, Span a, Span b) const {
  std::uint64_t found = 0;
  for_each_bit(levels, [&](std::size_t l) {
    const Place at = compare_.place(level, l, value_.data());
    const auto value = static_cast<Vertex>(at.first_not_less);
    found += at.there && sets::contains(a, value) && (a.first == b.first || sets::contains(b, value)) &&
             is_first(levels, l);
  });
  return found;
}

bool Walker::spend(std::size_t work) {
  budget_ -= static_cast<std::int64_t>(work);
  if (budget_ > 0) return true;
  spent_ += static_cast<std::uint64_t>(native_plan_.check_every - budget_);
  budget_ = native_plan_.check_every;
  if (native_plan_.backjump == Backjump::kAuto && !ranges_ && !projector_) choose_to_jump();
  if (pool_ && pool_->wants_work(this->work())) outermost_->share_work();
  return visitor_.keep_going();
}

void Walker::charge(Span a, Span b) {
  const std::size_t small = std::min(a.size(), b.size());
  budget_ -= static_cast<std::int64_t>(std::min(a.size() + b.size(), small * sets::kGallopRatio) / 4);
}

}  // namespace motiflux::search
