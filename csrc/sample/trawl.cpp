#include "sample/trawl.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "motiflux/sample/alley.hpp"
#include "motiflux/sample/choose.hpp"
#include "motiflux/sample/state.hpp"
#include "search/walker.hpp"

namespace motiflux::sample {
namespace {

using search::Walker;

// The fewest root arcs of a piece that is counted separately: few enough for threads to end at the same time,
// but enough to make up for the piece's new walker (some microseconds).
constexpr std::uint64_t kLeastChunkArcs = 64;
constexpr std::uint64_t kMostArcChunks = 64;

double as_double(Total total) {
  return std::ldexp(static_cast<double>(static_cast<std::uint64_t>(total >> 64)), 64) +
         static_cast<double>(static_cast<std::uint64_t>(total));
}

double as_double(const Wide& total) {
  double sum = 0;
  for (std::size_t word = 0; word < total.length(); ++word)
    sum += std::ldexp(static_cast<double>(total.words()[word]), static_cast<int>(64 * word));
  return sum;
}

// Ends a search at its budget, at the deadline, or on request.
class Bounded : public search::Visitor {
 public:
  Bounded(const search::NativePlan& native_plan, const Workers& workers, const TrawlEnd& end)
      : workers_(workers), end_(end), walker_(native_plan, *this, true) {}

  std::uint64_t work() const { return walker_.work(); }
  void rows(const std::uint32_t*, sets::Span) override {}
  bool keep_going() override {
    if (workers_.stop && workers_.stop->load(std::memory_order_relaxed)) return false;
    if (end_.requested()) return false;
    if (end_.deadline && search::Clock::now() >= *end_.deadline) return false;
    return may_work();
  }

 protected:
  virtual bool may_work() const = 0;
  Walker& walker() { return walker_; }

 private:
  const Workers& workers_;
  const TrawlEnd& end_;
  Walker walker_;
};

class Completions final : public Bounded {
 public:
  using Bounded::Bounded;

  // The number of embeddings that extend `levels` values; nothing if the search exceeds `most`, and then this
  // object cannot search again.
  std::optional<double> find(const std::uint32_t* values, std::uint32_t levels, std::uint64_t most) {
    total_ = 0;
    last_ = work() + most;
    if (!walker().complete(values, static_cast<int>(levels))) return std::nullopt;
    return total_;
  }

  void count(Total embeddings) override { total_ += as_double(embeddings); }
  void count_wide(const Wide& embeddings) override { total_ += as_double(embeddings); }

 private:
  bool may_work() const override { return work() < last_; }

  double total_ = 0;
  std::uint64_t last_ = 0;
};

// A search of one piece that ends once the work of all pieces reaches the budget.
class Whole final : public Bounded {
 public:
  Whole(const search::NativePlan& native_plan, const Workers& workers, const TrawlEnd& end,
        const std::atomic<std::uint64_t>& done, std::uint64_t most)
      : Bounded(native_plan, workers, end), done_(done), most_(most) {}

  std::optional<Wide> find(std::uint64_t from, std::uint64_t to) {
    if (!walker().search({.level = 0, .from = from, .to = to, .arcs = to - from})) return std::nullopt;
    above_total_ += Wide(total_);
    return above_total_;
  }

  void count(Total embeddings) override {
    if (!__builtin_add_overflow(total_, embeddings, &total_)) return;  // modulo 2^128
    above_total_ += Wide(~Total{0});
    above_total_ += Wide(1);
  }
  void count_wide(const Wide& embeddings) override { above_total_ += embeddings; }

 private:
  bool may_work() const override { return done_.load(std::memory_order_relaxed) + work() < most_; }

  const std::atomic<std::uint64_t>& done_;
  const std::uint64_t most_;
  Total total_ = 0;
  Wide above_total_;  // the part beyond total_
};

struct SlotResult {
  double weight;
  Outcome outcome;
  std::uint32_t depth;
  std::uint64_t work;
};

// Slots that share a budget, one after another.
class Chunk {
 public:
  Chunk(const CandidateGraph& graph, const std::vector<const search::NativePlan*>& native_plans,
        const TrawlOptions& options, const Workers& workers, const TrawlEnd& end)
      : graph_(graph),
        native_plans_(native_plans),
        options_(options),
        workers_(workers),
        end_(end),
        left_(options.nodes * kChunk) {}

  SlotResult run(std::uint64_t slot) {
    const std::uint64_t before = left_;
    SlotResult found = sample_and_search(slot);
    found.work = before - left_;
    return found;
  }

 private:
  static constexpr std::uint64_t kShare = 4;

  SlotResult sample_and_search(std::uint64_t slot) {
    const Key key{options_.seed, slot};
    const std::uint32_t depth = depth_of(graph_.levels, options_.least, options_.seed, slot);
    const bool drops = options_.unfinished == Unfinished::kDrop;
    state_ = {&graph_, first_weight<Alley>(graph_), {}};
    bool searches = true;
    for (std::uint32_t level = 0; level < graph_.levels; ++level) {
      if (level >= depth && searches) {
        if (const std::optional<double> found = completions(level))
          return {state_.weight * *found, Outcome::kSearched, level, 0};
        if (drops) return {0, Outcome::kDropped, level, 0};
        searches = options_.unfinished == Unfinished::kDeepen;
      }
      extend<Alley>(graph_, state_, level, key);
      if (!(state_.weight > 0)) return {0, Outcome::kDead, level, 0};
    }
    return {state_.weight, Outcome::kSampled, graph_.levels, 0};
  }

