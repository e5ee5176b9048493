// Depth-first search of one group of lanes over any plan.
//
// A group takes a piece of the root arcs, walks the slices of rows in it as level 1, and descends. All lanes
// of a group take every turn together: what they branch on is the same in each. Candidates are judged a strip
// at a time, one per lane. What happens at the last level is the goal's business: counting or listing.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/lanes/group.hpp"
#include "motiflux/match/extend.hpp"
#include "motiflux/match/handover.hpp"
#include "motiflux/match/limit.hpp"
#include "motiflux/match/plan_policy.hpp"
#include "motiflux/match/task.hpp"

namespace motiflux::match {

// Steps between looks at the stop flag: some tens of microseconds.
inline constexpr std::int32_t kBudget = 2048;

// Turns between looks whether another group waits for work: some microseconds.
inline constexpr std::int32_t kLook = 64;

// What a goal does that has no interest in levels before the last.
struct EveryLevel {
  static constexpr bool kEnters = false;      // whether enter() does anything
  static constexpr bool kSharesLast = false;  // whether the last level's walk is worth handing over
  template <class Search>
  MOTIFLUX_DEVICE bool enter(Search&, std::uint32_t) const {
    return true;
  }
  MOTIFLUX_DEVICE bool stopped() const { return false; }
};

template <class Plan, class Lanes>
class Search {
 public:
  using Group = Lanes;

  MOTIFLUX_DEVICE Search(const Plan& plan, const Task& task, unsigned char* shared_memory)
      : Search(plan, task, shared_memory, plan.levels() - 1) {}

  // A search for which `last` is the last level: what comes after it is the goal's business.
  MOTIFLUX_DEVICE Search(const Plan& plan, const Task& task, unsigned char* shared_memory, std::uint32_t last)
      : plan_(plan),
        task_(task),
        shared_(shared_memory + lanes_.in_block() * task.shared_bytes, plan.levels(), task.max_spans),
        last_(last) {}

  // Runs until there is no work left, the search is stopped, or the goal cannot go on. Goal:
  //
  //   bool enter(search, level)           a level before the last has a new vertex: false for the next one
  //   bool skip_last(search)              all levels but the last are matched: true if that was all it takes
  //   bool take_last(search, candidates)  ... and so are the last's candidates: false to have them walked
  //   bool take_strip(search)             the last level but one has candidates waiting: true if all are done
  //   bool walk_last(search)              takes the next of the last level's cursor; false to break off
  //   bool stopped()                      whether to break off, once one of these has returned
  //   void report(search)                 brings what this group has found to the control
  // A plan of two levels walks its last level at once.
  template <class Goal>
  MOTIFLUX_DEVICE void run(Goal& goal) {
    do {
      while (place_.level > 0 || next_slice(goal)) {
        if (advance(goal)) continue;
        if (hands_over()) close(lanes_, task_.handover);
        return;
      }
      goal.report(*this);
    } while (hands_over() && take_split());
  }

  MOTIFLUX_DEVICE const Lanes& lanes() const { return lanes_; }
  MOTIFLUX_DEVICE const Plan& plan() const { return plan_; }
  MOTIFLUX_DEVICE const Task& task() const { return task_; }
  MOTIFLUX_DEVICE const SharedState& shared() const { return shared_; }
  MOTIFLUX_DEVICE std::uint32_t last() const { return last_; }
  MOTIFLUX_DEVICE Cursor& cursor() { return cursor_; }
  MOTIFLUX_DEVICE std::uint32_t vertex(std::uint32_t level) const { return shared_.levels[level].vertex; }
  MOTIFLUX_DEVICE auto vertices() const {
    return [levels = shared_.levels](std::uint32_t level) { return levels[level].vertex; };
  }

  // Whether a candidate passes all rules of a level.
  template <class Step>
  MOTIFLUX_DEVICE bool accepts(const Step& step, std::uint32_t candidate) const {
    return rules::accepts(step.shape(), step.bounds(), task_.out, task_.in, candidate, vertices());
  }

  // The same for level 1, whose candidates come from the row of its first source alone.
  template <class Step>
  MOTIFLUX_DEVICE bool accepts_first(const Step& step, std::uint32_t candidate) const {
    const std::uint32_t root = vertex(0);
    for (std::uint32_t s = 1; s < step.shape().source_count; ++s) {
      const view::Adjacency rows = step.source(s).rows;
      if (!sets::contains(sets::View{rows.begin(root), rows.end(root)}, candidate)) return false;
    }
    return accepts(step, candidate);
  }

