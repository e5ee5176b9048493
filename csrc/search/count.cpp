#include "search/count.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "common/parallel.hpp"
#include "common/team.hpp"
#include "search/bundle.hpp"
#include "search/copy_walker.hpp"
#include "search/pair_walker.hpp"
#include "search/pool.hpp"
#include "search/walker.hpp"
#include "search/wedge_walker.hpp"

namespace motiflux::search {
namespace {

class Counter : public Visitor {
 public:
  // `delayed_start` is null for all threads but the first.
  Counter(Control& control, std::optional<std::uint64_t> limit, DelayedStart* delayed_start)
      : control_(control), limit_(limit), delayed_start_(delayed_start) {}

  void rows(const std::uint32_t*, sets::Span) override {}

  void count(Total embeddings) override {
    if (__builtin_add_overflow(total_, embeddings, &total_)) {  // modulo 2^128
      above_total_ += Wide(~Total{0});
      above_total_ += Wide(1);
      if (limit_) control_.stop(Stop::kLimit);
    }
    if (limit_ && total_ > *limit_) control_.stop(Stop::kLimit);
  }

  void count_wide(const Wide& embeddings) override {
    above_total_ += embeddings;
    if (limit_) control_.stop(Stop::kLimit);
  }

  bool is_limited() const override { return limit_.has_value(); }

  bool keep_going() override {
    if (delayed_start_) delayed_start_->check();
    publish();
    return control_.keep_going();
  }

  // Adds the new embeddings to the shared number, which saturates.
  void publish() {
    const Total fresh = above_total_.length() > 0 ? ~Total{0} : total_ - published_;
    published_ = total_;
    std::uint64_t seen = control_.found.load(std::memory_order_relaxed);
    std::uint64_t next;
    do {
      next = fresh > UINT64_MAX - seen ? UINT64_MAX : seen + static_cast<std::uint64_t>(fresh);
    } while (!control_.found.compare_exchange_weak(seen, next, std::memory_order_relaxed));
    if (limit_ && next > *limit_) control_.stop(Stop::kLimit);
  }

  Wide total() const {
    Wide sum = above_total_;
    sum += Wide(total_);
    return sum;
  }

 private:
  Control& control_;
  std::optional<std::uint64_t> limit_;
  DelayedStart* delayed_start_;
  Total total_ = 0;
  Total published_ = 0;
  Wide above_total_;  // the part beyond total_
};

// Counts for a bounded time.
class BriefCounter final : public Counter {
 public:
  BriefCounter(Control& control, std::optional<std::uint64_t> limit) : Counter(control, limit, nullptr) {}

  bool keep_going() override {
    timed_out_ = timed_out_ || Clock::now() - start_ > kBrief;
    return !timed_out_ && Counter::keep_going();
  }
  bool timed_out() const { return timed_out_; }

 private:
  static constexpr std::chrono::microseconds kBrief{100};

  const Clock::time_point start_ = Clock::now();
  bool timed_out_ = false;
};

// A chunk with a smaller share done was hardly begun.
constexpr double kLeastShare = 1e-9;

// The expected work of a chunk that was stopped after `done` work: the geometric mean of an estimate by
// share, too small where subtrees differ, and of left_off.work, mostly too large; left_off.work alone if the
// chunk was hardly begun. By the first alone, yeast sparse_32_183 is counted by a plan that takes 374 s of
// CPU time instead of 8 (an Intel Xeon). It costs dense_16_158, which is counted by a plan of 19 s instead of
// 7.6.
double expected_work(const Walker::LeftOff& left_off, double done) {
  const double much = std::max(done, left_off.work);
  return left_off.share < kLeastShare ? much : std::max(done, std::sqrt(done / left_off.share * much));
}

// Lets a walker do at most `most` work.
template <class Searcher>
class Prober final : public Visitor {
 public:
  explicit Prober(std::uint64_t most) : most_(most) {}

  void watch(const Searcher& walker) { walker_ = &walker; }

  void rows(const std::uint32_t*, sets::Span) override {}
  void count(Total embeddings) override { found_ += static_cast<double>(embeddings); }
  void count_wide(const Wide&) override {}
  bool keep_going() override { return walker_->work() < most_; }
  double found() const { return found_; }

