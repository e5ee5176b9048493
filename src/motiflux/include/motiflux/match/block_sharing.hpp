// What a searching group has to do with work that changes hands within its block (match/block_desk.hpp), and
// with all of it: who has no work asks in the block first.
#pragma once

#include "motiflux/match/block_desk.hpp"
#include "motiflux/match/sharing.hpp"

namespace motiflux::match {

template <class Plan, class Lanes, class Within>
class BlockSharing : public Sharing<Plan, Lanes> {
  using Base = Sharing<Plan, Lanes>;
  static constexpr bool kSteals = Within::kStealing != Stealing::kNone;
  static constexpr bool kOffers = Within::kStealing == Stealing::kActive;

 protected:
  using Base::Base;
  using Base::cursor_;
  using Base::done_;
  using Base::hands_over;
  using Base::lanes_;
  using Base::look_;
  using Base::place_;
  using Base::shared_;
  using Base::task_;
  using Base::told_;

  // All threads of the block, before the first of them has work.
  MOTIFLUX_DEVICE void begin() {
    if constexpr (kSteals) {
      if (threadIdx.x == 0) open_desk(shared_by_block(), groups());
      __syncthreads();
      look_ = Within::kTurns;
    }
  }

  // Looks whether a group waits for work.
  template <class Goal>
  MOTIFLUX_DEVICE void look() {
    look_ = kLook;
    if constexpr (kSteals) {
      look_ = Within::kTurns;
      if (place_.level >= place_.floor && is_asked_here()) {
        if constexpr (kOffers)
          offer<Goal>();
        else
          this->template share<Goal>(
              [this](std::uint32_t level, const Cursor& given) { return hand_to_waiting(level, given); });
      }
      if (--looks_ > 0) return;
      looks_ = Within::kLooks;
    }
    this->template look_outside<Goal>([this] { withdraw(); });
  }

  // Gets work of another group, of this block if one works there; false if there will be none.
  template <class Goal>
  MOTIFLUX_DEVICE bool find_work() {
    if constexpr (kSteals) {
      const bool over = told_ || done_ == task_.arcs;
      if (lanes_.broadcast(static_cast<std::uint32_t>(over)) != 0) {
        if (lanes_.leads()) end_work(shared_by_block().desk);
      } else if (take_in_block<Goal>()) {
        return true;
      }
    }
    if (!hands_over() || !this->take_split()) return false;
    if constexpr (kSteals)
      if (lanes_.leads()) begin_work(shared_by_block().desk);
    return true;
  }

  // Of a group that will not go on: what it has is its own again.
  MOTIFLUX_DEVICE void break_off() {
    withdraw();
    if constexpr (kSteals)
      if (lanes_.leads()) end_work(shared_by_block().desk);
    if (hands_over()) close(lanes_, task_.handover);
  }

  // At the end of a walk, takes the next strip of what it offers; false if there is none, or nothing was
  // offered.
  MOTIFLUX_DEVICE bool take_own_back() {
    if constexpr (kOffers) {
      if (place_.level != offered_) return false;
      Offers& offers = shared_by_block();
      const std::uint32_t mine = lanes_.in_block();
      Part part{};
      const std::uint32_t most = offers.walks[mine].waiting == 0 ? Lanes::kLanes : 1;
      if (lanes_.leads()) part = take_own(offers.words[mine], most);
      part = everywhere(part);
      if (part.count > 0)
        cursor_ = part_of(offers.walks[mine], part);
      else
        offered_ = 0;
      return part.count > 0;
    }
    return false;
  }

 private:
  // One for the block.
  static MOTIFLUX_DEVICE auto& shared_by_block() {
    __shared__ typename Within::Shared shared;
    return shared;
  }

  static MOTIFLUX_DEVICE std::uint32_t groups() { return blockDim.x / Lanes::kLanes; }

  MOTIFLUX_DEVICE Part everywhere(const Part& part) const {
    return {lanes_.broadcast(part.first), lanes_.broadcast(part.count)};
  }

  MOTIFLUX_DEVICE bool is_asked_here() const {
    const std::uint32_t waits = lanes_.leads() && somebody_waits(shared_by_block().desk);
    return lanes_.broadcast(waits) != 0;
  }

  // The levels of another group of the block.
  MOTIFLUX_DEVICE LevelState* levels_of(std::uint32_t group) const {
    auto* mine = reinterpret_cast<unsigned char*>(shared_.levels);
    return reinterpret_cast<LevelState*>(mine - lanes_.in_block() * task_.shared_bytes +
                                         group * task_.shared_bytes);
  }

  // A walk that was one is two from now on. By the leader, before the other group can come to its end.
  MOTIFLUX_DEVICE void count_split() const {
    Control& control = *task_.control;
    device::device_wide(control.done).fetch_add(~std::uint64_t{0}, device::Order::kRelaxed);
    device::device_wide(control.stolen).fetch_add(1u, device::Order::kRelaxed);
  }

