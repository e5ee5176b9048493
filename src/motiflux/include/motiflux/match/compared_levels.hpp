// The levels of a plan that compares attributes: the same search, with other candidates.
//
// A level walks its shortest row or window, without writing a set, and each lane looks its candidate up in
// the other rows and narrows the ranges of copies (compared/ranges.hpp) in its local memory. The ranges that
// the vertices matched so far leave are in shared memory, behind the rest of the group's state:
//
//   | spans | levels | staged: enumeration only | ranges of level 0 | of level 1 | ... but the last |
//
// LevelState::base is the first entry of the walk, and LevelState::base_size says what is walked: the row of
// a source, by its number, or a window (kWindow).
#pragma once

#include "motiflux/compared/choices.hpp"
#include "motiflux/compared/ranges.hpp"
#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/match/compared_task.hpp"
#include "motiflux/match/levels.hpp"

namespace motiflux::match {

// A plan with comparisons, as the policy of a search. It exists during the construction of the search only.
template <class Plan>
struct Compared {
  static constexpr bool kChanging = Plan::kChanging;
  static constexpr bool kForks = Plan::kForks;
  using Held = typename Plan::Held;

  const Plan& plan;
  const compared::Network& network;

  MOTIFLUX_DEVICE std::uint32_t levels() const { return plan.levels(); }
};

// A level that walks a window: the number of a variable, plus the first bit. With the second one, all entries
// of the window agree with the copies matched before: none has to be looked at.
inline constexpr std::uint32_t kWindow = 1u << 31, kDecided = 1u << 30;

// Turns that a strip of the last level counts for, until the stop flag is read: without and with trials.
inline constexpr std::uint64_t kTurnsOfStrip = 4, kTurnsOfTrials = 64;

// A candidate of a level, and the ranges that the levels before leave.
struct ComparedCandidate {
  std::uint32_t level;
  std::uint32_t vertex;
  compared::KnownPair pair;
  const compared::Range* before;
  bool last;  // whether the level is the last one
};

// The functions from here on are called, not inlined: each is used at several places of a kernel, and inlined
// they took ptxas a minute.

// Computes the ranges that a candidate leaves; false if no choice of copies is left.
MOTIFLUX_DEVICE_CALL bool narrow_ranges(const compared::Network& network, const LevelState* levels,
                                        const ComparedCandidate& candidate, compared::Range* ranges) {
  const std::uint32_t level = candidate.level;
  const std::uint32_t known = network.matched_before(level), matched = network.matched[level];
  for (std::uint32_t v = 0; v < known; ++v) ranges[v] = candidate.before[v];
  const VerticesWith vertices{levels, level, candidate.vertex};
  for (std::uint32_t v = known; v < matched; ++v) {
    ranges[v] = compared::find(network, v, vertices, candidate.pair);
    if (ranges[v].size() == 0) return false;
  }
  if (known == matched) return true;
  const bool whole = network.both_ends && !(candidate.last && network.all_monotone);
  return compared::Narrowing(network, ranges, whole).narrow(known, matched);
}

// Whether a candidate leaves a choice of copies, for certain if it is one of the last level.
MOTIFLUX_DEVICE_CALL bool leaves_choice(const compared::Network& network, const LevelState* levels,
                                        const ComparedCandidate& candidate, Control& control) {
  compared::Range ranges[compared::kMostVariables];
  if (!narrow_ranges(network, levels, candidate, ranges)) return false;
  if (!candidate.last || network.all_monotone) return true;
  const auto stop = device::device_wide(control.stop);
  const auto found = compared::decide(network, ranges, network.matched[candidate.level], [&] {
    return stop.load(device::Order::kRelaxed) > static_cast<std::uint32_t>(Stop::kPause);
  });
  if (found != compared::Decision::kUndecided) return found == compared::Decision::kSome;
  if (network.most_trials != 0) {  // the host counts
    device::device_wide(control.overflow).store(1u, device::Order::kRelaxed);
    stop.fetch_max(static_cast<std::uint32_t>(Stop::kLimit), device::Order::kRelaxed);
  }
  return false;
}

// Stores the ranges that the vertex of a level leaves; called by all lanes. False if no choice is left.
template <class Lanes>
MOTIFLUX_DEVICE_CALL bool store_ranges(const Lanes lanes, const compared::Network& network,
                                       const LevelState* levels, const ComparedCandidate& candidate,
                                       compared::Range* stored) {
  compared::Range ranges[compared::kMostVariables];
  const bool agrees = narrow_ranges(network, levels, candidate, ranges);  // equal in all lanes
  lanes.sync();  // no lane reads the old ranges any more
  if (agrees)
    for (std::uint32_t v = lanes.lane(); v < network.matched[candidate.level]; v += Lanes::kLanes)
      stored[v] = ranges[v];
  lanes.sync();
  return agrees;
}

template <class Plan, class Lanes>
class Levels<Compared<Plan>, Lanes> : public Levels<Plan, Lanes> {
  using Base = Levels<Plan, Lanes>;
  using Range = compared::Range;

 public:
  using Base::vertex;

