// Executors: groups of a resident kernel that search from updates and from parts of them (DCSM 1.5).
//
// Updates are handed over while they are written, so their groups are ready when they are published. Some are
// handed over before, and searched as soon as certain updates before them are published, each by its group
// alone, in the versions before it: an update changes entries of its own ends only, which are candidates of
// no later level (`PlanTable.reads_before`). Its answer waits until it is published: if that fails, the
// kernel ends, and it is as if there had been no search.
//
//   work of a group    update   its roots, one for each plan of its kind       the first group
//                      root     its only root, which the updater has written   likewise
//                      roots    some of these roots                            given by a group that has them
//                      walk     some candidates of one level below a root      given likewise
//                      copy     strips of long rows (copy_long_rows.hpp)       the updater asks for help
//
//   parts[slot]        1 + parts that were given - parts that are done; whoever ends the last part writes the
//                      totals, and tells the collector that the update is done. A group that had the only
//                      root and gave no part away has kept the total, and writes it at once
//
// A group looks from time to time whether another one waits for work, and gives it the second half of its
// roots, or else of its shallowest walk. What the other group finds at lower levels is the same: both read
// the rows of one moment, whose versions stay until the update is done.
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/match/count.cuh"
#include "motiflux/match/search.hpp"
#include "motiflux/streaming/answers.hpp"
#include "motiflux/streaming/copy_long_rows.hpp"

namespace motiflux::streaming {

// How groups of a resident kernel get work; a group looks every so many turns whether another one waits.
template <std::int32_t turns>
struct Streamed : match::NoStealing {};

}  // namespace motiflux::streaming

namespace motiflux::match {

template <class Plan, class Lanes, std::int32_t turns>
class BlockSharing<Plan, Lanes, streaming::Streamed<turns>> : public Sharing<Plan, Lanes> {
  using Base = Sharing<Plan, Lanes>;

 public:
  // Has the search work for a stream; called once, before it runs. Its roots are `roots`, from `first_root`
  // on.
  MOTIFLUX_DEVICE void serve(const streaming::Stream& stream, UpdateRoot* roots, std::uint32_t first_root) {
    stream_ = &stream;
    roots_ = roots;
    first_root_ = first_root;
  }

  // Where numbers are added that are too large to be kept.
  MOTIFLUX_DEVICE std::uint64_t* total() {
    keeps_ = false;
    return plan_.total();
  }

  // Keeps what was found, if the group has the only part of its update and the number is small; false if it
  // is to be added to the total.
  template <class Counting>
  MOTIFLUX_DEVICE bool keep(Counting& counting) {
    if (kept_ >> 32 != 0) keeps_ = false;
    if (lanes_.ballot(lanes_.leads() && keeps_) == 0) return false;
    const std::uint64_t found = counting.take_found(*this);
    if (lanes_.leads()) kept_ += found;
    return true;
  }

 protected:
  static constexpr bool kStreams = true;

  using Base::Base;
  using Base::cursor_;
  using Base::lanes_;
  using Base::place_;
  using Base::plan_;
  using Base::shared_;
  using Base::turns_to_check_;

  MOTIFLUX_DEVICE void begin() { turns_to_check_ = turns; }
  MOTIFLUX_DEVICE void break_off() const {}
  MOTIFLUX_DEVICE bool take_own_offer() const { return false; }

  // Gives a part of the group's work away if another group waits for some.
  template <class Goal>
  MOTIFLUX_DEVICE void check_for_waiting_groups() {
    turns_to_check_ = turns;
    if (++checks_ % kChecksOfReport == 0 && lanes_.leads())
      device::device_wide(stream_->graph.stages.progress->turns)
          .fetch_add(std::uint64_t{1}, device::Order::kRelaxed);
    if (early_ && !is_published_now()) return;
    if (lanes_.ballot(lanes_.leads() && streaming::a_group_waits(stream_->work)) == 0) return;
    if (place_.arc < place_.arc_end) return give_roots();
    if (place_.level < place_.floor) return;
    this->template share<Goal>(
        [this](std::uint32_t level, const Cursor& given) { return give_walk(level, given); });
  }

