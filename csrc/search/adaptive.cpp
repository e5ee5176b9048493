#include "search/adaptive.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "motiflux/bits.hpp"

namespace motiflux::search {
namespace {

using sets::Span;

constexpr Adaptive::Levels kAllLevels = ~Adaptive::Levels{0};

// A level without unmatched neighbours is matched last, unless it has only one candidate.
constexpr std::size_t kLeafPenalty = std::size_t{1} << 32;

constexpr std::uint32_t bit(int level) {
  return std::uint32_t{1} << level;
}

constexpr std::size_t index(int level) {
  return static_cast<std::size_t>(level);
}

}  // namespace

Adaptive::Adaptive(const NativePlan& native_plan, const AdaptiveOrder& order, Owner& owner)
    : native_plan_(native_plan),
      order_(order),
      owner_(owner),
      jumps_(native_plan.backjump != Backjump::kOff),
      all_(kAllLevels >> (view::kMaxLevels - static_cast<int>(native_plan.plan.shape.levels))) {
  for (int level = 0; level < static_cast<int>(native_plan.plan.shape.levels); ++level) {
    Choices& choices = choices_[index(level)];
    for (const AdaptiveOrder::Link& link : order.links[index(level)]) choices.neighbors |= bit(link.to);
    choices.buffers.resize(order.links[index(level)].size() + 1);
  }
}

bool Adaptive::begin(const Vertex* values, int levels) {
  begun_.clear();
  for (int level = 0; level < levels; ++level) {
    begun_.push_back(saved_.size());
    if (!match(level, values[level])) return false;
  }
  return true;
}

void Adaptive::end() {
  for (; !begun_.empty(); begun_.pop_back()) unmatch(static_cast<int>(begun_.size()) - 1, begun_.back());
}

bool Adaptive::search(int level, Vertex candidate) {
  if ((failing_ = taken_by(level, candidate)) != 0) {
    failing_ |= bit(level);
    return owner_.worked(1);
  }
  const std::size_t saved = saved_.size();
  bool more = true;
  if (match(level, candidate)) more = owner_.counts() && only_leaves() ? count_leaves() : visit(fewest());
  unmatch(level, saved);
  return more;
}

// The level to match next. Precondition: there is one.
int Adaptive::fewest() const {
  int best = -1;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for_each_bit(all_ & ~matched_, [&](int level) {
    const Choices& choices = choices_[index(level)];
    if (choices.narrowed == 0) return;
    const bool leaf = (choices.neighbors & ~matched_) == 0;
    const std::size_t size = choices.set.size() + (leaf && choices.set.size() > 1 ? kLeafPenalty : 0);
    if (size >= least) return;
    least = size;
    best = level;
  });
  return best;
}

// Whether the unmatched levels are independent of each other.
bool Adaptive::only_leaves() const {
  const Levels left = all_ & ~matched_;
  Levels met = 0;
  for_each_bit(left, [&](int level) {
    const std::size_t at = index(level);
    met |= choices_[at].neighbors | order_.apart[at] | order_.smaller[at] | order_.greater[at];
  });
  return (met & left) == 0;
}

// Counts all unmatched levels as a product. Precondition: only_leaves().
bool Adaptive::count_leaves() {
  Total embeddings = 1;
  bool fits = true;
  Levels none = 0;  // a level without candidates, and the levels that are the reason
  for (Levels left = all_ & ~matched_; left != 0 && none == 0; left &= left - 1) {
    const int level = std::countr_zero(left);
    Levels failing = choices_[index(level)].reasons;
    const Span candidates = clipped(level, failing);
    std::uint64_t free = 0;
    for (const Vertex candidate : candidates) {
      const Levels taken = taken_by(level, candidate);
      failing |= taken;
      free += taken == 0;
    }
    read_ += candidates.size();
    if (free == 0) none = failing | bit(level);
    fits = fits && !__builtin_mul_overflow(embeddings, free, &embeddings);
  }
  if (none == 0 && !fits) return visit(fewest());
  failing_ = none == 0 ? kAllLevels : none & matched_;
  if (none == 0) owner_.counted(embeddings);
  return owner_.worked(std::exchange(read_, 0) + 1);
}

bool Adaptive::visit(int level) {
  Levels failing = choices_[index(level)].reasons;
  const Span candidates = clipped(level, failing);
  if ((matched_ | bit(level)) == all_) return visit_last(level, candidates, failing);
  for (const Vertex candidate : candidates) {
    if (!search(level, candidate)) return false;
    if (jumps_ && (failing_ & bit(level)) == 0) return owner_.worked(1);
    failing |= failing_;
  }
  failing_ = failing & ~bit(level);
  return owner_.worked(candidates.size() + std::exchange(read_, 0) / 4 + 1);
}

bool Adaptive::visit_last(int level, Span candidates, Levels failing) {
  std::uint64_t found = 0;
  for (const Vertex candidate : candidates) {
    if (const Levels taken = taken_by(level, candidate)) {
      failing |= taken;
      continue;
    }
    ++found;
    if (owner_.counts()) continue;
    value_[index(level)] = candidate;
    owner_.complete(value_.data());
  }
  if (found > 0 && owner_.counts()) owner_.counted(found);
  failing_ = found > 0 ? kAllLevels : failing;
  return owner_.worked(candidates.size() + 1);
}

// Matches `level`. False, with the reason in failing_, if another level is left without candidates.
bool Adaptive::match(int level, Vertex value) {
  value_[index(level)] = value;
  vertex_[index(level)] = native_plan_.members[index(level)][value];
  matched_ |= bit(level);
  for (const AdaptiveOrder::Link& link : order_.links[index(level)]) {
    if ((matched_ & bit(link.to)) != 0 || narrow(link, value)) continue;
    failing_ = choices_[index(link.to)].reasons;
    return false;
  }
  return true;
}

void Adaptive::unmatch(int level, std::size_t saved) {
  matched_ &= ~bit(level);
  for (; saved_.size() > saved; saved_.pop_back()) {
    const Saved& before = saved_.back();
    Choices& choices = choices_[index(before.level)];
    choices.set = before.set;
    choices.reasons = before.reasons;
    --choices.narrowed;
  }
}

// Keeps the candidates of link.to that are in the row of `value`; false if none are left.
bool Adaptive::narrow(const AdaptiveOrder::Link& link, Vertex value) {
  Choices& choices = choices_[index(link.to)];
  saved_.push_back({link.to, choices.set, choices.reasons});
  const Span row{link.rows.begin(value), link.rows.end(value)};
  if (choices.narrowed == 0) {
    choices.set = row;
    choices.reasons = bit(link.from);
  } else {
    std::vector<Vertex>& buffer = choices.buffers[choices.narrowed];
    const std::size_t most = std::min(row.size(), choices.set.size());
    if (buffer.size() < most) buffer.resize(most);
    const std::size_t size = sets::intersect(choices.set, row, buffer.data(), native_plan_.sets);
    if (size < choices.set.size()) choices.reasons |= bit(link.from);
    choices.set = {buffer.data(), buffer.data() + size};
    read_ += most;
  }
  ++choices.narrowed;
  return choices.set.size() > 0;
}

// The candidates of `level` within the order restrictions; adds to `reasons` the levels that exclude some.
Span Adaptive::clipped(int level, Levels& reasons) const {
  const Vertex* members = native_plan_.members[index(level)];
  Span set = choices_[index(level)].set;
  for_each_bit(order_.smaller[index(level)] & matched_, [&](int other) {
    const auto at_most = [&](Vertex value) { return members[value] <= vertex_[index(other)]; };
    const Vertex* first = std::partition_point(set.first, set.last, at_most);
    if (first != set.first) reasons |= bit(other);
    set.first = first;
  });
  for_each_bit(order_.greater[index(level)] & matched_, [&](int other) {
    const auto less = [&](Vertex value) { return members[value] < vertex_[index(other)]; };
    const Vertex* last = std::partition_point(set.first, set.last, less);
    if (last != set.last) reasons |= bit(other);
    set.last = last;
  });
  return set;
}

// The matched level, if any, whose vertex is `candidate` and must differ from the vertex of `level`.
Adaptive::Levels Adaptive::taken_by(int level, Vertex candidate) const {
  const Vertex vertex = native_plan_.members[index(level)][candidate];
  for (Levels rest = order_.apart[index(level)] & matched_; rest != 0; rest &= rest - 1)
    if (vertex_[index(std::countr_zero(rest))] == vertex) return rest & -rest;
  return 0;
}

}  // namespace motiflux::search