  MOTIFLUX_DEVICE Levels(const Compared<Plan>& policy, const Task& task, unsigned char* shared_memory,
                         std::uint32_t last)
      : Base(policy.plan, task, shared_memory, last),
        network_(policy.network),
        ranges_(reinterpret_cast<Range*>(shared_memory + lanes_.in_block() * task.shared_bytes +
                                         network_.ranges_at)) {}

  // Stores the ranges that the vertex of a level before the last leaves; false if no choice of copies is
  // left.
  MOTIFLUX_DEVICE bool enter_level(std::uint32_t level) {
    const ComparedCandidate candidate{level, vertex(level), {}, stored_before(level), false};
    return store_ranges(lanes_, network_, shared_.levels, candidate, stored(level));
  }

  // Stores the ranges of all levels that are matched: those of a group that continues from a saved state.
  MOTIFLUX_DEVICE void enter_matched() {
    for (std::uint32_t level = 0; level < place_.level; ++level) {
      if (enter_level(level)) continue;
      place_.level = 0;  // a root that the goal was not told of has no embeddings
      return;
    }
  }

  // Counts a strip of the last level as turns.
  MOTIFLUX_DEVICE void spend_strip() { this->spend(network_.all_monotone ? kTurnsOfStrip : kTurnsOfTrials); }

  // A bit for each lane whose candidate of the strip that starts at `first` passes all rules of a level.
  MOTIFLUX_DEVICE std::uint32_t judge(std::uint32_t level, const Cursor& walk, std::uint32_t first) const {
    const std::uint32_t mine = first + lanes_.lane();
    return lanes_.ballot(plan_.at(
        level, [&](const auto& step) { return mine < walk.end && passes(level, step, walk.base, mine); }));
  }

  // The entries that the level walks: a superset of its candidates.
  template <class Step>
  MOTIFLUX_DEVICE sets::Span candidates(std::uint32_t level, const Step& step) {
    const view::StepShape shape = step.shape();
    const Gathered rows = gather(lanes_, shared_, step, this->bounds(shape.after, shape.before));
    sets::Span walked = rows.shortest();
    std::uint32_t walks = rows.driver;
    if (network_.windows && walked.size() > Lanes::kLanes) {
      const std::uint32_t known = network_.matched_before(level), matched = network_.matched[level];
      for (std::uint32_t v = known; v < matched; ++v) {
        const compared::Variable& variable = network_.variables[v];
        if (variable.row_values == nullptr || variable.to != level || variable.source == compared::kNoSource)
          continue;
        const Range window = window_of(v, known);
        if (window.size() >= walked.size()) continue;
        walked = {variable.row_others + window.first, variable.row_others + window.last};
        walks = kWindow | v | (decides(level, v) ? kDecided : 0);
      }
    }
    LevelState& state = shared_.levels[level];
    if (lanes_.leads()) {
      state.base = walked.first;
      state.base_size = walks;
    }
    lanes_.sync();
    return walked;
  }

 protected:
  using Base::cursor_;
  using Base::lanes_;
  using Base::last_;
  using Base::place_;
  using Base::plan_;
  using Base::shared_;
  using Base::task_;

 private:
  MOTIFLUX_DEVICE Range* stored(std::uint32_t level) const { return ranges_ + network_.stored_at[level]; }

  MOTIFLUX_DEVICE const Range* stored_before(std::uint32_t level) const {
    return level == 0 ? ranges_ : stored(level - 1);
  }

  // Whether entry `mine` of a walk is a candidate that passes all rules of its level.
  template <class Step>
  MOTIFLUX_DEVICE bool passes(std::uint32_t level, const Step& step, const std::uint32_t* base,
                              std::uint32_t mine) const {
    const std::uint32_t candidate = base[mine];
    const std::uint32_t walks = level == 1 ? 0 : shared_.levels[level].base_size;  // of level 1: root arcs
    compared::KnownPair known;
    std::uint32_t in_row = walks;  // the source in whose row the candidate is for certain
    if ((walks & kWindow) != 0) {
      const std::uint32_t v = walks & ~(kWindow | kDecided);
      const compared::Variable& variable = network_.variables[v];
      const auto start = static_cast<std::uint32_t>(base - variable.row_others);
      if (variable.row_previous[start + mine] > start) return false;  // it was there before
      const rules::Bounds allowed = this->bounds(step.shape().after, step.shape().before);
      if (candidate < allowed.first || candidate >= allowed.end) return false;
      known = {v, variable.row_pairs[start + mine], true};
      in_row = variable.filtered ? compared::kUnknown : variable.source;
    }
    for (std::uint32_t s = 0; s < step.shape().source_count; ++s) {
      const SourceRows source = step.source(s);
      const std::uint32_t from = vertex(source.level);
      const sets::Span row{source.rows.begin(from), source.rows.end(from)};
      if (s != in_row) {
        if (!sets::contains(row, candidate)) return false;
      } else if (!known.certain) {
        known = guess(level, s, from, static_cast<std::uint64_t>(row.last - (base + mine)));
      }
    }
    return this->accepts(step, candidate) && ((walks & kDecided) != 0 || agrees(level, candidate, known));
  }

