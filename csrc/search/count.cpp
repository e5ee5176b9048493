#include "search/count.hpp"

#include <mutex>

#include "common/team.hpp"
#include "search/bundle.hpp"
#include "search/pool.hpp"
#include "search/walker.hpp"

namespace motiflux::search {
namespace {

class Counter final : public Visitor {
 public:
  // `reinforcement` is null but for the first thread.
  Counter(Control& control, std::optional<std::uint64_t> limit, Reinforcement* reinforcement)
      : control_(control), limit_(limit), reinforcement_(reinforcement) {}

  void rows(const std::uint32_t*, sets::Span) override {}

  void count(Total embeddings) override {
    add_checked(total_, embeddings);
    if (limit_ && total_ > *limit_) control_.stop(Stop::kLimit);
  }

  void beyond() override {
    if (!limit_) Visitor::beyond();
    count(Total{1} << 64);  // beyond any limit; the number itself does not matter then
  }

  bool keep_going() override {
    if (reinforcement_) reinforcement_->look();
    publish();
    return control_.keep_going();
  }

  // Adds what is new to the shared number, which stays at its largest value rather than wrap.
  void publish() {
    const Total fresh = total_ - published_;
    published_ = total_;
    std::uint64_t seen = control_.found.load(std::memory_order_relaxed);
    std::uint64_t next;
    do {
      next = fresh > UINT64_MAX - seen ? UINT64_MAX : seen + static_cast<std::uint64_t>(fresh);
    } while (!control_.found.compare_exchange_weak(seen, next, std::memory_order_relaxed));
    if (limit_ && next > *limit_) control_.stop(Stop::kLimit);
  }

  Total total() const { return total_; }

 private:
  Control& control_;
  std::optional<std::uint64_t> limit_;
  Reinforcement* reinforcement_;
  Total total_ = 0;
  Total published_ = 0;
};

// Has `searcher` go through the work of `pool` while keep_going().
template <class KeepGoing, class Searcher>
void take_parts(Pool& pool, Control& control, KeepGoing&& keep_going, Searcher& searcher) {
  if (control.threads() > 1) searcher.share(pool);
  try {
    Pool::Seat seat(pool);
    for (;;) {
      auto part = seat.take();
      if (!part) part = seat.wait();
      if (!part || !keep_going() || !searcher.search(*part)) break;
      control.finished(searcher.arcs_done());
    }
  } catch (...) {
    control.stop(Stop::kCancelled);
    throw;
  }
}

// Runs body(reinforcement) on up to `threads` threads; it is null but for the first.
template <class Body>
void on_team(int threads, Body&& body) {
  std::optional<Reinforcement> reinforcement;
  Team team(threads, [&](int index) { body(index == 0 ? &*reinforcement : nullptr); });
  reinforcement.emplace(team);
  team.run();
}

}  // namespace

Total count(const Problem& problem, Control& control, int threads, std::optional<std::uint64_t> limit,
            std::vector<std::uint64_t>* sizes) {
  Total total = 0;
  if (sizes) sizes->assign(problem.plan.shape.levels - 1, 0);
  std::mutex total_mutex;
  Pool pool(control);
  on_team(threads, [&](Reinforcement* reinforcement) {
    Counter counter(control, limit, reinforcement);
    Walker walker(problem, counter, true);
    take_parts(pool, control, [&] { return counter.keep_going(); }, walker);
    counter.publish();
    std::lock_guard lock(total_mutex);
    add_checked(total, counter.total());
    for (std::size_t level = 0; sizes && level < sizes->size(); ++level)
      (*sizes)[level] += walker.sizes()[level];
  });
  return total;
}

void count_together(std::deque<Member>& members, Control& pass, int threads) {
  std::vector<const Problem*> problems;
  for (const Member& member : members) problems.push_back(&member.problem);
  std::mutex total_mutex;
  Pool pool(pass);
  on_team(threads, [&](Reinforcement* reinforcement) {
    std::deque<Counter> counters;
    std::vector<Visitor*> visitors;
    for (Member& member : members)
      visitors.push_back(&counters.emplace_back(member.control, member.limit, reinforcement));
    Bundle bundle(problems, visitors);
    take_parts(pool, pass, [&] { return pass.keep_going(); }, bundle);
    std::lock_guard lock(total_mutex);
    for (std::size_t at = 0; at < members.size(); ++at) {
      counters[at].publish();
      add_checked(members[at].total, counters[at].total());
    }
  });
}

}  // namespace motiflux::search