  template <class Step>
  MOTIFLUX_DEVICE bool accepts_at(std::uint32_t level, const Step& step, std::uint32_t candidate) const {
    return level == 1 ? accepts_first(step, candidate) : accepts(step, candidate);
  }

  // A bit for each lane whose candidate of the strip that starts at `first` passes all rules of a level.
  MOTIFLUX_DEVICE std::uint32_t judge(std::uint32_t level, const Cursor& walk, std::uint32_t first) const {
    const std::uint32_t mine = first + lanes_.lane();
    return lanes_.ballot(plan_.at(level, [&](const auto& step) {
      return mine < walk.end && accepts_at(level, step, walk.base[mine]);
    }));
  }

  // The level's set, within the order restrictions that it is kept with; computed if it is not known.
  template <class Step>
  MOTIFLUX_DEVICE sets::View base(std::uint32_t level, const Step& step) {
    LevelState& state = shared_.levels[level];
    if ((place_.valid >> level & 1) == 0) {
      const std::uint32_t known = bits_below(static_cast<std::uint32_t>(step.shape().anchor) + 1);
      const Gathered gathered =
          gather(lanes_, shared_, step, bounds(step.shape().after & known, step.shape().before & known));
      const std::uint32_t* set = gathered.shortest().first;
      std::uint32_t size = static_cast<std::uint32_t>(gathered.shortest().size());
      if (gathered.count > 1) {
        spend(size / Lanes::kLanes);
        set = buffer(level);
        size = intersect(lanes_, gathered, buffer(level));
      }
      if (lanes_.leads()) {
        state.base = set;
        state.base_size = size;
      }
      place_.valid |= std::uint32_t{1} << level;
      lanes_.sync();
    }
    return {state.base, state.base + state.base_size};
  }

  // The level's candidates: its set within all order restrictions.
  template <class Step>
  MOTIFLUX_DEVICE sets::View candidates(std::uint32_t level, const Step& step) {
    const std::uint32_t later = ~bits_below(static_cast<std::uint32_t>(step.shape().anchor) + 1);
    const sets::View kept = base(level, step);
    return rules::clip(kept, bounds(step.shape().after & later, step.shape().before & later));
  }

  // Where the group writes the set of a level.
  MOTIFLUX_DEVICE std::uint32_t* buffer(std::uint32_t level) const {
    return task_.buffers + lanes_.in_grid() * task_.group_words + task_.buffer_at[level];
  }

  MOTIFLUX_DEVICE rules::Bounds bounds(std::uint32_t after, std::uint32_t before) const {
    return rules::bounds(after, before, vertices());
  }

  MOTIFLUX_DEVICE void spend(std::uint64_t steps) {
    const std::int32_t turns = steps < kBudget ? static_cast<std::int32_t>(steps) : kBudget;
    budget_ -= turns;
    if (look_ > 0) look_ -= turns;
  }

  // Whether it is time to report and to look at the stop flag; counts anew if so.
  MOTIFLUX_DEVICE bool exhausted() {
    if (--budget_ > 0) return false;
    budget_ = kBudget;
    return true;
  }

  // Stops all groups once more is known than the limit asks for. Of the leading lane only.
  MOTIFLUX_DEVICE void look_at_limit() const { match::look_at_limit(*task_.control, task_.limit); }

  // Asks all groups to stop.
  MOTIFLUX_DEVICE void stop(Stop reason) const {
    auto flag = device::device_wide(task_.control->stop);
    flag.fetch_max(static_cast<std::uint32_t>(reason), device::Order::kRelaxed);
  }

  MOTIFLUX_DEVICE bool stopped() {
    std::uint32_t reason = 0;
    if (lanes_.leads()) reason = device::device_wide(task_.control->stop).load(device::Order::kRelaxed);
    asked_ = static_cast<Stop>(lanes_.broadcast(reason));
    return asked_ != Stop::kNone;
  }

  // Whether the search broke off to go on later.
  MOTIFLUX_DEVICE bool paused() const { return asked_ == Stop::kPause; }