  MOTIFLUX_DEVICE bool hand_to_waiting(std::uint32_t level, const Cursor& given) {
    Trays& trays = shared_by_block();
    const std::uint32_t group = lanes_.broadcast(lanes_.leads() ? claim_waiting(trays.desk) : 0);
    if (group == kNobody) return false;
    lanes_.sync();
    LevelState* theirs = levels_of(group);
    for (std::uint32_t before = lanes_.lane(); before < level; before += Lanes::kLanes)
      theirs[before].vertex = this->vertex(before);
    if (lanes_.leads()) theirs[level].cursor = given;
    lanes_.sync();
    if (lanes_.leads()) {
      count_split();
      hand_to(trays, group, level);
    }
    return true;
  }

  template <class Goal>
  MOTIFLUX_DEVICE bool take_in_block() {
    if constexpr (kOffers)
      return take_from_offer<Goal>();
    else
      return take_from_tray();
  }

  MOTIFLUX_DEVICE bool take_from_tray() {
    lanes_.sync();  // no lane reads the levels any more
    const std::uint32_t level =
        lanes_.broadcast(lanes_.leads() ? wait_at(shared_by_block(), lanes_.in_block()) : 0);
    if (level == 0) return false;
    lanes_.sync();
    cursor_ = shared_.levels[level].cursor;
    this->go_to(level);
    return true;
  }

  template <class Goal>
  MOTIFLUX_DEVICE bool take_from_offer() {
    Offers& offers = shared_by_block();
    Loot loot{};
    if (lanes_.leads()) {
      loot = wait_for_offer(offers, groups(), lanes_.in_block(),
                            [this](std::uint32_t level) { return this->template least<Goal>(level); });
      if (loot.group != kNobody) count_split();
    }
    loot.group = lanes_.broadcast(loot.group);
    if (loot.group == kNobody) return false;
    loot.level = lanes_.broadcast(loot.level);
    loot.part = everywhere(loot.part);
    lanes_.sync();
    const LevelState* theirs = levels_of(loot.group);
    for (std::uint32_t before = lanes_.lane(); before < loot.level; before += Lanes::kLanes)
      shared_.levels[before].vertex = theirs[before].vertex;
    cursor_ = part_of(offers.walks[loot.group], loot.part);
    if (lanes_.leads()) shared_.levels[loot.level].cursor = cursor_;
    lanes_.sync();
    if (lanes_.leads()) let_go(offers.words[loot.group]);
    this->go_to(loot.level);
    return true;
  }

  // Offers the shallowest walk that is worth it, unless something is offered already.
  template <class Goal>
  MOTIFLUX_DEVICE void offer() {
    Offers& offers = shared_by_block();
    const std::uint32_t mine = lanes_.in_block();
    if (offered_ != 0) {
      const std::uint32_t over = lanes_.leads() && is_over(offers.words[mine]);
      if (lanes_.broadcast(over) == 0) return;
      offered_ = 0;
    }
    lanes_.sync();  // cursors that were put down are there
    const std::uint32_t end = Goal::kSharesLast ? this->last_ + 1 : this->last_;
    for (std::uint32_t level = place_.floor; level <= place_.level && level < end; ++level) {
      const bool walked = level == place_.level;
      Cursor kept = walked ? cursor_ : shared_.levels[level].cursor, offered{};
      const std::uint32_t count =
          set_apart(kept, offered, walked, Lanes::kLanes, this->template least<Goal>(level));
      if (count == 0) continue;
      lanes_.sync();
      if (walked)
        cursor_ = kept;
      else if (lanes_.leads())
        shared_.levels[level].cursor = kept;
      if (lanes_.leads()) {
        offers.walks[mine] = offered;
        make_offer(offers.words[mine], level, count);
      }
      offered_ = level;
      lanes_.sync();
      return;
    }
  }

  // Takes back what is left of what it offers.
  MOTIFLUX_DEVICE void withdraw() {
    if constexpr (kOffers) {
      if (offered_ == 0) return;
      Offers& offers = shared_by_block();
      const std::uint32_t mine = lanes_.in_block();
      Part part{};
      if (lanes_.leads()) part = take_back_all(offers.words[mine]);
      part = everywhere(part);
      lanes_.sync();  // cursors that were put down are there
      if (part.count > 0 && offered_ == place_.level) {
        put_back(cursor_, offers.walks[mine], part);
      } else if (part.count > 0 && lanes_.leads()) {
        put_back(shared_.levels[offered_].cursor, offers.walks[mine], part);
      }
      offered_ = 0;
      lanes_.sync();
    }
  }

  std::uint32_t offered_ = 0;  // the level of the walk that others may take from; 0: none
  std::int32_t looks_ = 1;     // until one outside the block
};

}  // namespace motiflux::match