  // The pair of a candidate, if its row has as many neighbours behind it as its vertex has pairs.
  MOTIFLUX_DEVICE compared::KnownPair guess(std::uint32_t level, std::uint32_t source, std::uint32_t from,
                                            std::uint64_t behind) const {
    for (std::uint32_t v = network_.matched_before(level); v < network_.matched[level]; ++v) {
      const compared::Variable& variable = network_.variables[v];
      if (variable.source == source && variable.to == level)
        return {v, variable.offsets[from + 1] - static_cast<std::uint32_t>(behind), false};
    }
    return {};
  }

  MOTIFLUX_DEVICE bool agrees(std::uint32_t level, std::uint32_t candidate,
                              const compared::KnownPair& known) const {
    const bool last = level == last_;
    if (!last && network_.matched[level] == network_.matched_before(level)) return true;
    return leaves_choice(network_, shared_.levels, {level, candidate, known, stored_before(level), last},
                         *task_.control);
  }

  // The entries of a variable's row by main value that the ranges of the `known` variables allow.
  MOTIFLUX_DEVICE Range window_of(std::uint32_t v, std::uint32_t known) const {
    const compared::Variable& variable = network_.variables[v];
    const std::uint32_t from = vertex(variable.from);
    Range row{variable.starts[variable.offsets[from]], variable.starts[variable.offsets[from + 1]]};
    for (std::uint32_t turn = 0; turn < 2; ++turn) {
      const bool below = turn == 0;
      const std::uint32_t place = first_of(row, [&](std::uint32_t entry) {
        return is_within(v, known, variable.row_values[entry], below) == below;
      });
      (below ? row.first : row.last) = place;
    }
    return row;
  }

  // Whether the window of a variable has exactly the copies that agree: each variable before has one copy,
  // and all comparisons of the variable, the only one of the last level, bound windows.
  MOTIFLUX_DEVICE bool decides(std::uint32_t level, std::uint32_t v) const {
    const std::uint32_t known = network_.matched_before(level);
    bool all = level == last_ && network_.matched[level] == known + 1;
    for (std::uint32_t other = 0; all && other < known; ++other)
      all = stored_before(level)[other].size() == 1;
    for (std::uint32_t c = network_.judged[v]; all && c < network_.judged[v + 1]; ++c)
      all = network_.comparisons[c].monotone != 0;
    return all;
  }

  // The first place of a range from which `fits` holds, found by all lanes together.
  template <class Fits>
  MOTIFLUX_DEVICE std::uint32_t first_of(Range range, Fits&& fits) const {
    while (range.first < range.last) {
      // Lane l looks at the last place of part l; the last part may be short.
      const std::uint32_t step = (range.size() + Lanes::kLanes - 1) / Lanes::kLanes;
      const std::uint32_t parts = (range.size() + step - 1) / step;
      const std::uint32_t mine = lanes_.lane() < parts ? lanes_.lane() : parts - 1;
      const std::uint32_t end = mine + 1 < parts ? range.first + (mine + 1) * step : range.last;
      const std::uint32_t fitting = lanes_.ballot(fits(end - 1));
      if (fitting == 0) return range.last;
      const std::uint32_t part = lowest_bit(fitting);
      if (part + 1 < parts) range.last = range.first + (part + 1) * step;
      range.first += part * step;
      --range.last;  // it fits: is there an earlier place?
    }
    return range.first;
  }

  // Whether a main value of a variable is within the bounds from below (if so, all greater ones are), or from
  // above, that the matched variables set: by the copies of their ranges that leave most.
  MOTIFLUX_DEVICE bool is_within(std::uint32_t v, std::uint32_t known, std::int64_t value, bool below) const {
    const Range* ranges = stored_before(network_.variables[v].to);
    if (network_.span.there) {
      for (std::uint32_t other = 0; other < known; ++other) {
        if (network_.variables[other].is_vertex) continue;
        const std::int64_t theirs =
            network_.main(other, below ? ranges[other].first : ranges[other].last - 1);
        if (!network_.span.reaches(below ? value : theirs, below ? theirs : value)) return false;
      }
    }
    for (std::uint32_t c = network_.judged[v]; c < network_.judged[v + 1]; ++c) {
      const compared::Comparison& one = network_.comparisons[c];
      const bool left = one.left == v;
      const std::uint32_t other = left ? one.right : one.left;
      if (!one.monotone || other >= known) continue;
      const bool small_is_below = !left && one.rises;  // or a great one, of the left side
      compared::Operator op = one.op;
      if (op == compared::Operator::kEqual)
        op = small_is_below == below ? compared::Operator::kAtMost : compared::Operator::kAtLeast;
      if ((compared::is_small(op) == small_is_below) != below) continue;
      const std::uint32_t place = below ? ranges[other].first : ranges[other].last - 1;
      const std::int64_t theirs = network_.columns[left ? one.right_column : one.left_column][place];
      if (!compared::compare(op, one.form, one.numbers, left ? value : theirs, left ? theirs : value))
        return false;
    }
    return true;
  }

  const compared::Network& network_;
  Range* ranges_;
};

}  // namespace motiflux::match
