#include "search/count.hpp"

#include <mutex>

#include "common/parallel.hpp"
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

}  // namespace

Total count(const Problem& problem, Control& control, int threads, std::optional<std::uint64_t> limit,
            std::vector<std::uint64_t>* sizes) {
  Total total = 0;
  if (sizes) sizes->assign(problem.plan.shape.levels - 1, 0);
  std::mutex total_mutex;
  on_threads(threads, [&](int) {
    Counter counter(control, limit);
    Walker walker(problem, counter, true);
    try {
      while (auto range = control.take()) {
        if (!counter.keep_going() || !walker.search(*range)) break;
        control.finished(*range);
      }
    } catch (...) {
      control.stop(Stop::kCancelled);
      throw;
    }
    counter.publish();
    std::lock_guard lock(total_mutex);
    add_checked(total, counter.total());
    for (std::size_t level = 0; sizes && level < sizes->size(); ++level)
      (*sizes)[level] += walker.sizes()[level];
  });
  return total;
}

}  // namespace motiflux::search
