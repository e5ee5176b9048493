// Depth-first search of one thread (levels: see motiflux/view/plan.hpp).
//
// Candidate sets are pointers into the adjacency where a level has one source; only true intersections are
// copied, into one buffer per level. A level's set is kept until a vertex it depends on changes, so a set
// that does not depend on the innermost levels is computed once for all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/wide.hpp"
#include "copies/ranges.hpp"
#include "search/adaptive.hpp"
#include "search/clique_tail.hpp"
#include "search/compare.hpp"
#include "search/control.hpp"
#include "search/native_plan.hpp"
#include "search/nested_tail.hpp"
#include "search/pool.hpp"
#include "search/visitor.hpp"
#include "sets/marks.hpp"

namespace motiflux::search {

class Projector;

class Walker : private Adaptive::Owner {
 public:
  // With `counting`, the last level is counted, never written, and visitor.rows is not called.
  Walker(const NativePlan& native_plan, Visitor& visitor, bool counting);

  ~Walker() override;

  // Searches the embeddings of `item`; false when stopped.
  bool search(const WorkItem& item);

  // Root arcs that the last item completed, without the arcs given away.
  std::uint64_t arcs_done() const { return arcs_done_; }

  // Gives threads that wait at `pool` some of the remaining work of `outermost`: this walker or, if it
  // continues from partial embeddings of others, the first of these walkers.
  void share(Pool& pool) { share(pool, *this); }
  void share(Pool& pool, Walker& outermost) {
    pool_ = &pool;
    outermost_ = &outermost;
  }

  // The same, arc by arc, with before(arc) called for each.
  bool search_arcs(ArcRange range, const std::function<void(std::uint64_t)>& before);

  // Continues from the first `levels` >= 2 values of `leader`, whose plan is the same up to there; false when
  // stopped. `lender`, which may be null, has the same set at the next level, if it has computed one for
  // these values.
  bool follow(const Walker& leader, int levels, const Walker* lender);

  // Searches the extensions of `levels` >= 2 values, a partial embedding without levels of the tail; false
  // when stopped, after which the walker cannot be used again.
  bool complete(const std::uint32_t* values, int levels);

  // Has `projector`, the visitor of this walker, say what need not be searched (walker_projected.cpp).
  void project(Projector& projector);

  // Keeps the set of `level` for other walkers where it would only be counted.
  void keep_set(int level) {
    kept_level_ = level;
    if (level > clique_level_) clique_level_ = -1;
  }

  // The approximate number of candidates met and elements of sets read so far.
  std::uint64_t work() const {
    return spent_ + static_cast<std::uint64_t>(native_plan_.check_every - budget_);
  }

  // Makes left_off() valid after a stopped search; the walker cannot be used again then.
  void keep_pace() { pace_ = std::make_unique<std::array<Pace, view::kMaxLevels>>(); }

  // The progress of the last work item when the search was stopped; zeros if only the last check was left.
  struct LeftOff {
    // The share done if all subtrees were alike: too large if the search was stopped in a larger one.
    double share = 0;
    // Its expected work if the candidates of each level were alike on average, the current one with its own
    // expected work: too large if the current one is larger than others, as is frequent, or if remembered
    // numbers make later ones cheaper; too small if other parts of a tail were not begun.
    double work = 0;
  };
  LeftOff left_off() const { return left_off_; }

  std::uint32_t value(int level) const { return value_[static_cast<std::size_t>(level)]; }

  // Partial embeddings up to each level but the last so far. A root whose row is cut into chunks counts with
  // the chunk that holds its start; a root without arcs to level 1 does not count.
  const std::array<std::uint64_t, view::kMaxLevels>& sizes() const { return sizes_; }

 private:
  friend class NestedTailCounter;

  // With fewer embeddings than this between two checks, a search fails more often than it finds.
  static constexpr std::uint64_t kFewFinds = 64;

  // With at least this many, a search has no need of jumps.
  static constexpr std::uint64_t kManyFinds = 1024;

  static constexpr std::uint32_t kAllLevels = ~std::uint32_t{0};

