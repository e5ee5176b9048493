#include "search/count.hpp"

#include <mutex>

#include "common/parallel.hpp"
#include "search/bundle.hpp"
#include "search/walker.hpp"

namespace motiflux::search {
namespace {

class Counter final : public Visitor {
 public:
  Counter(Control& control, std::optional<std::uint64_t> limit) : control_(control), limit_(limit) {}

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
  Total total_ = 0;
  Total published_ = 0;
};

// Has search(range) go through the work of `control` while keep_going().
template <class KeepGoing, class Search>
void take_pieces(Control& control, KeepGoing&& keep_going, Search&& search) {
  try {
    while (auto range = control.take()) {
      if (!keep_going() || !search(*range)) break;
      control.finished(*range);
    }
  } catch (...) {
    control.stop(Stop::kCancelled);
    throw;
  }
}

}  // namespace

Total count(const Problem& problem, Control& control, int threads, std::optional<std::uint64_t> limit,
            std::vector<std::uint64_t>* sizes) {
  Total total = 0;
  if (sizes) sizes->assign(problem.plan.shape.levels - 1, 0);
  std::mutex total_mutex;
  on_threads(threads, [&](int) {
    Counter counter(control, limit);
    Walker walker(problem, counter, true);
    take_pieces(
        control, [&] { return counter.keep_going(); }, [&](ArcRange range) { return walker.search(range); });
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
  on_threads(threads, [&](int) {
    std::deque<Counter> counters;
    std::vector<Visitor*> visitors;
    for (Member& member : members) visitors.push_back(&counters.emplace_back(member.control, member.limit));
    Bundle bundle(problems, visitors);
    take_pieces(
        pass, [&] { return pass.keep_going(); }, [&](ArcRange range) { return bundle.search(range); });
    std::lock_guard lock(total_mutex);
    for (std::size_t at = 0; at < members.size(); ++at) {
      counters[at].publish();
      add_checked(members[at].total, counters[at].total());
    }
  });
}

}  // namespace motiflux::search
