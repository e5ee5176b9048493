// Depth-first search of one group of lanes over any plan.
//
// A group takes a chunk of the root arcs, walks the slices of rows in it as level 1, and descends. All lanes
// of a group take every turn together: their branch conditions are the same. Candidates are judged a strip at
// a time, one per lane. The goal handles the last level: counting or listing.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/lanes/find_row.hpp"
#include "motiflux/match/block_sharing.hpp"
#include "motiflux/match/levels.hpp"
#include "motiflux/match/limit.hpp"

namespace motiflux::match {

// Constants of a goal that ignores the levels before the last.
struct EveryLevel {
  static constexpr bool kEnters = false;       // whether enter() does anything
  static constexpr bool kCountsTails = false;  // whether count_tail() counts the tails of plans
  static constexpr bool kSharesLast = false;   // whether the last level's walk may be given to other groups
  template <class Search>
  MOTIFLUX_DEVICE bool enter(Search&, std::uint32_t) const {
    return true;
  }
  MOTIFLUX_DEVICE bool stopped() const { return false; }
};

// `Within`: how groups get work of other groups in their block (match/block_work_queue.hpp).
template <class Plan, class Lanes, class Within = NoStealing>
class Search : public BlockSharing<Plan, Lanes, Within> {
  using Base = BlockSharing<Plan, Lanes, Within>;

 public:
  using Base::exhausted;
  using Base::judge;
  using Base::plan;

  MOTIFLUX_DEVICE Search(const Plan& plan, const Task& task, unsigned char* shared_memory)
      : Search(plan, task, shared_memory, plan.levels() - 1) {}

  // A search whose last level is `last`: the goal handles later levels.
  MOTIFLUX_DEVICE Search(const Plan& plan, const Task& task, unsigned char* shared_memory, std::uint32_t last)
      : Base(plan, task, shared_memory, last) {}

  // Runs until no work is left, the search is stopped, or the goal cannot continue. Goal:
  //
  //   bool enter(search, level)           a level before the last has a new vertex; false to skip it
  //   bool skip_last(search)              all levels but the last are matched; true if that completes them
  //   bool take_last(search, candidates)  ... and the last's candidates are known; false to walk them
  //   bool take_strip(search)             the second last level has candidates waiting; true if all are done
  //   bool walk_last(search)              takes the next candidates of the last level; false to break off
  //   bool stopped()                      whether to break off, called after one of these functions
  //   void report(search)                 adds the numbers that this group found to the control
  // A plan of two levels walks its last level at once.
  template <class Goal>
  MOTIFLUX_DEVICE void run(Goal& goal) {
    this->begin();
    do {
      while (place_.level > 0 || next_slice(goal)) {
        if (advance(goal)) continue;
        this->break_off();
        return;
      }
      goal.report(*this);
    } while (this->template find_work<Goal>());
  }

  // Stops all groups once more embeddings than the limit are found. Called by the leading lane only.
  MOTIFLUX_DEVICE void check_limit() const { match::check_limit(*task_.control, task_.limit); }

  // Asks all groups to stop.
  MOTIFLUX_DEVICE void stop(Stop reason) const {
    auto flag = device::device_wide(task_.control->stop);
    flag.fetch_max(static_cast<std::uint32_t>(reason), device::Order::kRelaxed);
  }

  MOTIFLUX_DEVICE bool stopped() {
    std::uint32_t reason = 0;
    if (lanes_.leads()) reason = device::device_wide(task_.control->stop).load(device::Order::kRelaxed);
    stop_found_ = static_cast<Stop>(lanes_.broadcast(reason));
    return stop_found_ != Stop::kNone;
  }