  using Vertex = std::uint32_t;
  using Span = sets::Span;
  enum class Jumping { kOff, kWanted, kOn };  // wanted: to be turned on at the current level
  using Levels = std::uint32_t;               // a bit mask
  struct Level {
    Span base;
    Span open;                      // candidates still to be tried
    const Vertex* start = nullptr;  // the first candidate
    bool given = false;             // whether some were given to other threads
    std::uint64_t valid_for = 0;    // stamp of the anchor level when `base` was computed
    std::vector<Vertex> buffer;
    sets::Marks marks;
  };

  bool search_arcs();
  bool search_root(Vertex root, ArcRange slice, bool starts_row);
  Span from_root();
  bool extend(int level);
  bool visit(int level, Span candidates);
  void open_all(int level, Span candidates) {
    Level& state = levels_[static_cast<std::size_t>(level)];
    state.start = candidates.first;
    state.open = candidates;
    state.given = false;
  }
  // The work done when the first candidate of a level was begun, and when the last one was.
  struct Pace {
    std::uint64_t begun = 0;
    std::uint64_t last = 0;
  };
  void begin_level(int level) {
    if (pace_) (*pace_)[static_cast<std::size_t>(level)] = {work(), work()};
  }
  void begin_candidate(int level) {
    if (pace_) (*pace_)[static_cast<std::size_t>(level)].last = work();
  }
  void stop_at(int level, std::size_t tried, std::size_t candidates);
  bool go_on(int level);
  bool jumps() const { return jumping_ == Jumping::kOn; }
  bool jump_on(int level);
  bool start_to_jump(int level);
  void choose_to_jump();
  bool project_root(Vertex root, ArcRange slice, bool starts_row);
  bool project_on(int level);
  bool project_last(int level);
  int last_shared_level() const;
  bool adapt_on(int level);
  void adapt();

  // For the search in adaptive order.
  bool counts() const override { return counting_; }
  void counted(Total embeddings) override { found(embeddings); }
  void complete(const Vertex* values) override {
    ++finds_;
    visitor_.rows(values, {values + last_level_, values + last_level_ + 1});
  }
  bool worked(std::size_t work) override { return spend(work); }

  Span all_different(int level, Span candidates) const;

  // Why the partial embedding searched last has no extension: as long as the vertices of these levels stay,
  // no change of other levels gives one. All levels if there is an embedding.
  void note_sources();
  Levels reads(int level) const {
    return set_of_[static_cast<std::size_t>(level)] | bounds_of_[static_cast<std::size_t>(level)];
  }
  Levels why_no_others(int level, Span candidates) const;
  Levels why_refused(int level, Vertex candidate) const;
  Levels why_none_last(int level, Span candidates) const;
  Levels why_uncounted(int level) const;
  Levels why_no_clique(int level) const;
  void found(Total embeddings) {
    failing_ = kAllLevels;
    finds_ += static_cast<std::uint64_t>(std::min<Total>(embeddings, kManyFinds));
    visitor_.count(embeddings);
  }
  void hand_out(Span last) {
    failing_ = kAllLevels;
    finds_ += last.size();
    visitor_.rows(value_.data(), last);
  }
  bool try_candidate(int level, Vertex candidate) {
    if (!accepts(level, candidate)) return true;
    begin_candidate(level);
    assign(level, candidate);
    return !enters(level) || extend(level + 1);
  }
  bool count_clique(int level, Span candidates);
  Span replay(const WorkItem& item);
  static void check_positions(const WorkItem& item, Span candidates);
  bool search_tail(const WorkItem& item);
  void share_work();
  bool visit_last(int level, Span candidates);
  // Where attributes are compared (walker_copies.cpp).
  Span compared_candidates(int level);
  bool visit_last_compared(int level, Span candidates);
  bool enters(int level, const Vertex* candidate = nullptr) {
    if (!ranges_) [[likely]]
      return true;
    return enters_compared(level, candidate);
  }
  bool enters_compared(int level, const Vertex* candidate);
  bool decide(int level, const Vertex* last);
  Total choices(int level);
  Span ends_of(const copies::Ranges::Window& window, std::uint32_t from, int level);
  bool visit_last_greatest(int level, Span candidates, Span whole);
  bool list_last(int level, Span candidates);
  void hand_out_but(std::uint32_t levels, int level, Span candidates);
  bool count_last(int level, Span candidates);
  std::uint64_t count_apart(int level, Span candidates);
  Span without_apart(int level, Span candidates);
  bool keeps_all(int level) const;
  template <class Use>
  bool in_strips(Span candidates, Use&& use);
  std::uint64_t count_fresh(int level);
  std::uint64_t count_level(int level);
  std::uint32_t matched_of(int level) const;
  bool is_fresh(int level) const;
  bool is_known(int level) const;
  Span clipped(int level);
  bool count_tail();
  bool count_nested_tail();
  std::optional<Total> count_component(const TailComponent& component);
  Total count_pairs(int a, int b);
  void fill_common(const TailComponent& component);
  Span vertices_of(int level, std::vector<Vertex>& buffer);
  std::uint64_t count_matched(std::uint32_t levels, Span a, Span b) const;

