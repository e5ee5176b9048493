// Work sharing of a group through the global work queue (match/work_queue.hpp).
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/match/levels.hpp"
#include "motiflux/match/work_queue.hpp"

namespace motiflux::match {

template <class Plan, class Lanes>
class Sharing : public Levels<Plan, Lanes> {
 public:
  using Levels<Plan, Lanes>::vertex;

 protected:
  using Levels<Plan, Lanes>::Levels;
  using Levels<Plan, Lanes>::task_;
  using Levels<Plan, Lanes>::lanes_;
  using Levels<Plan, Lanes>::shared_;
  using Levels<Plan, Lanes>::last_;
  using Levels<Plan, Lanes>::place_;
  using Levels<Plan, Lanes>::cursor_;
  using Levels<Plan, Lanes>::turns_to_check_;

  MOTIFLUX_DEVICE bool uses_work_queue() const { return task_.work_queue.wait_slots != 0; }

  // Checks whether any group of the device waits. The load takes long, so its value is used at the next
  // check. If a group waits: takes back the offer within the block, by withdraw(), and pushes a split.
  template <class Goal, class Withdraw>
  MOTIFLUX_DEVICE void check_work_queue(Withdraw&& withdraw) {
    if (!uses_work_queue()) return;
    const bool waits = lanes_.broadcast(group_waited_) != 0;
    if (lanes_.leads()) group_waited_ = a_group_waits(task_.work_queue);
    if (!waits || place_.level < place_.floor) return;
    withdraw();
    share<Goal>([this](std::uint32_t level, const Cursor& given) { return push_split(level, given); });
  }

  // The fewest candidates of a level that are worth a split: one candidate of the level before the last takes
  // no longer than the split itself.
  template <class Goal>
  MOTIFLUX_DEVICE std::uint32_t least(std::uint32_t level) const {
    return level + 1 == last_ && !Goal::kSharesLast ? 2 * Lanes::kLanes : 1;
  }

  // Gives half of the shallowest walk with enough candidates to hand(level, walk), which may fail.
  template <class Goal, class Hand>
  MOTIFLUX_DEVICE void share(Hand&& hand) {
    lanes_.sync();  // cursors in shared memory are visible
    const std::uint32_t end = Goal::kSharesLast ? last_ + 1 : last_;
    for (std::uint32_t level = place_.floor; level <= place_.level && level < end; ++level) {
      const bool walked = level == place_.level;
      Cursor kept = walked ? cursor_ : shared_.levels[level].cursor, given{};
      if (!halve(kept, given, !walked, least<Goal>(level))) continue;
      if (!hand(level, given)) return;
      if (walked)
        cursor_ = kept;
      else if (lanes_.leads())
        shared_.levels[level].cursor = kept;
      lanes_.sync();
      return;
    }
  }

  MOTIFLUX_DEVICE bool push_split(std::uint32_t level, const Cursor& given) {
    const WorkQueue& work_queue = task_.work_queue;
    const std::uint64_t ticket = lanes_.broadcast(lanes_.leads() ? claim_wait_slot(work_queue) : 0);
    if (ticket == kNoTicket) return false;
    lanes_.sync();
    Split& split = work_queue.splits[wait_slot_of(work_queue, ticket)];
    for (std::uint32_t before = lanes_.lane(); before < level; before += Lanes::kLanes)
      split.vertices[before] = vertex(before);
    std::uint32_t handed = 0;
    if (lanes_.leads()) {
      split.cursor = given;
      split.level = level;
      if constexpr (Plan::kChanging) split.root = this->root();
    }
    lanes_.sync();
    if (lanes_.leads()) {
      auto done = device::device_wide(task_.control->done);
      done.fetch_add(~std::uint64_t{0},
                     device::Order::kRelaxed);  // first: the split may be finished before the next line
      handed = publish_split(work_queue, ticket);
      if (handed == 0) done.fetch_add(std::uint64_t{1}, device::Order::kRelaxed);
    }
    return lanes_.broadcast(handed) != 0;
  }

  // Waits for a split and begins it; false if none will come. The group that finished the last root arc or
  // split, and a group that was stopped, close the queue here.
  MOTIFLUX_DEVICE bool take_split() {
    const WorkQueue& work_queue = task_.work_queue;
    const bool over = stop_seen_ || done_ == task_.arcs;
    if (lanes_.broadcast(static_cast<std::uint32_t>(over)) != 0) {
      close_queue(lanes_, work_queue);
      return false;
    }
    std::uint64_t ticket = 0;
    std::uint32_t wait_slot = kAbandoned;
    const auto done = device::device_wide(task_.control->done);
    if (lanes_.leads() && done.load(device::Order::kRelaxed) != task_.arcs)
      wait_slot = wait_for_split(work_queue, ticket);
    wait_slot = lanes_.broadcast(wait_slot);
    if (wait_slot == kAbandoned) return false;
    lanes_.sync();
    const Split& split = work_queue.splits[wait_slot];
    const std::uint32_t level = split.level;
    for (std::uint32_t before = lanes_.lane(); before < level; before += Lanes::kLanes)
      shared_.levels[before].vertex = split.vertices[before];
    cursor_ = split.cursor;
    if (lanes_.leads()) {
      shared_.levels[level].cursor = cursor_;
      if constexpr (Plan::kChanging) shared_.levels[0].base_size = split.root;
    }
    lanes_.sync();
    if (lanes_.leads()) release_wait_slot(work_queue, ticket);
    begin_split(level);
    return true;
  }

  // Begins a split at a level, from the root down: the vertices of all levels before are known.
  MOTIFLUX_DEVICE void begin_split(std::uint32_t level) {
    place_ = {0, 0, 1, 1, 0, level};
    this->select_root();
    if constexpr (Levels<Plan, Lanes>::kPools) place_.level = this->plan_.given();
    entered_ = false;
  }

  // Continues the walk of a split when its level is reached: the candidates are the same as in the group that
  // gave it.
  MOTIFLUX_DEVICE void resume_split() {
    const Cursor& given = shared_.levels[place_.floor].cursor;
    cursor_.next = given.next;
    cursor_.end = given.end;
    cursor_.waiting = given.waiting;
  }

  bool entered_ = true;  // whether the goal was told of level 0's vertex
  // The leader's:
  std::uint32_t group_waited_ = 0;  // whether a group waited at the last check
  std::uint64_t done_ = kNoLimit;   // root arcs done when the group had finished its last
  bool stop_seen_ = false;          // whether to stop
};

}  // namespace motiflux::match
