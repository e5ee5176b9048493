// One lane at a node of a search: the places of its children, and the rows that are opened there. The twin,
// on a device, of csrc/dynamic/access_walks.cpp and access_plans.cpp, over the rows that a search reads.
//
// A level's set is never made. The shortest row of its step has all members, each at one place, so places are
// drawn and what is no member is left out.
#pragma once

#include "motiflux/changing/access_walks.hpp"
#include "motiflux/match/timed_sets.hpp"

namespace motiflux::changing {

// The plan of a root, with what a walk needs beside a search.
class WalkedPlan : public match::FilteredPlan {
 public:
  explicit MOTIFLUX_DEVICE WalkedPlan(const match::FilteredPlans& all) : match::FilteredPlan(all) {}

  MOTIFLUX_DEVICE Step step(std::uint32_t level) const { return Step{{*this, level}, *this}; }
  MOTIFLUX_DEVICE bool has_table() const { return all_.candidates != nullptr; }
  MOTIFLUX_DEVICE std::uint32_t moment() const { return moment_; }
  // The number of the name of a step's i-th source.
  MOTIFLUX_DEVICE std::uint32_t name(std::uint32_t level, std::uint32_t i) const {
    return plan_->sources[plan_->shapes[level].first_source + i].rows;
  }
  // The levels from here on are not walked; if matches are listed, all are.
  MOTIFLUX_DEVICE std::uint32_t walked(bool is_counted) const {
    return is_counted ? counted_from() : levels();
  }
  // The levels whose sets are made once for each vertex of this one, of those that are walked, as bits.
  MOTIFLUX_DEVICE std::uint32_t opened_at(std::uint32_t level, std::uint32_t walked) const {
    const std::uint32_t renewed = plan_->renewed[level] | (level == 1 ? plan_->renewed[0] : 0);
    return renewed & bits_below(walked) & ~bits_below(2);
  }
  // The last level at whose vertices rows are opened.
  MOTIFLUX_DEVICE std::uint32_t deepest(bool is_counted) const {
    const std::uint32_t end = walked(is_counted);
    if (is_counted) return end - 1;
    std::uint32_t last = 1;
    for (std::uint32_t level = 2; level < end; ++level)
      if (plan_->shapes[level].anchor > static_cast<std::int32_t>(last))
        last = static_cast<std::uint32_t>(plan_->shapes[level].anchor);
    return last;
  }
};

class AccessWalker {
 public:
  explicit MOTIFLUX_DEVICE AccessWalker(const WalkArgs& args) : args_(args), plan_(args.plans) {}

  // Goes to a root; to a node of a level below.
  MOTIFLUX_DEVICE void go_to_root(std::uint32_t root) {
    plan_.select(root);
    is_counted_ = root < args_.counted;
    walked_ = plan_.walked(is_counted_);
    level_ = 1;
    vertices_[0] = plan_.root(root).vertices[0];
    vertices_[1] = plan_.root(root).vertices[1];
  }
  MOTIFLUX_DEVICE void go_to(std::uint32_t level, std::uint32_t slot) {
    for (std::uint32_t at = level; at > 1; --at) {
      const std::uint64_t place = std::uint64_t{at - 1} * args_.slots + slot;
      vertices_[at] = args_.vertices[place];
      slot = args_.parents[place];
    }
    go_to_root(args_.parents[slot]);
    level_ = level;
  }

  // The number of places of children.
  MOTIFLUX_DEVICE std::uint64_t places() const {
    return level_ >= plan_.deepest(is_counted_) ? 0 : shortest_of(level_ + 1).span.count();
  }
  // Goes to the child at one of them, if there is one.
  MOTIFLUX_DEVICE bool go_to_child(std::uint64_t place, std::uint32_t& child) {
    ++level_;
    const Shortest set = shortest_of(level_);
    MOTIFLUX_ASSERT(place < set.span.count());
    if (!is_member(set, place, bits_below(level_), child)) return false;
    vertices_[level_] = child;
    return true;
  }

  // Opens the rows that a search opens here; open(name, vertex) counts one. Goes on to vertices below.
  template <class Open>
  MOTIFLUX_DEVICE void open_rows(const Open& open) {
    std::uint32_t known = level_;
    for (std::uint32_t rest = plan_.opened_at(level_, walked_); rest != 0; rest &= rest - 1) {
      const std::uint32_t opened = lowest_bit(rest);
      if (opened - 1 > known && !reaches(opened - 1)) break;
      if (opened - 1 > known) known = opened - 1;
      open_sources(opened, open);
    }
    if (is_counted_ && level_ + 1 == walked_) open_counted(open);
  }

 private:
  // The shortest of the sets of a level, within its order restrictions, and which one it is.
  struct Shortest {
    match::TimedSpan span;
    std::uint32_t level, of, number;
  };

  MOTIFLUX_DEVICE std::uint32_t sets_of(std::uint32_t level) const {
    const auto step = plan_.step(level);
    return step.shape().source_count + (step.allowed().first != nullptr);
  }
  MOTIFLUX_DEVICE match::TimedSpan set_of(std::uint32_t level, std::uint32_t number) const {
    const auto step = plan_.step(level);
    if (number == step.shape().source_count) return match::list_of(step.allowed());
    return match::row_of<false>(step.source(number), [this](std::uint32_t at) { return vertices_[at]; });
  }

