// What a searching group has to do with work that changes hands (match/handover.hpp).
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/match/handover.hpp"
#include "motiflux/match/levels.hpp"

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
  using Levels<Plan, Lanes>::look_;

  MOTIFLUX_DEVICE bool hands_over() const { return task_.handover.seats != 0; }

  // Looks whether another group waits, anywhere. The answer is used at the next look: it takes long to come.
  // If so, withdraws what is offered elsewhere, by withdraw(), and hands over some.
  template <class Goal, class Withdraw>
  MOTIFLUX_DEVICE void look_outside(Withdraw&& withdraw) {
    if (!hands_over()) return;
    const bool waits = lanes_.broadcast(waits_) != 0;
    if (lanes_.leads()) waits_ = somebody_waits(task_.handover);
    if (!waits || place_.level < place_.floor) return;
    withdraw();
    share<Goal>([this](std::uint32_t level, const Cursor& given) { return hand_over(level, given); });
  }

  // Fewest candidates of a level that are worth handing over: just before the last level one takes no longer
  // than that.
  template <class Goal>
  MOTIFLUX_DEVICE std::uint32_t least(std::uint32_t level) const {
    return level + 1 == last_ && !Goal::kSharesLast ? 2 * Lanes::kLanes : 1;
  }

  // Hands over half of the shallowest walk that is worth it, by hand(level, walk), which may fail.
  template <class Goal, class Hand>
  MOTIFLUX_DEVICE void share(Hand&& hand) {
    lanes_.sync();  // cursors that were put down are there
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
    go_to(level);
    return true;
  }

  // To a walk that begins at a level below which all vertices are there, from the root on.
  MOTIFLUX_DEVICE void go_to(std::uint32_t level) {
    place_ = {0, 0, 1, 1, 0, level};
    entered_ = false;
  }

  // The walk of a split, once its level is reached: its candidates are those that they were elsewhere.
  MOTIFLUX_DEVICE void go_on() {
    const Cursor& given = shared_.levels[place_.floor].cursor;
    cursor_.next = given.next;
    cursor_.end = given.end;
    cursor_.waiting = given.waiting;
  }

  bool entered_ = true;  // whether the goal knows of level 0's vertex
  // The leader's:
  std::uint32_t waits_ = 0;        // whether a group waited at the last look
  std::uint64_t done_ = kNoLimit;  // root arcs done when it had finished its last
  bool told_ = false;              // to stop
};

}  // namespace motiflux::match
