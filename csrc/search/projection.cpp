#include "search/projection.hpp"

#include <algorithm>
#include <mutex>

#include "common/parallel.hpp"
#include "search/pool.hpp"
#include "search/walker.hpp"

namespace motiflux::search {

ProjectionPlan::ProjectionPlan(std::vector<int> returned_levels, std::vector<Threshold> given,
                               bool leaves_subtrees)
    : returned(std::move(returned_levels)), thresholds(std::move(given)), leaves(leaves_subtrees) {
  std::uint32_t rows = 0;
  for (const int level : returned) {
    rows |= std::uint32_t{1} << level;
    rows_level = std::max(rows_level, level);
  }
  while (((rows >> whole) & 1) != 0 && whole < view::kMaxLevels - 1) ++whole;
  for (const int level : returned)
    if (level >= whole) later.push_back(level);
  deciding_level = rows_level;
  for (const Threshold& one : thresholds)
    for (const int level : one.levels) deciding_level = std::max(deciding_level, level);
  for (Threshold& one : thresholds) {
    std::uint32_t named = rows;
    for (const int level : one.levels) named |= std::uint32_t{1} << level;
    // All embeddings have the same images more than once.
    one.once = leaves && named == (std::uint32_t{2} << deciding_level) - 1;
    decides_late |= one.most != Threshold::kNoMost || one.unequal;
  }
}

Projector::Projector(const NativePlan& native_plan, const ProjectionPlan& plan, RowSink& sink)
    : plan_(plan),
      compare_(native_plan),
      sink_(sink),
      last_level_(static_cast<int>(native_plan.plan.shape.levels) - 1),
      known_(plan.meets_rows_once() ? 0 : plan.later.size(), native_plan.vertices),
      record_size_(1 + plan.thresholds.size()),
      records_(record_size_, 0),
      told_(plan.returned.size()) {
  for (const Threshold& one : plan.thresholds)
    seen_.emplace_back(one.once ? 0 : one.levels.size() + (plan.meets_rows_once() ? 0 : 1),
                       native_plan.vertices);
}

bool Projector::hopeless(int level, std::size_t left) const {
  if (level != plan_.deciding_level || !plan_.leaves || !plan_.meets_rows_once()) return false;
  for (std::size_t at = 0; at < plan_.thresholds.size(); ++at) {
    const Threshold& one = plan_.thresholds[at];
    if (one.once && one.levels.size() == 1 && record(0)[1 + at] + left < one.least) return true;
  }
  return false;
}

// Whether the row of the values of the walker is still open; it becomes the row under way.
bool Projector::meets_row() {
  if (plan_.meets_rows_once()) {
    row_ = 0;
    witnessed_ = false;
    std::fill(records_.begin(), records_.end(), 0);
    for (TupleSet& one : seen_) one.clear();
    return true;
  }
  for (std::size_t at = 0; at < plan_.later.size(); ++at) key_[at] = value(plan_.later[at]);
  row_ = known_.find(key_.data());
  return row_ == TupleSet::kNone || *record(row_) == kOpen;
}

// The images that a threshold counts, after the number of the row if several are kept.
const std::uint32_t* Projector::key_of(const Threshold& threshold) const {
  std::size_t at = 0;
  if (!plan_.meets_rows_once()) key_[at++] = row_;
  for (const int level : threshold.levels) key_[at++] = value(level);
  return key_.data();
}

// Whether a witness would tell something new of the row under way.
bool Projector::has_news() const {
  const bool first = plan_.meets_rows_once() ? !witnessed_ : row_ == TupleSet::kNone;
  if (first || plan_.thresholds.empty()) return true;
  const std::uint64_t* numbers = record(row_) + 1;
  for (std::size_t at = 0; at < plan_.thresholds.size(); ++at) {
    const Threshold& one = plan_.thresholds[at];
    if (one.holds_on(numbers[at])) continue;
    if (one.once || seen_[at].find(key_of(one)) == TupleSet::kNone) return true;
  }
  return false;
}

// Takes note of an embedding of the row under way.
void Projector::witness() {
  if (row_ != TupleSet::kNone && *record(row_) != kOpen) return;  // without `leaves`
  if (row_ == TupleSet::kNone) {
    for (std::size_t at = 0; at < plan_.later.size(); ++at) key_[at] = value(plan_.later[at]);
    row_ = known_.insert(key_.data());
    const std::size_t end = (row_ + std::size_t{1}) * record_size_;
    if (records_.size() < end) records_.resize(std::max(end, records_.size() * 2));
    std::fill_n(record(row_), record_size_, 0);
  }
  witnessed_ = true;
  bool holds = true, fails = false;
  for (std::size_t at = 0; at < plan_.thresholds.size(); ++at) {
    const Threshold& one = plan_.thresholds[at];
    std::uint64_t& number = record(row_)[1 + at];
    if (one.holds_on(number)) continue;
    if (one.once) {
      ++number;
    } else {
      const std::size_t before = seen_[at].size();
      seen_[at].insert(key_of(one));
      number += seen_[at].size() - before;
    }
    holds &= one.holds_on(number);
    fails |= one.fails_on(number);
  }
  if (plan_.leaves) next_level_ = plan_.deciding_level;
  if (!fails && !holds) return;
  *record(row_) = kDecided;
  if (plan_.leaves) next_level_ = plan_.rows_level;
  if (!fails) tell(nullptr);
  done_ = plan_.returned.empty();
}

// Hands out a row: the one under way, or one with these values of later levels.
void Projector::tell(const std::uint32_t* later) {
  std::size_t next = 0;
  for (std::size_t at = 0; at < plan_.returned.size(); ++at) {
    const int level = plan_.returned[at];
    const std::uint32_t one = level >= plan_.whole && later ? later[next++] : value(level);
    told_[at] = compare_.vertex(static_cast<std::size_t>(level), one);
  }
  sink_.row(told_.data());
}

// Judges the rows of a group that are still open when all of its embeddings are found.
void Projector::end_group() {
  if (plan_.meets_rows_once()) {
    if (plan_.decides_late && witnessed_ && *record(0) == kOpen) {
      bool holds = true;
      for (std::size_t at = 0; at < plan_.thresholds.size(); ++at)
        holds &= plan_.thresholds[at].holds(record(0)[1 + at]);
      if (holds) tell(nullptr);
    }
    witnessed_ = false;
    return;
  }
  for (std::size_t row = 0; plan_.decides_late && row < known_.size(); ++row) {
    if (*record(row) != kOpen) continue;
    const std::uint64_t* numbers = record(row) + 1;
    bool holds = true;
    for (std::size_t at = 0; at < plan_.thresholds.size(); ++at)
      holds &= plan_.thresholds[at].holds(numbers[at]);
    if (holds) tell(known_.tuple(row));
  }
  known_.clear();
  for (TupleSet& one : seen_) one.clear();
  row_ = TupleSet::kNone;
}

void Projector::rows(const std::uint32_t*, sets::Span last) {
  if (next_level_ < last_level_ || done_) return;
  if (plan_.deciding_level < last_level_) {
    last_value_ = *last.first;
    return witness();
  }
  for (const std::uint32_t value : last) {
    last_value_ = value;
    if (plan_.rows_level == last_level_ && !meets_row()) continue;
    if (!has_news()) continue;
    witness();
    if (next_level_ < last_level_) return;
  }
}

namespace {

class RowCounter final : public RowSink {
 public:
  RowCounter(Control& control, std::optional<std::uint64_t> limit) : control_(control), limit_(limit) {}

