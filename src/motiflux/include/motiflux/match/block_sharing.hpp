// Work sharing of a group within its block (match/block_work_queue.hpp) and beyond: a group without work
// first looks for work within the block, then waits at the global queue.
#pragma once

#include "motiflux/match/block_work_queue.hpp"
#include "motiflux/match/busy_clock.hpp"
#include "motiflux/match/sharing.hpp"

namespace motiflux::match {

template <class Plan, class Lanes, class Within>
class BlockSharing : public Sharing<Plan, Lanes> {
  using Base = Sharing<Plan, Lanes>;
  static constexpr bool kSteals = Within::kStealing != Stealing::kNone;
  static constexpr bool kOffers = Within::kStealing == Stealing::kActive;

 protected:
  static constexpr bool kStreams = false;  // whether find_work() brings all roots (streaming/executor.hpp)

  using Base::Base;
  using Base::cursor_;
  using Base::done_;
  using Base::lanes_;
  using Base::place_;
  using Base::shared_;
  using Base::stop_seen_;
  using Base::task_;
  using Base::turns_to_check_;
  using Base::uses_work_queue;

  // Called by all threads of the block before any of them has work.
  MOTIFLUX_DEVICE void begin() {
    if constexpr (kSteals) {
      if (threadIdx.x == 0) initialize(shared_by_block(), groups());
      __syncthreads();
      turns_to_check_ = Within::kTurns;
    }
    clock_.begin();
  }

  // Checks whether a group waits for work.
  template <class Goal>
  MOTIFLUX_DEVICE void check_for_waiting_groups() {
    turns_to_check_ = kCheckTurns;
    if constexpr (kSteals) {
      turns_to_check_ = Within::kTurns;
      if (place_.level >= place_.floor && group_of_block_waits()) {
        if constexpr (kOffers)
          offer<Goal>();
        else
          this->template share<Goal>([this](std::uint32_t level, const Cursor& given) {
            return deliver_to_waiting_group(level, given);
          });
      }
      if (--checks_to_queue_check_ > 0) return;
      checks_to_queue_check_ = Within::kChecksPerQueueCheck;
    }
    this->template check_work_queue<Goal>([this] { withdraw(); });
  }

  // Gets work of another group, in this block if one of its groups has work; false if no work will come.
  template <class Goal>
  MOTIFLUX_DEVICE bool find_work() {
    clock_.pause();
    if (find_work_of_others<Goal>()) {
      clock_.resume();
      return true;
    }
    end_clock();
    return false;
  }

  // Called when the group stops: takes back its offer and ends its work.
  MOTIFLUX_DEVICE void break_off() {
    clock_.pause();
    withdraw();
    if constexpr (kSteals)
      if (lanes_.leads()) end_work(shared_by_block().activity);
    if (uses_work_queue()) close_queue(lanes_, task_.work_queue);
    end_clock();
  }

  // At the end of a walk, takes the next strip of the group's own offer; false if there is none.
  MOTIFLUX_DEVICE bool take_own_offer() {
    if constexpr (kOffers) {
      if (place_.level != offered_) return false;
      Offers& offers = shared_by_block();
      const std::uint32_t mine = lanes_.in_block();
      OfferRange range{};
      const std::uint32_t most = offers.walks[mine].waiting == 0 ? Lanes::kLanes : 1;
      if (lanes_.leads()) range = take_from_own_offer(offers.words[mine], most);
      range = broadcast_range(range);
      if (range.count > 0)
        cursor_ = walk_over(offers.walks[mine], range);
      else
        offered_ = 0;
      return range.count > 0;
    }
    return false;
  }

 private:
  template <class Goal>
  MOTIFLUX_DEVICE bool find_work_of_others() {
    if constexpr (kSteals) {
      const bool over = stop_seen_ || done_ == task_.arcs;
      if (lanes_.broadcast(static_cast<std::uint32_t>(over)) != 0) {
        if (lanes_.leads()) end_work(shared_by_block().activity);
      } else if (take_in_block<Goal>()) {
        return true;
      }
    }
    if (!uses_work_queue() || !this->take_split()) return false;
    if constexpr (kSteals)
      if (lanes_.leads()) begin_work(shared_by_block().activity);
    return true;
  }

  MOTIFLUX_DEVICE void end_clock() const {
    if constexpr (Within::kMeasures)
      if (lanes_.leads()) clock_.end(this->plan_.utilisation());
  }

  // One per block.
  static MOTIFLUX_DEVICE auto& shared_by_block() {
    __shared__ typename Within::Shared shared;
    return shared;
  }

  static MOTIFLUX_DEVICE std::uint32_t groups() { return blockDim.x / Lanes::kLanes; }

  MOTIFLUX_DEVICE OfferRange broadcast_range(const OfferRange& range) const {
    return {lanes_.broadcast(range.first), lanes_.broadcast(range.count)};
  }

  MOTIFLUX_DEVICE bool group_of_block_waits() const {
    const std::uint32_t waits = lanes_.leads() && a_group_waits(shared_by_block().activity);
    return lanes_.broadcast(waits) != 0;
  }

  // The levels of another group of the block.
  MOTIFLUX_DEVICE LevelState* levels_of(std::uint32_t group) const {
    auto* mine = reinterpret_cast<unsigned char*>(shared_.levels);
    return reinterpret_cast<LevelState*>(mine - lanes_.in_block() * task_.shared_bytes +
                                         group * task_.shared_bytes);
  }