  MOTIFLUX_DEVICE void save(Saved& header, LevelState* levels) const {
    if (lanes_.leads()) {
      header = {place_, cursor_};
      device::device_wide(task_.control->parked).fetch_add(1u, device::Order::kRelaxed);
    }
    for (std::uint32_t level = lanes_.lane(); level <= last_; level += Lanes::kLanes)
      levels[level] = shared_.levels[level];
  }

  MOTIFLUX_DEVICE void restore(const Saved& header, const LevelState* levels) {
    place_ = header.place;
    cursor_ = header.cursor;
    for (std::uint32_t level = lanes_.lane(); level <= last_; level += Lanes::kLanes)
      shared_.levels[level] = levels[level];
    lanes_.sync();
    if (place_.arc < place_.arc_end) find_row();
  }

 private:
  // One turn: to the next candidate, up or down a level. False to break off.
  template <class Goal>
  MOTIFLUX_DEVICE bool advance(Goal& goal) {
    if (exhausted()) {
      goal.report(*this);
      if (stopped()) return false;
    }
    if constexpr (Goal::kEnters)
      if (!entered_ && !enter_root(goal)) return !goal.stopped();
    if (--look_ <= 0) look<Goal>();
    if (place_.level == last_) {
      if (!goal.walk_last(*this)) return false;
      if (cursor_.next >= cursor_.end) leave();
      return true;
    }
    const bool follows = place_.level < place_.floor;  // to where a split goes on
    if (!follows) {
      if (cursor_.waiting == 0) {
        if (cursor_.next >= cursor_.end) {
          leave();
        } else {
          cursor_.waiting = judge(place_.level, cursor_, cursor_.next);
          cursor_.next += Lanes::kLanes;
          if (place_.level + 1 == last_ && cursor_.waiting != 0 && goal.take_strip(*this))
            cursor_.waiting = 0;
        }
        return true;
      }
      const std::uint32_t chosen = lowest_bit(cursor_.waiting);
      cursor_.waiting &= cursor_.waiting - 1;
      assign(place_.level, cursor_.base[cursor_.next - Lanes::kLanes + chosen]);
    }
    descend(goal);
    if (follows && place_.level == place_.floor) go_on();
    return !goal.stopped();
  }

  // Tells the goal of a new root, one that came with a split too. False, and the walk is over, if nothing
  // comes of it.
  template <class Goal>
  MOTIFLUX_DEVICE bool enter_root(Goal& goal) {
    entered_ = true;
    const bool entered = goal.enter(*this, 0);
    if (!entered) place_.level = 0;
    return entered;
  }

  MOTIFLUX_DEVICE void assign(std::uint32_t level, std::uint32_t vertex) {
    lanes_.sync();  // nobody still reads the vertex that was there
    if (lanes_.leads()) shared_.levels[level].vertex = vertex;
    place_.valid &= ~plan_.at(level, [](const auto& step) { return step.renews(); });
    lanes_.sync();
  }

  template <class Goal>
  MOTIFLUX_DEVICE void descend(Goal& goal) {
    const std::uint32_t level = place_.level + 1;
    if (!goal.enter(*this, level - 1)) return;
    if (level == last_ && goal.skip_last(*this)) return;
    const sets::View walked = plan_.at(level, [&](const auto& step) { return candidates(level, step); });
    if (walked.size() == 0 || (level == last_ && goal.take_last(*this, walked))) return;
    if (lanes_.leads()) shared_.levels[place_.level].cursor = cursor_;
    cursor_ = {walked.first, 0, static_cast<std::uint32_t>(walked.size()), 0};
    place_.level = level;
  }

  MOTIFLUX_DEVICE void leave() {
    if (place_.level == place_.floor) {
      place_.level = 0;
      return;
    }
    --place_.level;
    lanes_.sync();
    cursor_ = shared_.levels[place_.level].cursor;
  }

  // Starts on the next slice of a row that has candidates for level 1; false when there is no work left.
  template <class Goal>
  MOTIFLUX_DEVICE bool next_slice(Goal& goal) {
    for (;;) {
      if (place_.arc == place_.arc_end && !take_piece(goal)) return false;
      const std::uint64_t row_end = task_.root.offsets[row_ + 1];
      const std::uint64_t begin = place_.arc;
      const std::uint64_t end = row_end < place_.arc_end ? row_end : place_.arc_end;
      const std::uint32_t root = row_;
      place_.arc = end;
      if (place_.arc < place_.arc_end) next_row();
      if (begin < end && open_root(root, begin, end)) {
        place_.level = place_.floor = 1;
        return true;
      }
    }
  }