  // Whether the search broke off to continue later.
  MOTIFLUX_DEVICE bool paused() const { return stop_found_ == Stop::kPause; }

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
    if constexpr (Plan::kChanging) {
      if (place_.level > 0) this->select_root();
      if constexpr (Plan::kForks)
        if (place_.level > 0 && plan_.is_beyond_fork(place_.level)) this->select_own(this->root());
    } else {
      if (place_.arc < place_.arc_end) find_row();
    }
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
    if (--turns_to_check_ <= 0) this->template check_for_waiting_groups<Goal>();
    if (place_.level == last_) {
      if (!goal.walk_last(*this)) return false;
      if (cursor_.next >= cursor_.end) leave();
      return true;
    }
    const bool follows = place_.level < place_.floor;  // still above the level of a split
    if (!follows) {
      if (cursor_.waiting == 0) {
        if (cursor_.next >= cursor_.end) {
          leave();
        } else {
          cursor_.waiting = judge(place_.level, cursor_, cursor_.next);
          cursor_.next += Lanes::kLanes;
          if constexpr (Base::kPools)
            if (place_.level + 1 == plan_.pooled_from() && cursor_.waiting != 0)
              cursor_.waiting &= ~pool_waiting(*this, place_.level);
          if constexpr (Plan::kChanging && Goal::kCountsTails) {
            if (place_.level + 1 == plan_.counted_from() && cursor_.waiting != 0)
              cursor_.waiting &= ~goal.count_alone(*this, place_.level);
          } else if (place_.level + 1 == last_ && cursor_.waiting != 0 && goal.take_strip(*this)) {
            cursor_.waiting = 0;
          }
        }
        return true;
      }
      const std::uint32_t chosen = lowest_bit(cursor_.waiting);
      cursor_.waiting &= cursor_.waiting - 1;
      assign(place_.level, cursor_.base[cursor_.next - Lanes::kLanes + chosen]);
    }
    descend(goal);
    if constexpr (Plan::kForks) return_to_shared_levels();
    if (follows && place_.level == place_.floor) resume_split();
    return !goal.stopped();
  }

  // Tells the goal of a new root, including the root of a split. False if the root has no embeddings; the
  // walk is then over.
  template <class Goal>
  MOTIFLUX_DEVICE bool enter_root(Goal& goal) {
    entered_ = true;
    const bool entered = goal.enter(*this, 0);
    if (!entered) place_.level = 0;
    return entered;
  }

  MOTIFLUX_DEVICE void assign(std::uint32_t level, std::uint32_t vertex) {
    lanes_.sync();  // no lane reads the old vertex any more
    if (lanes_.leads()) shared_.levels[level].vertex = vertex;
    place_.valid &= ~plan_.at(level, [](const auto& step) { return step.renews(); });
    lanes_.sync();
  }

  template <class Goal>
  MOTIFLUX_DEVICE void descend(Goal& goal) {
    const std::uint32_t level = place_.level + 1;
    if constexpr (Plan::kForks)
      if (plan_.forks_at(place_.level)) this->select_own(shared_.levels[place_.level].vertex);
    if constexpr (Plan::kChanging && Goal::kCountsTails)
      if (level == plan_.tail_start()) return goal.count_tail(*this);
    if (!goal.enter(*this, level - 1)) return;
    if (level == last_ && goal.skip_last(*this)) return;
    const sets::Span walked = candidates_of(level);
    if (walked.size() == 0 || (level == last_ && goal.take_last(*this, walked))) return;
    if (lanes_.leads()) shared_.levels[place_.level].cursor = cursor_;
    cursor_ = {walked.first, 0, static_cast<std::uint32_t>(walked.size()), 0};
    place_.level = level;
  }

  MOTIFLUX_DEVICE sets::Span candidates_of(std::uint32_t level) {
    if constexpr (Plan::kForks)
      if (plan_.forks_at(level)) return plan_.sharing(this->root());
    return plan_.at(level, [&](const auto& step) { return this->candidates(level, step); });
  }

  // At a level that plans share, after levels of one of them.
  MOTIFLUX_DEVICE void return_to_shared_levels() {
    if (place_.level > 0 && plan_.left_fork(place_.level)) this->select_root();
  }

