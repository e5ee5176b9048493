// Projections of embeddings: the rows of images of some levels, each once, and thresholds on the number of
// different images of other levels in each row.
//
//   level   0 .. whole-1     .. rows_level ..         .. deciding_level ..        .. last
//           all returned     the last returned level  the last counted level      existential
//           (one group)      (a row is known)         (what is counted is known)  (one witness is enough)
//
// Different prefixes of `whole` levels have different rows, so rows are compared within one such group only,
// which one thread searches; if level 0 is not returned, all embeddings are one group. If all levels up to
// rows_level are returned, each row is met once, and only the row under way is remembered. Otherwise the rows
// of the group are kept in a set.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "search/compare.hpp"
#include "search/control.hpp"
#include "search/native_plan.hpp"
#include "search/tuple_set.hpp"
#include "search/visitor.hpp"

namespace motiflux::search {

// How many different images some levels must have together in the embeddings of a row.
struct Threshold {
  static constexpr std::uint64_t kNoMost = std::numeric_limits<std::uint64_t>::max();

  std::vector<int> levels;
  std::uint64_t least = 0;
  std::uint64_t most = kNoMost;
  std::optional<std::uint64_t> unequal;
  // Whether the search has each of these images once for a row: it need not remember them.
  bool once = false;

  bool holds(std::uint64_t number) const {
    return number >= least && number <= most && (!unequal || number != *unequal);
  }
  // Whether it holds, or does not, for each greater number too.
  bool holds_on(std::uint64_t number) const {
    return number >= least && most == kNoMost && (!unequal || number > *unequal);
  }
  bool fails_on(std::uint64_t number) const { return number > most; }
};

struct ProjectionPlan {
  // `returned` has a level for each column. Without `leaves`, all embeddings are searched: for ablations.
  ProjectionPlan(std::vector<int> returned, std::vector<Threshold> thresholds, bool leaves);

  // Number of threads, of these at most, that the groups can be divided among.
  int threads(int most) const { return whole == 0 && !returned.empty() ? 1 : most; }

  // Whether each row is met once.
  bool meets_rows_once() const { return whole == rows_level + 1; }

  std::vector<int> returned;
  std::vector<int> later;  // the returned levels from `whole` on
  std::vector<Threshold> thresholds;
  bool leaves;
  int whole = 0;
  int rows_level = -1;  // if no level is returned, there is one row at most
  int deciding_level = -1;
  bool decides_late = false;  // whether some rows are known to hold or not at the end of their group only
};

// Takes rows of data vertices.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void row(const std::uint32_t* vertices) = 0;
  // Called every few thousand steps; false to stop.
  virtual bool keep_going() = 0;
};

// Projects the embeddings that one walker finds.
class Projector final : public Visitor {
 public:
  // `bound` is above the values of all levels.
  Projector(const NativePlan& native_plan, const ProjectionPlan& plan, RowSink& sink);

  // `values` are those of the walker, by level.
  void watch(const std::uint32_t* values) { values_ = values; }

  // Whether the search is to continue from a vertex assigned to `level`: not if nothing new can be found.
  bool enters(int level) {
    if (level < plan_.rows_level || level > plan_.deciding_level) return true;
    if (level == plan_.rows_level && !meets_row()) return !plan_.leaves;
    return level < plan_.deciding_level || !plan_.leaves || has_news();
  }
  // Whether one vertex of `level` is enough.
  bool needs_one(int level) const { return plan_.leaves && level > plan_.deciding_level; }
  // After a witness, the level whose next candidate is tried; it is above all levels if there was none.
  int next_level() const { return next_level_; }
  void stay() { next_level_ = kStay; }
  // Whether the candidates left of a level are too few for a threshold.
  bool hopeless(int level, std::size_t left) const;
  // The level whose vertices end a group.
  int group_level() const { return plan_.whole - 1; }
  void end_group();
  // Ends the group of all embeddings, if level 0 is not returned. Called at the end of a search.
  void end_search() {
    if (plan_.whole == 0 && !plan_.returned.empty()) end_group();
  }
  // The last level of which candidates may be given to other threads: they are of different groups.
  int last_shared_level() const { return plan_.returned.empty() ? kStay : group_level(); }
  // Whether no other row can be found.
  bool is_done() const { return done_; }

  void rows(const std::uint32_t* prefix, sets::Span last) override;
  void count(Total) override {}
  void count_wide(const Wide&) override {}
  bool keep_going() override { return !done_ && sink_.keep_going(); }

 private:
  static constexpr int kStay = view::kMaxLevels;
  enum State : std::uint64_t { kOpen, kDecided };

  std::uint32_t value(int level) const { return level == last_level_ ? last_value_ : values_[level]; }
  bool meets_row();
  bool has_news() const;
  void witness();
  void tell(const std::uint32_t* later);
  const std::uint32_t* key_of(const Threshold& threshold) const;
  // Of a row: its state, then the number of images by threshold.
  std::uint64_t* record(std::size_t row) { return records_.data() + row * record_size_; }
  const std::uint64_t* record(std::size_t row) const { return records_.data() + row * record_size_; }

  const ProjectionPlan& plan_;
  const Compare compare_;
  RowSink& sink_;
  const int last_level_;
  const std::uint32_t* values_ = nullptr;  // by level
  std::uint32_t last_value_ = 0;
  int next_level_ = kStay;
  bool done_ = false;
  bool witnessed_ = false;  // where rows are met once: whether this one has a witness
  std::uint32_t row_ = TupleSet::kNone;
  TupleSet known_;  // rows of the group, by their later levels
  const std::size_t record_size_;
  std::vector<std::uint64_t> records_;
  std::vector<TupleSet> seen_;  // by threshold: a row's number, if several are kept, and images
  mutable std::array<std::uint32_t, view::kMaxLevels + 1> key_{};
  std::vector<std::uint32_t> told_;
};

// Counts rows; stops once there are more than `limit`.
std::uint64_t count_rows(const NativePlan& native_plan, const ProjectionPlan& plan, Control& control,
                         int threads, std::optional<std::uint64_t> limit);

}  // namespace motiflux::search