  // Calls visit(of, number) for each set of a level's step, and of the levels whose sets it reuses, until it
  // returns false.
  template <class Visit>
  MOTIFLUX_DEVICE void each_set(std::uint32_t level, const Visit& visit) const {
    for (std::uint32_t of = level;;) {
      for (std::uint32_t number = 0; number < sets_of(of); ++number)
        if (!visit(of, number)) return;
      const std::int32_t reuse = plan_.step(of).shape().reuse;
      if (reuse == view::kNoReuse) return;
      of = static_cast<std::uint32_t>(reuse);
    }
  }

  // A set that is reused is kept within the order restrictions to levels up to its anchor.
  MOTIFLUX_DEVICE rules::Bounds bounds_of(std::uint32_t level) const {
    std::uint32_t after = 0, before = 0, known = ~std::uint32_t{0};
    for (std::uint32_t of = level;;) {
      const view::StepShape& shape = plan_.step(of).shape();
      after |= shape.after & known;
      before |= shape.before & known;
      if (shape.reuse == view::kNoReuse) break;
      of = static_cast<std::uint32_t>(shape.reuse);
      known &= bits_below(static_cast<std::uint32_t>(plan_.step(of).shape().anchor + 1));
    }
    return rules::bounds(after, before, [this](std::uint32_t at) { return vertices_[at]; });
  }

  MOTIFLUX_DEVICE Shortest shortest_of(std::uint32_t level) const {
    const rules::Bounds allowed = bounds_of(level);
    Shortest found{match::list_of({}), level, kNoNode, 0};
    each_set(level, [&](std::uint32_t of, std::uint32_t number) {
      const match::TimedSpan one = match::clip(set_of(of, number), allowed);
      if (found.of == kNoNode || one.count() < found.span.count()) found = {one, level, of, number};
      return true;
    });
    return found;
  }

  // The vertex at a place, if the level's set has it; it differs from those of the levels `distinct`.
  MOTIFLUX_DEVICE bool is_member(const Shortest& set, std::uint64_t place, std::uint32_t distinct,
                                 std::uint32_t& vertex) const {
    if (!set.span.takes(place, plan_.moment())) return false;
    vertex = set.span.id(place);
    const auto step = plan_.step(set.level);
    if (!rules::is_distinct(step.shape().distinct & distinct, vertex,
                            [this](std::uint32_t at) { return vertices_[at]; }))
      return false;
    if (plan_.has_table() && !step.has_candidate(vertex)) return false;
    bool found = true;
    each_set(set.level, [&](std::uint32_t of, std::uint32_t number) {
      if (of != set.of || number != set.number) found = set_of(of, number).contains(vertex, plan_.moment());
      return found;
    });
    return found;
  }

  // Whether a search that is here comes to a level below; true if that takes long to tell.
  MOTIFLUX_DEVICE bool reaches(std::uint32_t target) {
    std::uint64_t next[view::kMaxLevels];
    std::uint32_t looks = 0, level = level_ + 1;
    next[level] = 0;
    while (level > level_) {
      const Shortest set = shortest_of(level);
      bool goes_on = false;
      while (!goes_on && next[level] < set.span.count()) {
        if (++looks > args_.looks) return true;
        goes_on = is_member(set, next[level]++, bits_below(level), vertices_[level]);
      }
      if (!goes_on) {
        --level;
      } else if (level == target) {
        return true;
      } else {
        next[++level] = 0;
      }
    }
    return false;
  }

  // Whether a level that is counted has so many candidates; true if that takes long to tell.
  MOTIFLUX_DEVICE bool has_candidates(std::uint32_t level, std::uint32_t least) const {
    const Shortest set = shortest_of(level);
    std::uint32_t vertex;
    for (std::uint64_t place = 0; least > 0 && place < set.span.count(); ++place) {
      if (place == args_.looks) return true;
      least -= is_member(set, place, bits_below(walked_), vertex);
    }
    return least == 0;
  }

  template <class Open>
  MOTIFLUX_DEVICE void open_sources(std::uint32_t level, const Open& open) const {
    const auto step = plan_.step(level);
    for (std::uint32_t i = 0; i < step.shape().source_count; ++i)
      open(plan_.name(level, i), vertices_[step.source(i).level]);
  }

  template <class Open>
  MOTIFLUX_DEVICE void open_counted(const Open& open) const {
    if (plan_.tail_start() == plan_.levels()) return open_sources(walked_, open);
    for (std::uint32_t number = 0; number < plan_.parts(); ++number) {
      const match::TailPart& part = plan_.part(number);
      open_sources(part.level, open);
      if (number + 1 < plan_.parts() && !has_candidates(part.level, part.levels)) return;
    }
  }

  const WalkArgs& args_;
  WalkedPlan plan_;
  bool is_counted_ = false;
  std::uint32_t walked_ = 0, level_ = 0;
  std::uint32_t vertices_[view::kMaxLevels];
};

}  // namespace motiflux::changing