 private:
  double found_ = 0;
  const std::uint64_t most_;
  const Searcher* walker_ = nullptr;
};

// Lets `searcher` search the items of `pool` while keep_going().
template <class KeepGoing, class Searcher>
void run_work_items(Pool& pool, Control& control, KeepGoing&& keep_going, Searcher& searcher) {
  if (control.threads() > 1 || pool.is_portion()) searcher.share(pool);
  try {
    Pool::Worker worker(pool);
    for (;;) {
      auto item = worker.take();
      if (!item) item = worker.wait();
      if (!item || !keep_going() || !searcher.search(*item)) break;
      control.finished(searcher.arcs_done());
    }
  } catch (...) {
    control.stop(Stop::kCancelled);
    throw;
  }
}

// Runs body(delayed_start) on up to `threads` threads; delayed_start is null for all but the first.
template <class Body>
void on_team(int threads, Body&& body) {
  std::optional<DelayedStart> delayed_start;
  Team team(threads, [&](int index) { body(index == 0 ? &*delayed_start : nullptr); });
  delayed_start.emplace(team);
  team.run();
}

}  // namespace

Wide count(const NativePlan& native_plan, Control& control, int threads, std::optional<std::uint64_t> limit,
           std::vector<std::uint64_t>* sizes, Pool* portion) {
  Wide total;
  if (sizes) sizes->assign(native_plan.copy_walk ? 0 : native_plan.plan.shape.levels - 1, 0);
  std::mutex total_mutex;
  Pool whole(control);
  Pool& pool = portion ? *portion : whole;
  on_team(threads, [&](DelayedStart* delayed_start) {
    Counter counter(control, limit, delayed_start);
    const auto keep_going = [&] { return counter.keep_going(); };
    if (native_plan.copy_walk) {
      const auto search_by = [&](auto&& walker) { run_work_items(pool, control, keep_going, walker); };
      if (native_plan.copy_walk->by_wedges)
        search_by(WedgeWalker(native_plan, counter, true));
      else if (native_plan.copy_walk->by_pairs())
        search_by(PairWalker(native_plan, counter, true));
      else
        search_by(CopyWalker(native_plan, counter, true));
      counter.publish();
      std::lock_guard lock(total_mutex);
      total += counter.total();
      return;
    }
    Walker walker(native_plan, counter, true);
    run_work_items(pool, control, keep_going, walker);
    counter.publish();
    std::lock_guard lock(total_mutex);
    total += counter.total();
    for (std::size_t level = 0; sizes && level < sizes->size(); ++level)
      (*sizes)[level] += walker.sizes()[level];
  });
  return total;
}

std::optional<Wide> count_briefly(const NativePlan& native_plan, Control& control,
                                  std::optional<std::uint64_t> limit, std::vector<std::uint64_t>& sizes) {
  if (native_plan.copy_walk) return std::nullopt;
  BriefCounter counter(control, limit);
  Walker walker(native_plan, counter, true);
  walker.search({.level = 0, .from = 0, .to = native_plan.root_arcs(), .arcs = native_plan.root_arcs()});
  counter.publish();
  if (counter.timed_out()) return std::nullopt;
  sizes.assign(walker.sizes().begin(), walker.sizes().begin() + native_plan.plan.shape.levels - 1);
  return counter.total();
}

namespace {

// A stride that visits chunks in a scattered order, so that the visited ones represent all.
std::uint64_t scattered(std::uint64_t chunks, std::uint64_t seed) {
  std::uint64_t stride = chunks / 2 + 1 + seed % 7;
  while (std::gcd(stride, chunks) != 1) ++stride;
  return stride;
}

// The work of a searcher less what it would do once for several items.
template <class Searcher>
std::uint64_t work_of_items(const Searcher& searcher) {
  if constexpr (requires { searcher.work_beside(); })
    return searcher.work() - searcher.work_beside();
  else
    return searcher.work();
}

// A search of some root copies, or pairs, of limited work.
template <class Searcher>
double probe_copies(const NativePlan& native_plan, std::uint64_t copies, std::uint64_t most,
                    std::uint64_t seed) {
  const std::uint64_t all = native_plan.units();
  const std::uint64_t chunks = std::min(copies, all);
  Prober<Searcher> prober(most);
  Searcher walker(native_plan, prober, true);
  prober.watch(walker);
  const std::uint64_t stride = scattered(chunks, seed);
  double expected = 0;
  std::uint64_t seen = 0;
  for (std::uint64_t at = 0; at < chunks && walker.work() < most; ++at, ++seen) {
    const std::uint64_t place =
        at * stride % chunks * all / chunks + seed % std::max<std::uint64_t>(all / chunks, 1);
    const std::uint64_t before = work_of_items(walker);
    const bool finished = walker.search({.level = 0, .from = place, .to = place + 1, .arcs = 1});
    // One that does not end is as long again, at least.
    expected += static_cast<double>(work_of_items(walker) - before) * (finished ? 1 : 2);
    if (!finished) {
      ++seen;
      break;
    }
  }
  return expected * static_cast<double>(all) / static_cast<double>(seen);
}

}  // namespace

double probe(const NativePlan& native_plan, std::uint32_t arcs, std::uint64_t most, std::uint64_t seed,
             std::vector<double>* sizes) {
  const std::uint64_t all = native_plan.units();
  if (all == 0 || arcs == 0) return 0;
  if (native_plan.copy_walk && native_plan.copy_walk->by_wedges)
    return probe_copies<WedgeWalker>(native_plan, arcs, most, seed);
  if (native_plan.copy_walk)
    return native_plan.copy_walk->by_pairs() ? probe_copies<PairWalker>(native_plan, arcs, most, seed)
                                             : probe_copies<CopyWalker>(native_plan, arcs, most, seed);
  const auto chunks = static_cast<std::uint64_t>(std::min<std::uint64_t>(arcs, all));
  Prober<Walker> prober(most);
  Walker walker(native_plan, prober, true);
  prober.watch(walker);
  walker.keep_pace();
  const std::uint64_t stride = scattered(chunks, seed);
  double expected = 0;
  std::uint64_t seen = 0;
  for (std::uint64_t at = 0; at < chunks; ++at) {
    const std::uint64_t chunk = at * stride % chunks;
    const std::uint64_t arc = chunk * all / chunks + seed % std::max<std::uint64_t>(all / chunks, 1);
    const std::uint64_t before = walker.work();
    const bool finished = walker.search({.level = 0, .from = arc, .to = arc + 1, .arcs = 1});
    const auto done = static_cast<double>(walker.work() - before);
    expected += finished ? done : expected_work(walker.left_off(), done);
    ++seen;
    if (walker.work() >= most) break;
  }
  const double scale = static_cast<double>(all) / static_cast<double>(seen);
  if (sizes) {
    for (std::size_t level = 0; level + 1 < native_plan.plan.shape.levels; ++level)
      sizes->push_back(static_cast<double>(walker.sizes()[level]) * scale);
    sizes->push_back(prober.found() * scale);
  }
  return expected * scale;
}

namespace {

class ArcCounter final : public Visitor {
 public:
  ArcCounter(Control& control, std::span<std::uint64_t> counts) : control_(control), counts_(counts) {}

