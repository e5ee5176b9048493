// Depth-first search of one group of lanes over any plan.
//
// A group takes a piece of the root arcs, walks the slices of rows in it as level 1, and descends. All lanes
// of a group take every turn together: what they branch on is the same in each. Candidates are judged a strip
// at a time, one per lane. What happens at the last level is the goal's business: counting or listing.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/lanes/group.hpp"
#include "motiflux/match/extend.hpp"
#include "motiflux/match/plan_policy.hpp"
#include "motiflux/match/task.hpp"

namespace motiflux::match {

// Steps between looks at the stop flag: some tens of microseconds.
inline constexpr std::int32_t kBudget = 2048;

template <class Plan, class Lanes>
class Search {
 public:
  MOTIFLUX_DEVICE Search(const Plan& plan, const Task& task, unsigned char* shared_memory)
      : plan_(plan),
        task_(task),
        shared_(shared_memory + lanes_.in_block() * task.shared_bytes, plan.levels(), task.max_spans),
        last_(plan.levels() - 1) {}

  // Runs until there is no work left, the search is stopped, or the goal cannot go on. Goal:
  //   bool skip_last(search)             all levels but the last are matched: true if that was all it takes
  //   bool take_last(search, candidates) the same with the last level's candidates; false to have them walked
  //   bool walk_last(search)             takes the next of the last level's cursor; false to break off
  //   void report(search)                brings what this group has found to the control
  // A plan of two levels walks its last level at once.
  template <class Goal>
  MOTIFLUX_DEVICE void run(Goal& goal) {
    while (place_.level > 0 || next_slice(goal)) {
      if (!advance(goal)) return;
    }
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
        std::uint32_t* buffer = task_.buffers + lanes_.in_grid() * task_.group_words + task_.buffer_at[level];
        spend(size / Lanes::kLanes);
        size = intersect(lanes_, gathered, buffer);
        set = buffer;
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

  MOTIFLUX_DEVICE rules::Bounds bounds(std::uint32_t after, std::uint32_t before) const {
    return rules::bounds(after, before, vertices());
  }

  MOTIFLUX_DEVICE void spend(std::uint64_t steps) {
    budget_ -= steps < kBudget ? static_cast<std::int32_t>(steps) : kBudget;
  }

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
    if (--budget_ <= 0) {
      budget_ = kBudget;
      goal.report(*this);
      if (stopped()) return false;
    }
    if (place_.level == last_) {
      if (!goal.walk_last(*this)) return false;
      if (cursor_.next >= cursor_.end) leave();
      return true;
    }
    if (cursor_.waiting == 0) {
      if (cursor_.next >= cursor_.end) {
        leave();
      } else {
        cursor_.waiting = judge(place_.level, cursor_, cursor_.next);
        cursor_.next += Lanes::kLanes;
      }
      return true;
    }
    const std::uint32_t chosen = lowest_bit(cursor_.waiting);
    cursor_.waiting &= cursor_.waiting - 1;
    assign(place_.level, cursor_.base[cursor_.next - Lanes::kLanes + chosen]);
    descend(goal);
    return true;
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
    if (level == last_ && goal.skip_last(*this)) return;
    const sets::View walked = plan_.at(level, [&](const auto& step) { return candidates(level, step); });
    if (walked.size() == 0 || (level == last_ && goal.take_last(*this, walked))) return;
    if (lanes_.leads()) shared_.levels[place_.level].cursor = cursor_;
    cursor_ = {walked.first, 0, static_cast<std::uint32_t>(walked.size()), 0};
    place_.level = level;
  }

  MOTIFLUX_DEVICE void leave() {
    if (--place_.level == 0) return;
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
        place_.level = 1;
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
    return allowed.size() > 0;
  }

  template <class Goal>
  MOTIFLUX_DEVICE bool take_piece(Goal& goal) {
    if (place_.piece > 0) {
      goal.report(*this);
      if (lanes_.leads())
        device::device_wide(task_.control->done).fetch_add(place_.piece, device::Order::kRelaxed);
      place_.piece = 0;
    }
    if (stopped()) return false;
    std::uint64_t taken = 0;
    if (lanes_.leads())
      taken = device::device_wide(task_.control->taken)
                  .fetch_add(std::uint64_t{task_.piece}, device::Order::kRelaxed);
    taken = lanes_.broadcast(taken);
    if (taken >= task_.arcs) return false;
    place_.arc_end = task_.arcs - taken;
    place_.arc = place_.arc_end > task_.piece ? place_.arc_end - task_.piece : 0;
    place_.piece = place_.arc_end - place_.arc;
    find_row();
    return true;
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
  std::int32_t budget_ = kBudget;
  Stop asked_ = Stop::kNone;  // what the stop flag said last
};

}  // namespace motiflux::match