  // Ends the part that was searched, and waits for the next one; false if the kernel ends.
  template <class Goal>
  MOTIFLUX_DEVICE bool find_work() {
    for (;;) {
      if (!end_part()) return false;
      if (!take_part()) return false;
      if (place_.arc < place_.arc_end || place_.level > 0) return true;
    }
  }

 private:
  // Whether the update that is searched early is published; then it is no longer early.
  MOTIFLUX_DEVICE bool is_published_now() {
    const streaming::Stages& stages = stream_->graph.stages;
    const bool is_published = lanes_.leads() && streaming::published(stages) >= moment_;
    if (lanes_.ballot(is_published) == 0) return false;
    if (lanes_.leads()) streaming::end_early(stages);
    early_ = false;
    return true;
  }

  // Ends an early search: its update is published then. False if the kernel ends before.
  MOTIFLUX_DEVICE bool end_early_search() {
    lanes_.sync();
    early_ = false;
    bool goes_on = true;
    if (lanes_.leads()) {
      streaming::end_early(stream_->graph.stages);
      goes_on = streaming::wait_until_committed(stream_->graph.stages, moment_);
    }
    return lanes_.ballot(!goes_on) == 0;
  }

  // Called after the group's totals were reported.
  MOTIFLUX_DEVICE bool end_part() {
    const std::uint64_t moment = moment_;
    if (moment == 0) return true;
    const std::uint64_t searched = streaming::stamp_now();
    if (early_ && !end_early_search()) {
      // Another launch has the update again.
      for (std::uint32_t root = lanes_.lane(); root < count_; root += Lanes::kLanes)
        streaming::clear_total(*stream_, moment, root);
      return false;
    }
    moment_ = 0;
    lanes_.sync();
    if (!answer_kept(moment)) {
      std::uint32_t left = 1;
      if (lanes_.leads())
        left = device::device_wide(stream_->parts[stream_->slot_of(moment)])
                   .fetch_add(~std::uint32_t{0}, device::Order::kAcqRel);
      if (lanes_.broadcast(left) != 1) return true;
      lanes_.sync();
      if (!streaming::write_totals(lanes_, *stream_, moment, plans_, count_, sign_)) return false;
    }
    const std::uint64_t answered = streaming::stamp_now();
    lanes_.sync();
    if (lanes_.leads()) {
      stream_->stamp(moment, streaming::Stamp::kSearched, searched);
      stream_->stamp(moment, streaming::Stamp::kAnswered, answered);
      streaming::finish(stream_->graph.stages, moment);
    }
    return true;
  }

  // Writes the total that the group has kept, if it is all of its update's answer; else adds it to the total.
  MOTIFLUX_DEVICE bool answer_kept(std::uint64_t moment) {
    const bool is_all = lanes_.leads() && keeps_ && kept_ >> 32 == 0;
    const auto total = static_cast<std::uint32_t>(kept_);
    if (!is_all && kept_ != 0)  // of the leading lane
      add_seldom(stream_->plan.totals + std::uint64_t{2} * stream_->total_of(moment, 0), kept_,
                 *this->task_.control);
    kept_ = 0;
    keeps_ = false;
    if (lanes_.ballot(is_all) == 0) return false;
    const std::uint32_t plan = roots_[first_root_].plan;
    streaming::write_line(lanes_, *stream_, moment, lanes_.ballot(total != 0), plan << 1 | sign_, total);
    return true;
  }