  // Counts that a walk is now two walks. Called by the leader, before the other group can finish its walk.
  MOTIFLUX_DEVICE void count_split() const {
    Control& control = *task_.control;
    device::device_wide(control.done).fetch_add(~std::uint64_t{0}, device::Order::kRelaxed);
    device::device_wide(control.stolen).fetch_add(1u, device::Order::kRelaxed);
  }

  MOTIFLUX_DEVICE bool deliver_to_waiting_group(std::uint32_t level, const Cursor& given) {
    Mailboxes& mailboxes = shared_by_block();
    const std::uint32_t group = lanes_.broadcast(lanes_.leads() ? claim_waiting(mailboxes.activity) : 0);
    if (group == kNoGroup) return false;
    lanes_.sync();
    LevelState* theirs = levels_of(group);
    for (std::uint32_t before = lanes_.lane(); before < level; before += Lanes::kLanes)
      theirs[before].vertex = this->vertex(before);
    if (lanes_.leads()) {
      theirs[level].cursor = given;
      if constexpr (Plan::kChanging) theirs[0].base_size = this->root();
    }
    lanes_.sync();
    if (lanes_.leads()) {
      count_split();
      deliver_walk(mailboxes, group, level);
    }
    return true;
  }

  template <class Goal>
  MOTIFLUX_DEVICE bool take_in_block() {
    if constexpr (kOffers)
      return take_from_offer<Goal>();
    else
      return take_from_mailbox();
  }

  MOTIFLUX_DEVICE bool take_from_mailbox() {
    lanes_.sync();  // no lane reads the levels any more
    const std::uint32_t level =
        lanes_.broadcast(lanes_.leads() ? wait_for_walk(shared_by_block(), lanes_.in_block()) : 0);
    if (level == 0) return false;
    lanes_.sync();
    cursor_ = shared_.levels[level].cursor;
    this->begin_split(level);
    return true;
  }

  template <class Goal>
  MOTIFLUX_DEVICE bool take_from_offer() {
    Offers& offers = shared_by_block();
    StolenRange stolen{};
    if (lanes_.leads()) {
      stolen = wait_for_offer(offers, groups(), lanes_.in_block(),
                              [this](std::uint32_t level) { return this->template least<Goal>(level); });
      if (stolen.group != kNoGroup) count_split();
    }
    stolen.group = lanes_.broadcast(stolen.group);
    if (stolen.group == kNoGroup) return false;
    stolen.level = lanes_.broadcast(stolen.level);
    stolen.range = broadcast_range(stolen.range);
    lanes_.sync();
    const LevelState* theirs = levels_of(stolen.group);
    for (std::uint32_t before = lanes_.lane(); before < stolen.level; before += Lanes::kLanes)
      shared_.levels[before].vertex = theirs[before].vertex;
    cursor_ = walk_over(offers.walks[stolen.group], stolen.range);
    if (lanes_.leads()) {
      shared_.levels[stolen.level].cursor = cursor_;
      if constexpr (Plan::kChanging) shared_.levels[0].base_size = theirs[0].base_size;
    }
    lanes_.sync();
    if (lanes_.leads()) release_offer(offers.words[stolen.group]);
    this->begin_split(stolen.level);
    return true;
  }

  // Offers the shallowest walk with enough candidates, unless an offer is open.
  template <class Goal>
  MOTIFLUX_DEVICE void offer() {
    Offers& offers = shared_by_block();
    const std::uint32_t mine = lanes_.in_block();
    if (offered_ != 0) {
      const std::uint32_t over = lanes_.leads() && is_used_up(offers.words[mine]);
      if (lanes_.broadcast(over) == 0) return;
      offered_ = 0;
    }
    lanes_.sync();  // cursors in shared memory are visible
    const std::uint32_t end = Goal::kSharesLast ? this->last_ + 1 : this->last_;
    for (std::uint32_t level = place_.floor; level <= place_.level && level < end; ++level) {
      const bool walked = level == place_.level;
      Cursor kept = walked ? cursor_ : shared_.levels[level].cursor, offered{};
      const std::uint32_t count =
          cut_offer(kept, offered, walked, Lanes::kLanes, this->template least<Goal>(level));
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

  // Takes back the rest of the group's offer.
  MOTIFLUX_DEVICE void withdraw() {
    if constexpr (kOffers) {
      if (offered_ == 0) return;
      Offers& offers = shared_by_block();
      const std::uint32_t mine = lanes_.in_block();
      OfferRange range{};
      if (lanes_.leads()) range = take_back_all(offers.words[mine]);
      range = broadcast_range(range);
      lanes_.sync();  // cursors in shared memory are visible
      if (range.count > 0 && offered_ == place_.level) {
        return_range(cursor_, offers.walks[mine], range);
      } else if (range.count > 0 && lanes_.leads()) {
        return_range(shared_.levels[offered_].cursor, offers.walks[mine], range);
      }
      offered_ = 0;
      lanes_.sync();
    }
  }

  [[no_unique_address]] BusyClock<Within::kMeasures> clock_;
  std::uint32_t offered_ = 0;               // the level of the walk that others may take from; 0: none
  std::int32_t checks_to_queue_check_ = 1;  // until a check outside the block
};

}  // namespace motiflux::match
