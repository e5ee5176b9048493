#include "dynamic/access_walks.hpp"

#include <algorithm>
#include <cmath>

#include "motiflux/rules/candidate.hpp"

namespace motiflux::dynamic {
namespace {

// Candidates that are looked up between two looks at the watch: half a millisecond.
constexpr std::uint32_t kTurns = 4096;

// Candidates that are looked at to tell whether a search comes to a level.
constexpr std::size_t kMostLooks = 4096;

// The purposes of random numbers, apart from those of other files.
constexpr std::uint32_t kChildren = 0x41000100;

Total weight_in_units(double weight) {
  return static_cast<Total>(std::min(std::ldexp(weight, AccessWalker::kFraction), 0x1p126));
}

}  // namespace

void AccessWalker::begin(const Root& root) {
  plan_ = &search_.plans[root.plan];
  moment_ = root.moment;
  const std::size_t levels = plan_->levels();
  if (vertices_.size() < levels) {
    vertices_.resize(levels);
    sets_.resize(levels);
    chosen_.resize(levels);
  }
  vertices_[0] = root.first;
  vertices_[1] = root.second;
  reader_.begin_search();
}

const AccessWalker::Sets& AccessWalker::gather(std::size_t level) {
  Sets& sets = sets_[level];
  sets.step = &plan_->steps[level];
  sets.all.clear();
  sets.shortest = 0;
  const AccessStep& step = *sets.step;
  const rules::Bounds allowed =
      rules::bounds(step.after, step.before, [&](std::uint32_t other) { return vertices_[other]; });
  const auto add = [&](UnionRow row, bool hidden) {
    row.clip(allowed);
    sets.all.push_back({row, hidden});
    if (row.size() < sets.places()) sets.shortest = sets.all.size() - 1;
  };
  for (const OpenedRow& one : step.sets) add(reader_.open(one.name, vertices_[one.level]), one.hidden);
  for (const int number : step.lists) {
    const std::vector<Vertex>& list = search_.lists[static_cast<std::size_t>(number)];
    add({{list.data(), list.data() + list.size()}, {}, true}, false);
  }
  return sets;
}

std::optional<Vertex> AccessWalker::candidate(const Sets& sets, std::size_t place) {
  if (++turns_ >= kTurns) {
    turns_ = 0;
    if (!watch_->keep_going()) throw Stopped();
  }
  const Sets::One& shortest = sets.all[sets.shortest];
  const std::optional<Vertex> found = shortest.row.at(place, moment_, shortest.hidden);
  if (!found) return found;
  const AccessStep& step = *sets.step;
  if (!rules::is_distinct(step.distinct, *found, [&](std::uint32_t other) { return vertices_[other]; }))
    return std::nullopt;
  if (step.column != kNoNumber && search_.candidates != nullptr &&
      !search_.candidates->has(*found, step.column / CandidateTable::kWordBits,
                               std::uint64_t{1} << step.column % CandidateTable::kWordBits))
    return std::nullopt;
  for (std::size_t number = 0; number < sets.all.size(); ++number)
    if (number != sets.shortest && !sets.all[number].row.contains(*found, moment_, sets.all[number].hidden))
      return std::nullopt;
  return found;
}

bool AccessWalker::reaches(std::size_t level, std::size_t target, std::size_t& looks) {
  if (level == target) return true;
  const Sets& sets = gather(level + 1);
  for (std::size_t place = 0; place < sets.places(); ++place) {
    if (++looks > kMostLooks) return true;
    const std::optional<Vertex> found = candidate(sets, place);
    if (!found) continue;
    vertices_[level + 1] = *found;
    if (reaches(level + 1, target, looks)) return true;
  }
  return false;
}

bool AccessWalker::has_candidates(std::size_t level, std::size_t least) {
  const Sets& sets = gather(level);
  for (std::size_t place = 0; least > 0 && place < sets.places(); ++place)
    if (candidate(sets, place)) --least;
  return least == 0;
}

void AccessWalker::open(const AccessStep& step, std::size_t level, Total amount) {
  for (const OpenedRow& one : step.opened) {
    Total& sum = sums_[{vertices_[one.level], one.name, static_cast<std::uint16_t>(level)}];
    if (__builtin_add_overflow(sum, amount, &sum)) sum = ~Total{0};
  }
}

// At a vertex of the level before the first that is counted.
void AccessWalker::open_counted(std::size_t of_level, Total amount) {
  for (std::size_t number = 0; number < plan_->parts.size(); ++number) {
    const AccessPlan::Part& part = plan_->parts[number];
    open(plan_->steps[part.level], of_level, amount);
    if (number + 1 < plan_->parts.size() && !has_candidates(part.level, part.levels)) return;
  }
}

void AccessWalker::open_at(std::size_t level, std::size_t of_level, Total amount) {
  std::size_t known = level;
  for (const std::size_t walked : plan_->opened_at[level]) {
    std::size_t looks = 0;
    if (walked - 1 > known && !reaches(level, walked - 1, looks)) break;
    known = std::max(known, walked - 1);
    open(plan_->steps[walked], of_level, amount);
  }
  if (level + 1 == plan_->counted_from) open_counted(of_level, amount);
}

void AccessWalker::visit_all(const Root& root) {
  begin(root);
  std::uint32_t made = 0;
  if (plan_->deepest > 0) visit_all(1, made);
}

// `made`: the levels, as bits, whose sets were made for the vertices that are matched now.
void AccessWalker::visit_all(std::size_t level, std::uint32_t& made) {
  if (level + 1 == plan_->counted_from) return open_counted(0, 1);
  const std::size_t next = level + 1;
  const std::uint32_t bit = std::uint32_t{1} << next;
  if ((made & bit) == 0) open(plan_->steps[next], 0, 1);
  made |= bit;
  if (next + 1 == plan_->levels()) return;  // nothing depends on the last level
  const Sets& sets = gather(next);
  for (std::size_t place = 0; place < sets.places(); ++place) {
    const std::optional<Vertex> found = candidate(sets, place);
    if (!found) continue;
    vertices_[next] = *found;
    for (const std::size_t renewed : plan_->opened_at[next]) made &= ~(std::uint32_t{1} << renewed);
    visit_all(next, made);
  }
}

void AccessWalker::walk(const Root& root, std::uint64_t walks, std::uint64_t id) {
  begin(root);
  if (plan_->deepest > 0) go_on(1, walks, id);
}

// `walks` come to the vertex of `level`.
void AccessWalker::go_on(std::size_t level, std::uint64_t walks, std::uint64_t id) {
  open_at(level, level, walks);
  if (level == plan_->deepest) return;
  const std::size_t next = level + 1;
  Draws draws(search_.seed, kChildren, id);
  draw_children(next, walks, draws);
  for (std::size_t at = 0; at < chosen_[next].size(); ++at) {
    const auto [child, hits] = chosen_[next][at];
    vertices_[next] = child;
    go_on(next, hits, child_id(id, child));
  }
}

// Each member of the set is drawn by each walk with probability 1 / D. That is what this does: the places of
// a row that has all members, R of them, are drawn by Bin(walks, R / D) walks together, as R <= D, and each
// of these walks has any place with probability 1 / R. So the numbers of walks that draw the places, and
// those that draw none, are multinomial, with probability 1 / D for each place; those of the places with
// members are a part of them, and each is Bin(walks, 1 / D), as published, without the set.
void AccessWalker::draw_children(std::size_t level, std::uint64_t walks, Draws& draws) {
  chosen_[level].clear();
  const Sets& sets = gather(level);
  const std::uint64_t places = sets.places();
  if (places == 0) return;
  exceeded_ = exceeded_ || places > search_.largest;
  const std::uint64_t drawn =
      draws.binomial(walks, static_cast<double>(places) / static_cast<double>(search_.largest));
  const auto take = [&](std::uint64_t place, std::uint64_t hits) {
    if (hits == 0) return;
    if (const std::optional<Vertex> found = candidate(sets, place)) chosen_[level].push_back({*found, hits});
  };
  if (drawn / 4 >= places) {
    std::uint64_t left = drawn;
    for (std::uint64_t place = 0; left > 0; ++place) {
      const std::uint64_t hits = draws.binomial(left, 1 / static_cast<double>(places - place));
      left -= hits;
      take(place, hits);
    }
    return;
  }
  drawn_.clear();
  for (std::uint64_t walk = 0; walk < drawn; ++walk) drawn_.push_back(draws.below(places));
  std::ranges::sort(drawn_);
  for (std::size_t at = 0, end; at < drawn_.size(); at = end) {
    for (end = at + 1; end < drawn_.size() && drawn_[end] == drawn_[at];) ++end;
    take(drawn_[at], end - at);
  }
}

void AccessWalker::go_to(const Root& root, std::span<const Vertex> below) {
  begin(root);
  level_ = 1 + below.size();
  std::ranges::copy(below, vertices_.begin() + 2);
}

std::uint64_t AccessWalker::open_rows(double weight) {
  open_at(level_, 0, weight_in_units(weight));
  return level_ == plan_->deepest ? 0 : gather(level_ + 1).places();
}

std::span<const AccessWalker::Child> AccessWalker::children(std::uint64_t draws, Draws& random) {
  std::vector<Child>& chosen = chosen_[level_ + 1];
  chosen.clear();
  const Sets& sets = gather(level_ + 1);
  const std::uint64_t places = sets.places();
  if (draws >= places) {
    for (std::uint64_t place = 0; place < places; ++place)
      if (const std::optional<Vertex> found = candidate(sets, place)) chosen.push_back({*found, 1});
    return chosen;
  }
  const double length = static_cast<double>(places) / static_cast<double>(draws);
  std::uint64_t last = places;
  bool is_member = false;
  for (std::uint64_t part = 0; part < draws; ++part) {
    const double at = (static_cast<double>(part) + random::unit(random.word())) * length;
    const std::uint64_t place = std::min(static_cast<std::uint64_t>(at), places - 1);
    if (place == last) {  // the part before has drawn it too
      if (is_member) ++chosen.back().hits;
      continue;
    }
    last = place;
    const std::optional<Vertex> found = candidate(sets, place);
    is_member = found.has_value();
    if (found) chosen.push_back({*found, 1});
  }
  return chosen;
}

}  // namespace motiflux::dynamic