  MOTIFLUX_DEVICE bool take_part() {
    const streaming::WorkList& list = stream_->work;
    const std::uint64_t ticket =
        lanes_.broadcast(lanes_.leads() ? streaming::take_work(list, stream_->graph.stages) : 0);
    if (ticket == streaming::kNoTicket) return false;
    lanes_.sync();
    const streaming::Work& work = list.of(ticket);
    moment_ = work.moment;
    plans_ = work.plans;
    count_ = work.count;
    ends_[0] = work.root.vertices[0];
    ends_[1] = work.root.vertices[1];
    sign_ = work.root.listed >> 1 & 1;
    const auto kind = static_cast<streaming::WorkKind>(work.kind);
    const std::uint32_t first = work.first, end = work.end, level = work.level, early = work.early;
    const std::uint64_t awaited = work.awaited;
    if (kind == streaming::WorkKind::kWalk) read_walk(work);
    if (kind == streaming::WorkKind::kRoot && lanes_.leads()) roots_[first_root_] = work.root;
    lanes_.sync();
    if (lanes_.leads()) streaming::release_work(list, ticket);
    if (kind == streaming::WorkKind::kCopy) {
      place_ = {};
      streaming::help_to_copy<Lanes>(stream_->graph);
      return true;
    }
    if (kind == streaming::WorkKind::kWalk) {
      this->begin_split(level);
      return true;
    }
    place_ = {};
    if (kind == streaming::WorkKind::kRoots) return begin_roots<false>(first, end);
    early_ = early != 0;
    if (awaited != 0 && lanes_.ballot(lanes_.leads() &&
                                      !streaming::wait_until_published(stream_->graph.stages, awaited)) != 0)
      return false;
    const std::uint64_t taken = streaming::stamp_now();
    lanes_.sync();
    if (kind == streaming::WorkKind::kRoot) {
      place_.arc = first_root_;
      place_.arc_end = first_root_ + 1;
      keeps_ = stream_->lines != nullptr;  // nothing is listed then
    } else if (!begin_roots<true>(0, count_)) {
      return false;
    }
    if (lanes_.leads()) {
      stream_->stamp(moment_, streaming::Stamp::kTaken, taken);
      stream_->stamp(moment_, streaming::Stamp::kReady, streaming::stamp_now());
    }
    return true;
  }

  MOTIFLUX_DEVICE void read_walk(const streaming::Work& work) {
    const std::uint32_t level = work.level;
    for (std::uint32_t before = lanes_.lane(); before < level; before += Lanes::kLanes)
      shared_.levels[before].vertex = work.vertices[before];
    cursor_ = work.cursor;
    if (lanes_.leads()) {
      shared_.levels[level].cursor = cursor_;
      shared_.levels[0].base_size = first_root_;
      roots_[first_root_] = work.root;
    }
  }

  // Has the group search from the roots [first, end) of its update. Plans of two levels have no search, as
  // the edge is their match: `answers_pairs` says whether to answer them. False if the kernel ends.
  template <bool answers_pairs>
  MOTIFLUX_DEVICE bool begin_roots(std::uint32_t first, std::uint32_t end) {
    std::uint32_t roots = 0;
    for (; first < end; first += Lanes::kLanes) {
      const std::uint32_t number = first + lanes_.lane();
      const bool is_there = number < end;
      const std::uint32_t plan = is_there ? stream_->plans[plans_ + number] : 0;
      const bool searches = is_there && stream_->plan.plans[plan].level_count > streaming::kPair;
      const UpdateRoot root = root_of(plan, number);  // of lanes without one, too: they know the ends
      const std::uint32_t all = lanes_.ballot(searches);
      if (searches) roots_[first_root_ + roots + count_bits(all & bits_below(lanes_.lane()))] = root;
      roots += count_bits(all);
      if constexpr (answers_pairs)
        if (!answer_pair(root, is_there && !searches)) return false;
    }
    lanes_.sync();
    place_.arc = first_root_;
    place_.arc_end = first_root_ + roots;
    return true;
  }