  MOTIFLUX_DEVICE void leave() {
    if (this->take_own_offer()) return;
    if (place_.level == place_.floor) {
      place_.level = 0;
      return;
    }
    --place_.level;
    lanes_.sync();
    cursor_ = shared_.levels[place_.level].cursor;
    if constexpr (Plan::kForks) return_to_shared_levels();
  }

  // Starts the next slice of a row that has candidates for level 1; false when no work is left.
  template <class Goal>
  MOTIFLUX_DEVICE bool next_slice(Goal& goal) {
    for (;;) {
      if (place_.arc == place_.arc_end) {
        if constexpr (Base::kStreams) return false;  // find_work() brings roots
        if (!take_chunk(goal)) return false;
        if constexpr (Within::kWholeUpdates)
          if (!to_whole_updates()) continue;
      }
      if constexpr (Plan::kChanging) {
        if (open_update(goal, static_cast<std::uint32_t>(place_.arc++))) return true;
        continue;
      } else if (next_slice_of_row()) {
        return true;
      }
    }
  }

  MOTIFLUX_DEVICE bool next_slice_of_row() {
    const std::uint64_t row_end = task_.root.offsets[row_ + 1];
    const std::uint64_t begin = place_.arc;
    const std::uint64_t end = row_end < place_.arc_end ? row_end : place_.arc_end;
    const std::uint32_t root = row_;
    place_.arc = end;
    if (place_.arc < place_.arc_end) next_row();
    if (begin == end || !open_root(root, begin, end)) return false;
    place_.level = place_.floor = 1;
    return true;
  }

  // Begins the search from an update, at level 2; false if that is over at once. A search has three levels or
  // more: the host knows the matches of two.
  template <class Goal>
  MOTIFLUX_DEVICE bool open_update(Goal& goal, std::uint32_t number) {
    if constexpr (Base::kPools) return open_entry(goal, number);
    const UpdateRoot& root = plan_.root(number);
    if (root.slot != plan_.slot()) goal.report(*this);
    lanes_.sync();  // no lane reads the old vertices any more
    if (lanes_.leads()) {
      shared_.levels[0].base_size = number;
      shared_.levels[0].vertex = root.vertices[0];
      shared_.levels[1].vertex = root.vertices[1];
    }
    lanes_.sync();
    this->select_root();
    place_.valid = 0;
    place_.level = 1;
    place_.floor = 2;
    descend(goal);
    if (place_.level == 2) return true;
    place_.level = 0;
    return false;
  }

  // The same of a stage, whose roots may be entries of a pool, which give the vertex of level 2.
  template <class Goal>
  MOTIFLUX_DEVICE bool open_entry(Goal& goal, std::uint32_t number) {
    const UpdateRoot& root = plan_.root(plan_.origin_of(number));
    if (root.slot != plan_.slot()) goal.report(*this);
    const std::uint32_t given = plan_.given();
    lanes_.sync();  // no lane reads the old vertices any more
    if (lanes_.leads()) {
      shared_.levels[0].base_size = number;
      shared_.levels[0].vertex = root.vertices[0];
      shared_.levels[1].vertex = root.vertices[1];
      if (given == 2) shared_.levels[2].vertex = plan_.vertex_of(number);
    }
    lanes_.sync();
    this->select_root();
    place_.valid = 0;
    place_.level = given;
    place_.floor = given + 1;
    descend(goal);
    if (place_.level > given) return true;
    place_.level = 0;
    return false;
  }

  MOTIFLUX_DEVICE bool open_root(std::uint32_t root, std::uint64_t begin, std::uint64_t end) {
    const bool accepted = plan_.at(0, [&](const auto& step) { return this->accepts(step, root); });
    if (!accepted) return false;
    assign(0, root);
    const sets::Span slice{task_.root.neighbors + begin, task_.root.neighbors + end};
    const sets::Span allowed = plan_.at(1, [&](const auto& step) {
      return rules::clip(slice, this->bounds(step.shape().after, step.shape().before));
    });
    cursor_ = {allowed.first, 0, static_cast<std::uint32_t>(allowed.size()), 0};
    entered_ = false;
    return allowed.size() > 0;
  }