  void at(std::uint64_t arc) { arc_ = arc; }
  void rows(const std::uint32_t*, sets::Span) override {}
  void count(Total embeddings) override {
    Total total = counts_[arc_];
    add_checked(total, embeddings);
    if (total > UINT64_MAX) throw std::overflow_error("a local count exceeds 2^64 - 1");
    counts_[arc_] = static_cast<std::uint64_t>(total);
  }
  void count_wide(const Wide&) override { throw std::overflow_error("a local count exceeds 2^64 - 1"); }
  bool keep_going() override { return control_.keep_going(); }

 private:
  Control& control_;
  std::span<std::uint64_t> counts_;
  std::uint64_t arc_ = 0;
};

}  // namespace

void count_arcs(const NativePlan& native_plan, Control& control, int threads,
                std::span<std::uint64_t> counts) {
  on_threads(threads, [&](int) {
    ArcCounter counter(control, counts);
    Walker walker(native_plan, counter, true);
    try {
      while (auto range = control.take()) {
        if (!control.keep_going()) break;
        if (!walker.search_arcs(*range, [&](std::uint64_t arc) { counter.at(arc); })) break;
        control.finished(range->last - range->first);
      }
    } catch (...) {
      control.stop(Stop::kCancelled);
      throw;
    }
  });
}

void count_together(std::deque<Member>& members, Control& pass, int threads) {
  std::vector<const NativePlan*> native_plans;
  for (const Member& member : members) native_plans.push_back(&member.native_plan);
  std::mutex total_mutex;
  Pool pool(pass);
  on_team(threads, [&](DelayedStart* delayed_start) {
    std::deque<Counter> counters;
    std::vector<Visitor*> visitors;
    for (Member& member : members)
      visitors.push_back(&counters.emplace_back(member.control, member.limit, delayed_start));
    Bundle bundle(native_plans, visitors);
    run_work_items(pool, pass, [&] { return pass.keep_going(); }, bundle);
    std::lock_guard lock(total_mutex);
    for (std::size_t at = 0; at < members.size(); ++at) {
      counters[at].publish();
      members[at].total += counters[at].total();
    }
  });
}

}  // namespace motiflux::search