  MOTIFLUX_DEVICE bool open_root(std::uint32_t root, std::uint64_t begin, std::uint64_t end) {
    const bool accepted = plan_.at(0, [&](const auto& step) { return accepts(step, root); });
    if (!accepted) return false;
    assign(0, root);
    const sets::View slice{task_.root.neighbors + begin, task_.root.neighbors + end};
    const sets::View allowed = plan_.at(1, [&](const auto& step) {
      return rules::clip(slice, bounds(step.shape().after, step.shape().before));
    });
    cursor_ = {allowed.first, 0, static_cast<std::uint32_t>(allowed.size()), 0};
    entered_ = false;
    return allowed.size() > 0;
  }

  // What a group says and asks when it has finished a piece or a split is on its way at once: each answer
  // takes as long as the work of a short piece.
  template <class Goal>
  MOTIFLUX_DEVICE bool take_piece(Goal& goal) {
    if (task_.limit != kNoLimit) goal.report(*this);
    std::uint64_t taken = 0;
    if (lanes_.leads()) {
      Control& control = *task_.control;
      if (place_.piece > 0)
        done_ =
            place_.piece + device::device_wide(control.done).fetch_add(place_.piece, device::Order::kRelaxed);
      const auto reason = device::device_wide(control.stop).load(device::Order::kRelaxed);
      taken =
          device::device_wide(control.taken).fetch_add(std::uint64_t{task_.piece}, device::Order::kRelaxed);
      told_ = reason != static_cast<std::uint32_t>(Stop::kNone);
      // A piece that was taken is worked on where the search will go on; elsewhere its result is not whole.
      if (reason > static_cast<std::uint32_t>(Stop::kPause)) taken = kNoLimit;
    }
    place_.piece = 0;
    taken = lanes_.broadcast(taken);
    if (taken >= task_.arcs) return false;
    const std::uint64_t left = task_.arcs - taken;
    place_.piece = left < task_.piece ? left : task_.piece;
    const std::uint64_t before = taken * task_.stride + std::uint64_t{task_.first} * task_.piece;
    place_.arc_end = task_.all_arcs - before;
    place_.arc = place_.arc_end - place_.piece;
    find_row();
    return true;
  }

  MOTIFLUX_DEVICE bool hands_over() const { return task_.handover.seats != 0; }

  // Looks whether another group waits. The answer is used at the next look: it takes long to come.
  template <class Goal>
  MOTIFLUX_DEVICE void look() {
    look_ = kLook;
    if (!hands_over()) return;
    const bool waits = lanes_.broadcast(waits_) != 0;
    if (lanes_.leads()) waits_ = somebody_waits(task_.handover);
    if (waits && place_.level >= place_.floor) share<Goal>();
  }

  // Hands over half of the shallowest walk that is worth it.
  template <class Goal>
  MOTIFLUX_DEVICE void share() {
    lanes_.sync();  // cursors that were put down are there
    const std::uint32_t end = Goal::kSharesLast ? last_ + 1 : last_;
    for (std::uint32_t level = place_.floor; level <= place_.level && level < end; ++level) {
      const bool walked = level == place_.level;
      Cursor kept = walked ? cursor_ : shared_.levels[level].cursor, given{};
      // Just before the last level a candidate takes no longer than handing it over.
      const std::uint32_t least = level + 1 == last_ && !Goal::kSharesLast ? 2 * Lanes::kLanes : 1;
      if (!halve(kept, given, !walked, least)) continue;
      if (!hand_over(level, given)) return;
      if (walked)
        cursor_ = kept;
      else if (lanes_.leads())
        shared_.levels[level].cursor = kept;
      lanes_.sync();
      return;
    }
  }

  MOTIFLUX_DEVICE bool hand_over(std::uint32_t level, const Cursor& given) {
    const Handover& handover = task_.handover;
    const std::uint64_t ticket = lanes_.broadcast(lanes_.leads() ? claim_seat(handover) : 0);
    if (ticket == kNoTicket) return false;
    lanes_.sync();
    Split& split = handover.splits[seat_of(handover, ticket)];
    for (std::uint32_t before = lanes_.lane(); before < level; before += Lanes::kLanes)
      split.vertices[before] = vertex(before);
    std::uint32_t handed = 0;
    if (lanes_.leads()) {
      split.cursor = given;
      split.level = level;
    }
    lanes_.sync();
    if (lanes_.leads()) {
      auto done = device::device_wide(task_.control->done);
      done.fetch_add(~std::uint64_t{0},
                     device::Order::kRelaxed);  // first: it may be done before the next line
      handed = give(handover, ticket);
      if (handed == 0) done.fetch_add(std::uint64_t{1}, device::Order::kRelaxed);
    }
    return lanes_.broadcast(handed) != 0;
  }

