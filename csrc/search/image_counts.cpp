#include "search/image_counts.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "common/parallel.hpp"
#include "search/clique_tail.hpp"
#include "search/compare.hpp"
#include "search/pool.hpp"
#include "search/walker.hpp"

namespace motiflux::search {
namespace {

// Bytes of numbers that threads may have for themselves; beyond, all add to the same numbers.
constexpr std::size_t kOwnBytes = std::size_t{512} << 20;

class ImageVisitor final : public Visitor {
 public:
  ImageVisitor(const NativePlan& native_plan, Control& control, const CountedLevels& counted,
               ImageCounts& counts)
      : control_(control),
        compare_(native_plan),
        last_level_(static_cast<int>(native_plan.plan.shape.levels) - 1),
        counted_(counted),
        counts_(counts) {}

  void watch(const Walker& walker) { walker_ = &walker; }

  void rows(const std::uint32_t* prefix, sets::Span last) override {
    found_ += last.size();
    for (const CountedLevel& one : counted_.levels) {
      if (one.target >= 0) {
        arcs_of_rows(one, prefix, last);
      } else if (one.level == last_level_) {
        for (const std::uint32_t value : last)
          counts_.add(one.first + vertex(one.level, value), std::uint64_t{1});
      } else {
        counts_.add(one.first + vertex(one.level, prefix[one.level]), std::uint64_t{last.size()});
      }
    }
  }

  void count(Total embeddings) override {
    found_ += static_cast<std::uint64_t>(std::min<Total>(embeddings, UINT64_MAX - found_));
    for (const CountedLevel& one : counted_.levels) counts_.add(place(one), embeddings);
  }

  void count_wide(const Wide& embeddings) override {
    for (const CountedLevel& one : counted_.levels) counts_.add(place(one), embeddings);
  }

  bool keep_going() override {
    control_.found.fetch_add(found_, std::memory_order_relaxed);
    found_ = 0;
    return control_.keep_going();
  }

 private:
  std::uint32_t vertex(int level, std::uint32_t value) const {
    return compare_.vertex(static_cast<std::size_t>(level), value);
  }

  std::size_t place(const CountedLevel& one) {
    const std::uint32_t source = vertex(one.level, walker_->value(one.level));
    return one.target < 0 ? one.first + source
                          : arc(one, source, vertex(one.target, walker_->value(one.target)));
  }

  std::size_t arc(const CountedLevel& one, std::uint32_t source, std::uint32_t target) {
    // Counts of one arc come one after another.
    if (&one == arc_of_ && source == source_ && target == target_) return arc_;
    const std::uint32_t* const end = one.arcs.end(source);
    const std::uint32_t* const found = std::lower_bound(one.arcs.begin(source), end, target);
    if (found == end || *found != target) throw std::logic_error("an embedding has no arc");
    arc_of_ = &one, source_ = source, target_ = target;
    return arc_ = one.first + static_cast<std::size_t>(found - one.arcs.neighbors);
  }

  void arcs_of_rows(const CountedLevel& one, const std::uint32_t* prefix, sets::Span last) {
    if (one.level == last_level_) {
      const std::uint32_t target = vertex(one.target, prefix[one.target]);
      for (const std::uint32_t value : last)
        counts_.add(arc(one, vertex(one.level, value), target), std::uint64_t{1});
      return;
    }
    const std::uint32_t source = vertex(one.level, prefix[one.level]);
    if (one.target != last_level_) {
      counts_.add(arc(one, source, vertex(one.target, prefix[one.target])), std::uint64_t{last.size()});
      return;
    }
    for (const std::uint32_t value : last)
      counts_.add(arc(one, source, vertex(one.target, value)), std::uint64_t{1});
  }

  Control& control_;
  const Compare compare_;
  const int last_level_;
  const CountedLevels& counted_;
  ImageCounts& counts_;
  const Walker* walker_ = nullptr;
  std::uint64_t found_ = 0;  // since the last check
  const CountedLevel* arc_of_ = nullptr;
  std::uint32_t source_ = UINT32_MAX, target_ = UINT32_MAX;
  std::size_t arc_ = 0;  // the number of the arc from source_ to target_ in rows of arc_of_
};

}  // namespace

ImageCounts ImageCounts::of_search(std::size_t size, int threads) {
  return {size, threads > 1 && size * sizeof(std::uint64_t) > kOwnBytes / static_cast<std::size_t>(threads)};
}

void ImageCounts::add(std::size_t at, std::uint64_t more) {
  std::uint64_t& word = words_[at];
  const std::uint64_t before =
      shared_ ? std::atomic_ref(word).fetch_add(more, std::memory_order_relaxed) : word;
  if (!shared_) word += more;
  if (before + more >= before) return;
  const std::scoped_lock lock(mutex_);
  above_[at] += Wide(Total{1} << 64);
}

void ImageCounts::add(std::size_t at, Total more) {
  add(at, static_cast<std::uint64_t>(more));
  if (const Total high = more >> 64 << 64; high != 0) {
    const std::scoped_lock lock(mutex_);
    above_[at] += Wide(high);
  }
}

void ImageCounts::add(std::size_t at, const Wide& more) {
  const std::uint64_t low = more.words()[0];
  add(at, low);
  Wide high = more;
  high -= Wide(low);
  const std::scoped_lock lock(mutex_);
  above_[at] += high;
}

void ImageCounts::add(const ImageCounts& other) {
  for (std::size_t at = 0; at < words_.size(); ++at)
    if (other.words_[at] != 0) add(at, other.words_[at]);
  for (const auto& [at, high] : other.above_) above_[at] += high;
}

int first_counted_as_a_set(const NativePlan& native_plan) {
  const int last = static_cast<int>(native_plan.plan.shape.levels) - 1;
  return std::min({last, native_plan.tail.start, CliqueTail::first_level(native_plan).value_or(last)});
}

void count_images(const NativePlan& native_plan, Control& control, int threads, const CountedLevels& counted,
                  bool listing, ImageCounts& counts, Pool* portion) {
  const bool direct = threads == 1 || counts.shared();
  std::mutex mutex;
  Pool whole(control);
  Pool& pool = portion ? *portion : whole;
  on_threads(threads, [&](int) {
    ImageCounts own(direct ? 0 : counts.size(), false);
    ImageVisitor visitor(native_plan, control, counted, direct ? counts : own);
    Walker walker(native_plan, visitor, !listing);
    visitor.watch(walker);
    if (threads > 1 || pool.is_portion()) walker.share(pool);
    try {
      Pool::Worker worker(pool);
      for (;;) {
        auto item = worker.take();
        if (!item) item = worker.wait();
        if (!item || !visitor.keep_going() || !walker.search(*item)) break;
        control.finished(walker.arcs_done());
      }
    } catch (...) {
      control.stop(Stop::kCancelled);
      throw;
    }
    if (direct) return;
    const std::scoped_lock lock(mutex);
    counts.add(own);
  });
}

}  // namespace motiflux::search
