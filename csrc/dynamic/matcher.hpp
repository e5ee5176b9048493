// Finds the matches that appear or vanish with one edge.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/column.hpp"
#include "common/total.hpp"
#include "dynamic/gate.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/memory.hpp"
#include "dynamic/plan.hpp"
#include "dynamic/quotient_sums.hpp"
#include "sets/intersect.hpp"

namespace motiflux::dynamic {

// The matches of the plans of a forest.
class Matches {
 public:
  explicit Matches(PlanBits plans) {
    for_each_plan(plans, [&](std::size_t number) { matches_[number] = 0; });
  }
  void add(std::size_t number, Total more) { add_checked(matches_[number], more); }
  Total of(std::size_t number) const { return matches_[number]; }

 private:
  std::array<Total, kMostPlans> matches_;
};

// The number of matches that a search which counts has found `found` times its plan's multiplier.
inline Total multiplied(const Plan& plan, Total found) {
  if (__builtin_mul_overflow(found, Total{plan.multiplier}, &found))
    throw std::overflow_error("the count exceeds 2^128 - 1");
  return found;
}

// Thrown if a search is stopped.
struct Stopped {};

// keep_going() is called every few microseconds of work; false to stop.
class Watch {
 public:
  static constexpr std::uint32_t kNoPattern = ~std::uint32_t{0};

  virtual ~Watch() = default;
  virtual bool keep_going() = 0;
  // The same from the search for a pattern, whose time that since the last call is then taken to be.
  bool keep_searching(std::uint32_t pattern) {
    pattern_ = pattern;
    return keep_going();
  }

 protected:
  // The pattern of keep_searching(); kNoPattern after another call.
  std::uint32_t take_pattern() { return std::exchange(pattern_, kNoPattern); }

 private:
  std::uint32_t pattern_ = kNoPattern;
};

// For work that is not stopped.
class Unwatched : public Watch {
 public:
  bool keep_going() override { return true; }
};

// Lists of ascending ids that steps refer to.
using Allowed = std::vector<std::vector<Vertex>>;

// A View gives the contents of rows at the moment of the change:
//   sets::Span neighbors(Vertex, Way, std::uint32_t target, std::vector<Vertex>& scratch)
//   bool witnessed(Vertex from, Vertex to, Way, std::uint32_t relation, const Edge* ignored)
//   bool one_witness(std::uint32_t relation)
//   bool one_change, appears            whether the change is one of a batch, and whether it brings matches
//   bool witnessed_around(Vertex from, Vertex to, Way, std::uint32_t relation, bool after)
//                                       the same after the whole batch, or before it
//   void add_holes(Vertex, Way, std::uint32_t target, sets::Span set, std::vector<Vertex>& holes)
//                                       members of a part of neighbors() absent at that moment, ascending,
//                                       for each class; if kHoles
//   bool serves(Vertex, const Needs&)   false only if a later level has no candidate
//   bool may_have_holes(Vertex)         whether a row of the vertex may; if kHoles
//   const Graph& graph
//   std::uint64_t now(), changed(Vertex, Way, std::uint32_t target, std::vector<Vertex>& scratch),
//       class_changed(Class), gained(const Needs&)
//                                       the time, and times of changes (Graph::now)
//   kKeepsRows                          whether a row is where it was until its vertex changes
template <class View>
class Matcher {
 public:
  // `sets`: the number of different sets of all plans, which may grow.
  Matcher(const Allowed& allowed, Watch& watch, Memory& memory, const std::size_t& sets)
      : allowed_(allowed), watch_(watch), memory_(memory), all_sets_(sets), clock_(memory.stamps) {}
  ~Matcher() { memory_.stamps = clock_; }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // Begins the searches for an update: they map the pairs of plans to `edge`, which exists, from its source
  // to its target. `view` and `plans` stay until the next call.
  void begin(const View& view, const Edge& edge, std::span<const Plan> plans);

  // Prefetches the rows of the neighbours of both ends, which many plans are going to read.
  void prefetch_around() const;

  // The plans of `among` that may have matches with the edge.
  PlanBits concerned(const Forest& forest, PlanBits among);

  // Whether one plan may have matches with the edge.
  bool fits(const Plan& plan);