  void row(const std::uint32_t*) override {
    if (++found_ > limit_.value_or(UINT64_MAX)) control_.stop(Stop::kLimit);
  }

  bool keep_going() override {
    publish();
    return control_.keep_going();
  }

  void publish() {
    const std::uint64_t fresh = found_ - published_;
    published_ = found_;
    const std::uint64_t all = control_.found.fetch_add(fresh, std::memory_order_relaxed) + fresh;
    if (limit_ && all > *limit_) control_.stop(Stop::kLimit);
  }

  std::uint64_t found() const { return found_; }

 private:
  Control& control_;
  const std::optional<std::uint64_t> limit_;
  std::uint64_t found_ = 0;
  std::uint64_t published_ = 0;
};

}  // namespace

std::uint64_t count_rows(const NativePlan& native_plan, const ProjectionPlan& plan, Control& control,
                         int threads, std::optional<std::uint64_t> limit) {
  std::mutex mutex;
  std::uint64_t total = 0;
  Pool pool(control);
  threads = plan.threads(threads);
  on_threads(threads, [&](int) {
    RowCounter counter(control, limit);
    Projector projector(native_plan, plan, counter);
    Walker walker(native_plan, projector, false);
    walker.project(projector);
    if (threads > 1) walker.share(pool);
    try {
      Pool::Worker worker(pool);
      for (;;) {
        auto item = worker.take();
        if (!item) item = worker.wait();
        if (!item || !projector.keep_going() || !walker.search(*item)) break;
        control.finished(walker.arcs_done());
      }
      if (projector.is_done()) control.stop(Stop::kLimit);
      if (control.reason() == Stop::kNone) projector.end_search();
    } catch (...) {
      control.stop(Stop::kCancelled);
      throw;
    }
    counter.publish();
    const std::scoped_lock lock(mutex);
    total += counter.found();
  });
  return total;
}

}  // namespace motiflux::search