  // Waits for a split and goes to where it begins; false if there will be none. Whoever finished the last of
  // all root arcs and splits comes here next, as does whoever was told to stop.
  MOTIFLUX_DEVICE bool take_split() {
    const Handover& handover = task_.handover;
    const bool over = told_ || done_ == task_.arcs;
    if (lanes_.broadcast(static_cast<std::uint32_t>(over)) != 0) {
      close(lanes_, handover);
      return false;
    }
    std::uint64_t ticket = 0;
    std::uint32_t seat = kLeft;
    const auto done = device::device_wide(task_.control->done);
    if (lanes_.leads() && done.load(device::Order::kRelaxed) != task_.arcs) seat = sit_down(handover, ticket);
    seat = lanes_.broadcast(seat);
    if (seat == kLeft) return false;
    lanes_.sync();
    const Split& split = handover.splits[seat];
    const std::uint32_t level = split.level;
    for (std::uint32_t before = lanes_.lane(); before < level; before += Lanes::kLanes)
      shared_.levels[before].vertex = split.vertices[before];
    cursor_ = split.cursor;
    if (lanes_.leads()) shared_.levels[level].cursor = cursor_;
    lanes_.sync();
    if (lanes_.leads()) stand_up(handover, ticket);
    place_ = {0, 0, 1, 1, 0, level};
    entered_ = false;
    return true;
  }

  // The walk of a split, once its level is reached: its candidates are those that they were elsewhere.
  MOTIFLUX_DEVICE void go_on() {
    const Cursor& given = shared_.levels[place_.floor].cursor;
    cursor_.next = given.next;
    cursor_.end = given.end;
    cursor_.waiting = given.waiting;
  }

  // The same as find_row where the arc begins a row: most often one of the next few.
  MOTIFLUX_DEVICE void next_row() {
    const std::uint64_t probe = std::uint64_t{row_} + 1 + lanes_.lane();
    const bool holds = probe < task_.vertices && task_.root.offsets[probe + 1] > place_.arc;
    const std::uint32_t holding = lanes_.ballot(holds);
    if (holding == 0) return find_row();
    row_ += 1 + lowest_bit(holding);
  }

  // The row that holds the arc: the last one that begins at or before it and is not empty. All lanes look at
  // different rows, so that this takes a few rounds of loads and not one for each bit.
  MOTIFLUX_DEVICE void find_row() {
    std::uint32_t first = 0;                // offsets[first] <= arc
    std::uint32_t beyond = task_.vertices;  // offsets[beyond] > arc
    while (beyond - first > 1) {
      const std::uint32_t stride = (beyond - first + Lanes::kLanes) / (Lanes::kLanes + 1);
      const std::uint64_t probe = std::uint64_t{first} + std::uint64_t{stride} * (lanes_.lane() + 1);
      const bool before = probe < beyond && task_.root.offsets[probe] <= place_.arc;
      const std::uint32_t passed = count_bits(lanes_.ballot(before));
      const std::uint64_t end = std::uint64_t{first} + std::uint64_t{stride} * (passed + 1);
      first += stride * passed;
      if (end < beyond) beyond = static_cast<std::uint32_t>(end);
    }
    row_ = first;
  }

  const Plan& plan_;
  const Task& task_;
  Lanes lanes_;
  SharedState shared_;
  std::uint32_t last_;
  Place place_{};
  Cursor cursor_{};
  std::uint32_t row_ = 0;
  bool entered_ = true;  // whether the goal knows of level 0's vertex
  std::int32_t budget_ = kBudget;
  std::int32_t look_ = kLook;
  // The leader's:
  std::uint32_t waits_ = 0;        // whether a group waited at the last look
  std::uint64_t done_ = kNoLimit;  // root arcs done when it had finished its last
  bool told_ = false;              // to stop
  Stop asked_ = Stop::kNone;       // what the stop flag said last
};

}  // namespace motiflux::match