  // Searches for the matches of such plans. Calls found.count(plan, number) with parts of the number of
  // matches, divided by the plan's multiplier, and found.tally(plan, vertex, number) with the parts of the
  // vertices of a tallied level; for plans that list matches, appends these to found.rows(plan), the data
  // vertex of each query vertex, and calls found.wrote(plan, count) after each block of them; it may take the
  // rows away.
  template <class Found>
  void match(const Forest& forest, PlanBits among, Found& found) {
    if (among != 0) walk(forest, 0, among, found);
  }

  // The plans to count by sum(), and those to search for, of `among`: the plans of the forest that may have
  // matches. Those that another one makes needless are in neither.
  struct Division {
    PlanBits summed, searched;
  };
  Division divide(const Forest& forest, PlanBits among);
  template <class Found>
  void sum(PlanBits among, Found& found) {
    const auto spend = [&](std::size_t work) { this->spend(work); };
    for_each_plan(among, [&](std::size_t number) { found.count(number, sums_.count(number, spend)); });
  }

  // A search in parts, after begin(): open() returns the number of candidates of level 2, which is not in a
  // tail and not the last level; the other two search for a range of them.
  std::size_t open(const Plan& plan) { return fits(plan) ? clipped(2).size() : 0; }
  Total count_part(std::size_t first, std::size_t last);
  // The same for a plan with a tallied level: tally(vertex, number) gets the parts of its vertices.
  template <class Tally>
  Total tally_part(std::size_t first, std::size_t last, Tally&& tally) {
    const sets::Span all = clipped(2);
    return tally_over(2, {all.first + first, all.first + last}, tally);
  }
  template <class Wrote>
  void list_part(std::size_t first, std::size_t last, Column<Vertex>& rows, Wrote&& wrote) {
    const sets::Span all = clipped(2);
    list_over(2, {all.first + first, all.first + last}, rows, wrote);
  }

  // The same for several plans of a forest that fit and share the branch of level 2 at position `at`.
  std::size_t open(const Forest& forest, std::size_t at) { return candidates_of(forest.branches[at]).size(); }
  template <class Found>
  void match_part(const Forest& forest, std::size_t at, PlanBits plans, std::size_t first, std::size_t last,
                  Found& found) {
    const sets::Span all = candidates_of(forest.branches[at]);
    walk_over(forest, at, plans, {all.first + first, all.first + last}, found);
  }

  // Searches for the matches of one plan alone, from the pair of begin() on.
  Total count_alone(const Plan& plan) {
    if (!fits(plan)) return 0;
    latest_ = 1;
    return plan.levels() == 2 ? 1 : count_from(2);
  }
  template <class Wrote>
  void list_alone(const Plan& plan, Column<Vertex>& rows, Wrote&& wrote) {
    if (!fits(plan)) return;
    latest_ = 1;
    if (plan.levels() == 2)
      write({&value_[1], &value_[1] + 1}, rows, wrote);
    else
      list_from(2, rows, wrote);
  }

  // The work of all searches so far: about one for each vertex that is visited or read.
  std::uint64_t worked() const { return static_cast<std::uint64_t>(granted_ - budget_); }

  // Begins a search; false if the labels and ids of the two vertices and the edges between them rule out
  // matches.
  bool begin(const Plan& plan, const View& view, const Edge& edge, Vertex first, Vertex second);

  // The work between two looks at `watch`.
  static constexpr std::int64_t kBudget = 1 << 14;

 private:
  // Shorter rows are not worth remembering what of them serves.
  static constexpr std::size_t kWorthFiltering = 8;
  static constexpr std::size_t kBlockRows = 1 << 12;
  // More neighbours are not prefetched.
  static constexpr std::size_t kMostFetched = 128;
  // The candidates of a level for each of the level before, as far as common counts are concerned.
  static constexpr std::size_t kManyCandidates = 4;
  // Rows with greater numbers than this many bits hold are not marked.
  static constexpr int kMarkBits = 20;
  // Plans are not counted as sums if the ends have more neighbours for each.
  static constexpr std::size_t kMostSummed = 512;
  using Buffers = std::array<std::vector<Vertex>, view::kMaxLevels>;

  // The candidates of a level, as the levels that they depend on are matched.
  struct CandidateSet {
    std::uint64_t made = 0;  // the anchor's stamp when the set was computed
    sets::Span span{};
    std::vector<Vertex> buffer;
    std::vector<Vertex> holes;  // absent members, ascending
  };