  // The number of embeddings that extend the sample; nothing if the search was given up.
  std::optional<double> completions(std::uint32_t levels) {
    workers_.check();
    if (left_ == 0 || end_.requested()) return std::nullopt;
    if (end_.deadline && search::Clock::now() >= *end_.deadline) return std::nullopt;
    const search::NativePlan& native_plan = *native_plans_[levels - 1];
    if (!search_ || native_plan_ != &native_plan) search_.emplace(native_plan, workers_, end_);
    native_plan_ = &native_plan;
    const std::uint64_t before = search_->work();
    const auto found = search_->find(state_.values, levels, (left_ + kShare - 1) / kShare);
    left_ -= std::min(left_, search_->work() - before);
    if (!found) search_.reset();
    workers_.check();
    return found;
  }

  const CandidateGraph& graph_;
  const std::vector<const search::NativePlan*>& native_plans_;
  const TrawlOptions& options_;
  const Workers& workers_;
  const TrawlEnd& end_;
  std::uint64_t left_;
  std::optional<Completions> search_;
  const search::NativePlan* native_plan_ = nullptr;  // of search_
  State state_{};
};

}  // namespace

// Of 2^(levels + 1 - least) - 1 random numbers, 2^(levels - j) give depth j.
std::uint32_t depth_of(std::uint32_t levels, std::uint32_t least, std::uint64_t seed, std::uint64_t slot) {
  const random::Words words = draw(Key{seed, slot}, Purpose::kTrawl, 0);
  const std::uint64_t numbers = (std::uint64_t{1} << (levels + 1 - least)) - 1;
  const std::uint64_t number = below(numbers, words.word[0], words.word[1]) + 1;
  return levels + 1 - static_cast<std::uint32_t>(std::bit_width(number));
}

void trawl(const CandidateGraph& graph, const std::vector<const search::NativePlan*>& native_plans,
           const TrawlOptions& options, std::uint64_t first, std::size_t count, const SlotArrays& slots,
           const Workers& workers, const TrawlEnd& end) {
  parallel_for(workers, count, kChunk, [&](std::size_t begin, std::size_t after) {
    Chunk chunk(graph, native_plans, options, workers, end);
    for (std::size_t i = begin; i < after; ++i) {
      const SlotResult found = chunk.run(first + i);
      slots.weights[i] = found.weight;
      slots.outcomes[i] = static_cast<std::uint8_t>(found.outcome);
      slots.depths[i] = static_cast<std::uint8_t>(found.depth);
      slots.work[i] = found.work;
    }
  });
}

Counting::Counting(const search::NativePlan& native_plan)
    : native_plan_(native_plan),
      arc_chunks_(std::clamp(native_plan.root_arcs() / kLeastChunkArcs, std::uint64_t{1}, kMostArcChunks)) {}

std::optional<Wide> Counting::go_on(std::uint64_t nodes, const Workers& workers, const TrawlEnd& end) {
  // A search tests its budget only from time to time. A search that ends before its next test counts; this
  // must not depend on the order of pieces.
  const std::uint64_t most = nodes + static_cast<std::uint64_t>(native_plan_.check_every);
  const std::uint64_t arcs = native_plan_.root_arcs(), count = arc_chunks_.size();
  std::atomic<std::uint64_t> done{0};
  // A piece that was given up has used the rest of the budget.
  std::atomic<bool> given_up{false};
  for (const ArcChunk& arc_chunk : arc_chunks_)
    if (arc_chunk.found) done += arc_chunk.work;
  parallel_for(workers, count, 1, [&](std::size_t begin, std::size_t after) {
    for (std::size_t i = begin; i < after; ++i) {
      const std::uint64_t at = count - 1 - i;  // hubs have the highest ids and take the longest
      ArcChunk& arc_chunk = arc_chunks_[at];
      if (arc_chunk.found) continue;
      if (given_up.load(std::memory_order_relaxed) || done.load(std::memory_order_relaxed) >= most) return;
      Whole whole(native_plan_, workers, end, done, most);
      arc_chunk.found = whole.find(arcs / count * at + std::min(at, arcs % count),
                                   arcs / count * (at + 1) + std::min(at + 1, arcs % count));
      arc_chunk.work = whole.work();
      if (arc_chunk.found)
        done += arc_chunk.work;
      else
        given_up = true;
    }
  });
  workers.check();
  if (done >= most) return std::nullopt;
  Wide found;
  for (const ArcChunk& arc_chunk : arc_chunks_) {
    if (!arc_chunk.found) return std::nullopt;
    found += *arc_chunk.found;
  }
  return found;
}

}  // namespace motiflux::sample