  // Answers the roots of those lanes that have one whose match is the edge; false if the kernel ends.
  MOTIFLUX_DEVICE bool answer_pair(const UpdateRoot& root, bool has_one) {
    const bool listed = (root.listed & 1) != 0;
    if (has_one && !listed)
      device::device_wide(stream_->plan.totals[std::uint64_t{2} * root.slot])
          .store(std::uint64_t{1}, device::Order::kRelaxed);
    for (std::uint32_t rows = lanes_.ballot(has_one && listed); rows != 0; rows &= rows - 1) {
      const std::uint32_t lane = lowest_bit(rows);
      UpdateRoot written = root;
      written.plan = lanes_.broadcast(root.plan, lane);
      written.listed = lanes_.broadcast(root.listed, lane);
      if (!streaming::write_rows(lanes_, *stream_, written, 1, streaming::kPair,
                                 [&](std::uint32_t, std::uint32_t level) {
                                   return level == 0 ? written.vertices[0] : written.vertices[1];
                                 }))
        return false;
    }
    return true;
  }

  MOTIFLUX_DEVICE UpdateRoot root_of(std::uint32_t plan, std::uint32_t number) const {
    UpdateRoot root;
    root.plan = plan;
    root.vertices[0] = ends_[0];
    root.vertices[1] = ends_[1];
    root.number = number;
    root.moment = moment_;
    root.slot = stream_->total_of(moment_, number);
    root.listed = stream_->listed[plan] | sign_ << 1 | (early_ ? kReadsBefore : 0);
    return root;
  }

  MOTIFLUX_DEVICE void give_roots() {
    const std::uint64_t kept = (place_.arc_end - place_.arc) / 2;
    const std::uint32_t first = roots_[place_.arc + kept].number;
    const std::uint32_t end = roots_[place_.arc_end - 1].number + 1;
    const bool given = give([&](streaming::Work& work) {
      work.kind = static_cast<std::uint32_t>(streaming::WorkKind::kRoots);
      work.root = roots_[place_.arc];
      work.first = first;
      work.end = end;
    });
    if (given) place_.arc_end = place_.arc + kept;
  }

  MOTIFLUX_DEVICE bool give_walk(std::uint32_t level, const Cursor& walk) {
    return give([&](streaming::Work& work) {
      work.kind = static_cast<std::uint32_t>(streaming::WorkKind::kWalk);
      work.level = level;
      work.cursor = walk;
      work.root = roots_[this->root()];
      for (std::uint32_t before = 0; before < level; ++before) work.vertices[before] = this->vertex(before);
    });
  }

  // Issues a part that write(work) describes; false if the kernel ends.
  template <class Write>
  MOTIFLUX_DEVICE bool give(Write&& write) {
    lanes_.sync();
    std::uint32_t given = 0;
    if (lanes_.leads()) {
      keeps_ = false;
      const std::uint64_t ticket = streaming::open_work(stream_->work, 1);
      if (streaming::wait_for_place(stream_->work, stream_->graph.stages, ticket)) {
        streaming::Work& work = stream_->work.of(ticket);
        work.moment = moment_;
        work.plans = plans_;
        work.count = count_;
        write(work);
        device::device_wide(stream_->parts[stream_->slot_of(moment_)])
            .fetch_add(std::uint32_t{1}, device::Order::kRelaxed);  // first: the part may be done at once
        device::device_wide(this->task_.control->stolen).fetch_add(1u, device::Order::kRelaxed);
        streaming::issue_work(stream_->work, ticket);
        given = 1;
      }
    }
    return lanes_.broadcast(given) != 0;
  }

  static constexpr std::uint32_t kChecksOfReport = 64;

  const streaming::Stream* stream_ = nullptr;
  UpdateRoot* roots_ = nullptr;
  std::uint64_t moment_ = 0;             // of the update that the group searches for; 0: none
  std::uint32_t plans_ = 0, count_ = 0;  // of its roots
  std::uint32_t ends_[2] = {0, 0};
  std::uint32_t sign_ = 0;
  std::uint32_t checks_ = 0;
  std::uint32_t first_root_ = 0;
  // Of the leading lane: whether the group has the only part of its update, and what it found then.
  bool keeps_ = false;
  std::uint64_t kept_ = 0;
  bool early_ = false;  // whether the group searches for an update that may not be published yet
};

}  // namespace motiflux::match