  bool changes() const;
  bool changes_negated() const;
  bool changes_bare() const;
  // These are told the last level that has a vertex, and its vertex, which need not be assigned yet.
  bool turns_bare(const Bareness& one, int level, Vertex vertex) const;
  bool stays_bare(const Bareness& one, int level, Vertex vertex) const;
  bool is_bare(const Bareness& one, int level, Vertex vertex, const Edge* ignored) const;
  bool is_bare_around(const Bareness& one, int level, Vertex vertex) const;
  bool may_be(const Bare& kind, Vertex neighbor) const;
  template <class There>
  bool none_there(const Bareness& one, int level, Vertex vertex, There&& there) const;
  bool has_few(int level, Vertex vertex) const;
  // Not inlined, as `admits` seldom calls them: it takes 1.1 times as long with them.
  [[gnu::noinline]] bool admits_neighbors(int level, Vertex vertex) const;
  [[gnu::noinline]] bool is_reported(int level, Vertex vertex) const;
  bool holds_otherwise(int level, Vertex vertex) const;
  Vertex value_at(int of, int level, Vertex vertex) const {
    return of == level ? vertex : value_[static_cast<std::size_t>(of)];
  }
  // Whether a batch as a whole is to bring the matches of the plan, not to take them.
  bool brings() const { return view_->appears != plan_->inverse; }
  bool admits(int level, Vertex vertex) const;
  bool leaves_out(int level, Vertex vertex) const { return plan_->negates && !admits(level, vertex); }
  std::uint64_t count_admitted(int level, std::uint32_t distinct);
  bool pays_to_sum(const Forest& forest, PlanBits among);
  template <class Found>
  void walk(const Forest& forest, std::size_t at, PlanBits plans, Found& found);
  template <class Found>
  void walk_own(const Forest& forest, std::size_t number, int level, Found& found);
  sets::Span candidates_of(const Branch& branch);
  PlanBits within_bounds(const Branch& branch, PlanBits plans, Vertex vertex) const;
  template <class Found>
  void walk_over(const Forest& forest, std::size_t at, PlanBits plans, sets::Span candidates, Found& found);
  bool has_label_and_place(int level) const;
  void assign(int level, Vertex vertex) {
    value_[static_cast<std::size_t>(level)] = vertex;
    stamp_[static_cast<std::size_t>(level)] = ++clock_;
    latest_ = level;
  }
  void spend(std::size_t work) {
    budget_ -= static_cast<std::int64_t>(work);
    if (budget_ < 0) look();
  }
  [[gnu::noinline, gnu::cold]] void look() {
    granted_ += kBudget - budget_;
    budget_ = kBudget;
    if (!watch_.keep_searching(plan_ == nullptr ? Watch::kNoPattern : plan_->pattern)) throw Stopped();
  }