  Span base(int level);
  Span compute_base(int level);
  Span last_row(const view::StepShape& step, const rules::Bounds& allowed) const;
  const sets::Marks* marks(int level, Span changing);
  void gather(int level, const rules::Bounds& bounds);
  Span fold(std::size_t count, std::vector<Vertex>& buffer);
  Span row(std::uint32_t source) const;

  rules::Bounds bounds(int level, std::uint32_t after, std::uint32_t before) const {
    return compare_.bounds(level, after, before, value_.data());
  }
  bool is_first(std::uint32_t levels, std::size_t level) const {
    return compare_.is_first(levels, static_cast<std::uint32_t>(level), value_.data());
  }
  bool accepts(int level, Vertex value) const { return compare_.accepts(level, value, value_.data()); }
  void assign(int level, Vertex value) {
    value_[static_cast<std::size_t>(level)] = value;
    stamp_[static_cast<std::size_t>(level)] = ++clock_;
    ++sizes_[static_cast<std::size_t>(level)];
  }
  std::uint64_t taken(int level, std::uint32_t levels, Span a, Span b) const;
  bool spend(std::size_t work);
  void charge(Span a, Span b);

  const NativePlan& native_plan_;
  const Compare compare_;
  Visitor& visitor_;
  const bool counting_;
  const int last_level_;
  int kept_level_ = -1;
  const int tail_;    // first level counted in closed form
  int clique_level_;  // first of three levels that are counted in bits, or -1
  Jumping jumping_;
  std::uint64_t finds_ = 0;  // embeddings since the clock was last read; not all if they are many
  Levels failing_ = 0;
  std::array<Levels, view::kMaxLevels> set_of_{};     // by level: levels that its base depends on
  std::array<Levels, view::kMaxLevels> bounds_of_{};  // ... levels it is compared with by order
  Levels tail_reads_ = 0;                             // levels that the tail depends on
  std::array<Vertex, view::kMaxLevels> value_{};
  std::array<std::uint64_t, view::kMaxLevels> stamp_{};
  std::array<std::uint64_t, view::kMaxLevels> sizes_{};
  std::array<Level, view::kMaxLevels> levels_;
  std::vector<Span> spans_;      // the sets being intersected
  std::vector<Vertex> kept_;     // last level after filtering
  std::vector<Vertex> scratch_;  // last level intersections while counting
  // Of a component of the tail: the common vertices of each subset of its sets, and their number.
  std::array<std::vector<Vertex>, 1 << kMostTailSets> shared_;
  std::array<std::uint64_t, 1 << kMostTailSets> common_{};
  std::unique_ptr<NestedTailCounter> nested_tail_;  // for a tail that is nested or beyond 128 bits
  std::unique_ptr<Adaptive> adaptive_;              // once levels are matched in adaptive order
  std::unique_ptr<copies::Ranges> ranges_;          // where attributes are compared
  Projector* projector_ = nullptr;                  // where embeddings are projected
  bool decided_ = false;  // whether comparisons need not be looked at for the candidates of the last level
  CliqueTail clique_;
  ArcRange arcs_{};   // arcs left of the item after the current root
  ArcRange slice_{};  // arcs of the current root
  std::uint64_t arcs_done_ = 0;
  Pool* pool_ = nullptr;
  Walker* outermost_ = nullptr;
  std::uint64_t clock_ = 0;
  std::uint64_t spent_ = 0;
  std::unique_ptr<std::array<Pace, view::kMaxLevels>> pace_;  // set by keep_pace()
  LeftOff left_off_;              // of the outermost level unfinished when the search was stopped
  std::uint64_t left_begun_ = 0;  // when that level was begun
  std::int64_t budget_;
};

}  // namespace motiflux::search