  // All atomics of a group that has finished a chunk or a split are in flight at once: each takes as long as
  // the work of a short chunk.
  template <class Goal>
  MOTIFLUX_DEVICE bool take_chunk(Goal& goal) {
    if (task_.limit != kNoLimit) goal.report(*this);
    std::uint64_t taken = 0;
    if (lanes_.leads()) {
      Control& control = *task_.control;
      if (place_.chunk > 0)
        done_ =
            place_.chunk + device::device_wide(control.done).fetch_add(place_.chunk, device::Order::kRelaxed);
      const auto reason = device::device_wide(control.stop).load(device::Order::kRelaxed);
      taken =
          device::device_wide(control.taken).fetch_add(std::uint64_t{task_.chunk}, device::Order::kRelaxed);
      stop_seen_ = reason != static_cast<std::uint32_t>(Stop::kNone);
      // A chunk that was taken is searched if the search will be resumed; otherwise its result would be
      // partial.
      if (reason > static_cast<std::uint32_t>(Stop::kPause)) taken = kNoLimit;
    }
    place_.chunk = 0;
    taken = lanes_.broadcast(taken);
    if (taken >= task_.arcs) return false;
    const std::uint64_t left = task_.arcs - taken;
    place_.chunk = left < task_.chunk ? left : task_.chunk;
    const std::uint64_t before = taken * task_.stride + std::uint64_t{task_.first} * task_.chunk;
    place_.arc_end = task_.all_arcs - before;
    place_.arc = place_.arc_end - place_.chunk;
    if constexpr (!Plan::kChanging) find_row();
    return true;
  }

  // Moves both ends of the chunk to the next begin of an update: the roots of an update are consecutive.
  // False if the chunk is empty then.
  MOTIFLUX_DEVICE bool to_whole_updates() {
    place_.arc = next_update(place_.arc);
    place_.arc_end = next_update(place_.arc_end);
    return place_.arc < place_.arc_end;
  }

  // The first root from `arc` on that begins an update, or the number of roots.
  MOTIFLUX_DEVICE std::uint64_t next_update(std::uint64_t arc) const {
    for (;; arc += Lanes::kLanes) {
      const std::uint64_t mine = arc + lanes_.lane();
      const auto moment = [this](std::uint64_t root) {
        return plan_.root(static_cast<std::uint32_t>(root)).moment;
      };
      const bool begins = mine == 0 || mine >= task_.all_arcs || moment(mine) != moment(mine - 1);
      if (const std::uint32_t beginning = lanes_.ballot(begins); beginning != 0)
        return arc + lowest_bit(beginning);
    }
  }

  // The same as find_row when the arc begins a row: mostly one of the next few.
  MOTIFLUX_DEVICE void next_row() {
    const std::uint64_t probe = std::uint64_t{row_} + 1 + lanes_.lane();
    const bool holds = probe < task_.vertices && task_.root.offsets[probe + 1] > place_.arc;
    const std::uint32_t holding = lanes_.ballot(holds);
    if (holding == 0) return find_row();
    row_ += 1 + lowest_bit(holding);
  }

  MOTIFLUX_DEVICE void find_row() {
    row_ = lanes::find_row(lanes_, task_.root.offsets, task_.vertices, place_.arc);
  }

  using Base::cursor_;
  using Base::done_;
  using Base::entered_;
  using Base::lanes_;
  using Base::last_;
  using Base::place_;
  using Base::plan_;
  using Base::resume_split;
  using Base::shared_;
  using Base::stop_seen_;
  using Base::task_;
  using Base::turns_to_check_;

  std::uint32_t row_ = 0;
  Stop stop_found_ = Stop::kNone;  // the last value of the stop flag
};

}  // namespace motiflux::match