  const Step& step(int level) const { return plan_->steps[static_cast<std::size_t>(level)]; }
  const LevelSet& level_set(int level) const { return plan_->sets[static_cast<std::size_t>(level)]; }
  // The neighbours that a source gives for the vertex of its level.
  sets::Span row_of(const Source& from, std::vector<Vertex>& scratch) const {
    const Vertex vertex = value_[static_cast<std::size_t>(from.level)];
    if (from.of != kNoNumber) return view_->class_row(vertex, from.way, from.of, scratch);
    return view_->neighbors(vertex, from.way, from.target, scratch);
  }
  sets::Span whole_set(const Step& step, const LevelSet& of);
  sets::Span made_set(const Step& step, const LevelSet& of, CandidateSet& set);
  sets::Span filtered_row(const Step& step, const LevelSet& of, CandidateSet& set);
  Total count_leaves(int level);
  Total leaf_sum(int level);
  Total leaves_of(Vertex vertex, const Remembered& remembered);
  static sets::Span copied(sets::Span span, CandidateSet& set);
  sets::Span without_change(const Step& step, sets::Span span, CandidateSet& set);
  sets::Span clipped(int level) {
    const Step& step = this->step(level);
    return clipped(step, level_set(level), step.after, step.before);
  }
  sets::Span clipped(const Step& step, const LevelSet& of, std::uint32_t after, std::uint32_t before);
  void find_holes(const Step& step, CandidateSet& set, sets::Span span);
  const std::vector<Vertex>& holes(int level) const { return sets_[level_set(level).number].holes; }
  std::size_t holes_within(int level, sets::Span part) const;
  bool is_hole(int level, Vertex vertex) const { return is_hole(level_set(level), vertex); }
  bool is_hole(const LevelSet& of, Vertex vertex) const {
    if constexpr (!View::kHoles) return false;
    const auto& holes = sets_[of.number].holes;
    return !holes.empty() && std::binary_search(holes.begin(), holes.end(), vertex);
  }
  bool excluded(int level, Vertex vertex) const { return is_taken(step(level).distinct, vertex); }
  bool is_taken(std::uint32_t levels, Vertex vertex) const;
  std::uint64_t count_level(int level, std::uint32_t distinct);
  std::uint64_t count_row(int level, std::uint32_t distinct);
  const CommonCounts* common_counts(int level, std::size_t more);
  bool make_common_counts(const Remembered::Closing& closing, CommonCounts& counts);
  sets::Span stable_set(const Remembered::Closing& closing);
  std::uint64_t count_closing(int level, std::uint32_t distinct, const CommonCounts& counts);
  Total count_closing_soon(int level, sets::Span candidates, const CommonCounts& counts);
  Total count_closed(int level, sets::Span candidates, const CommonCounts& counts);
  bool is_counted_at_once(int level) const;
  std::uint64_t count_common(int level, std::uint32_t distinct);
  std::optional<std::uint64_t> count_in_marks(const Step& step, std::uint32_t distinct);
  std::pair<std::uint64_t, std::uint64_t> bounds(const Step& step) const {
    return bounds(step.after, step.before);
  }
  std::pair<std::uint64_t, std::uint64_t> bounds(std::uint32_t after, std::uint32_t before) const;
  void fill(int level, std::uint32_t distinct, std::vector<Vertex>& list);
  template <class Tally>
  Total tally_from(int level, Tally& tally);
  template <class Tally>
  Total tally_over(int level, sets::Span candidates, Tally& tally);
  template <class Tally>
  bool tally_closing(int level, sets::Span candidates, Tally& tally, Total& total);
  Total count_from(int level);
  Total count_here(int level);
  Total count_over(int level, sets::Span candidates);
  Total count_tail();
  Total count_component(const search::TailComponent& component);
  sets::Span last_vertices();
  template <class Wrote>
  void list_from(int level, Column<Vertex>& rows, Wrote& wrote);
  template <class Wrote>
  void write(sets::Span last, Column<Vertex>& rows, Wrote& wrote);
  template <class Wrote>
  void list_over(int level, sets::Span candidates, Column<Vertex>& rows, Wrote& wrote);

  const Allowed& allowed_;
  Watch& watch_;
  Memory& memory_;
  const std::size_t& all_sets_;
  std::span<const Plan> plans_;
  const Plan* plan_ = nullptr;
  const View* view_ = nullptr;
  Edge edge_{};
  std::int64_t granted_ = kBudget, budget_ = kBudget;  // work until the next look at `watch_`
  std::uint64_t clock_;                                // of stamps
  int latest_ = 0;                                     // the level assigned last
  std::uint64_t search_ = 0;                           // a number of its own for the searches of each update
  std::array<Vertex, view::kMaxLevels> value_{};
  std::array<std::uint64_t, view::kMaxLevels> stamp_{};
  std::vector<CandidateSet> sets_;  // by number
  std::vector<Vertex> absent_;
  Buffers buffers_;                        // scratch, by level
  std::vector<std::vector<Vertex>> rows_;  // scratch, by source
  std::vector<sets::Span> spans_;
  std::array<std::vector<Vertex>, 4> stable_;  // scratch: two rows, what they have in common, a third row
  std::array<std::vector<Vertex>, search::kMostTailSets> tail_sets_;
  std::array<std::vector<Vertex>, std::size_t{1} << search::kMostTailSets> intersections_;
  std::vector<Vertex> last_, moved_;
  sets::Policy policy_;
  QuotientSums<View> sums_;
};

}  // namespace motiflux::dynamic

// clang-format off: another order, with the same machine code, took 1.3 times as long for a cycle of six vertices
#include "dynamic/matcher_walk.inl.hpp"
#include "dynamic/matcher_sets.inl.hpp"
#include "dynamic/matcher_remembered.inl.hpp"
#include "dynamic/matcher_count.inl.hpp"
#include "dynamic/matcher_list.inl.hpp"
#include "dynamic/matcher_tally.inl.hpp"
// clang-format on
