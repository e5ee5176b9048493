// Trawling (gSWORD, section 5): a sample of a few levels is drawn, and its extensions are enumerated.
//
//   slot     depth d, drawn in advance, P(d = j) ~ 2^-j for j = least .. levels
//   sample   d levels by Alley, weight w: the product of the sizes of the sets chosen from
//   search   C embeddings extend it: the estimate of the slot is w * C, its mean over all samples the count
//
// 64 slots share a budget of work, and a search takes a quarter of the rest of it at most. A search that
// needs more is given up: the sample is extended by one level and searched again, with a quarter of the rest.
// Once the budget is used up, or the time limit is over, the sample is extended to the last level. Whether a
// search is given up depends on earlier slots, the sampled levels and the clock, not on random numbers that
// are drawn later, so the mean of the slot is w * C in each case.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/parallel.hpp"
#include "common/wide.hpp"
#include "motiflux/sample/graph.hpp"
#include "search/control.hpp"
#include "search/native_plan.hpp"

namespace motiflux::sample {

// Slots that share a budget: most searches end after a few steps and leave the rest of the budget to other
// slots.
inline constexpr std::uint64_t kChunk = 64;

// The treatment of a sample whose search was given up.
enum class Unfinished : std::uint8_t {
  kDeepen = 0,  // extend it by one level and search again
  kSample = 1,  // extend it to the last level
  kDrop = 2,    // drop it, as the paper does: estimates are then biased downwards
};

enum class Outcome : std::uint8_t { kDead = 0, kSearched = 1, kSampled = 2, kDropped = 3 };

struct TrawlOptions {
  std::uint64_t seed = 0;
  std::uint32_t least = 1;  // minimum number of sampled levels, less than the number of levels
  std::uint64_t nodes = 0;  // budget per slot of a chunk: candidates visited and elements of sets read
  Unfinished unfinished = Unfinished::kDeepen;
};

// One entry per slot.
struct SlotArrays {
  double* weights;         // kUnit times the estimate of the slot
  std::uint8_t* outcomes;  // an Outcome
  std::uint8_t* depths;    // number of sampled levels
  std::uint64_t* work;     // work of searches
};

// When searches end early.
struct TrawlEnd {
  const std::atomic<bool>& over;
  std::optional<search::Clock::time_point> deadline;

  bool requested() const { return over.load(std::memory_order_relaxed); }
};

// The number of levels that the sample of a slot has before the first search.
std::uint32_t depth_of(std::uint32_t levels, std::uint32_t least, std::uint64_t seed, std::uint64_t slot);

// Fills the entries of slots first, first + 1, ..., where `first` begins a chunk. `native_plans` are the
// searches from depth 1 to levels - 1; their levels up to this depth are those of `graph`. Every slot gets an
// estimate, also after `end`; only a cancelled trawl throws.
void trawl(const CandidateGraph& graph, const std::vector<const search::NativePlan*>& native_plans,
           const TrawlOptions& options, std::uint64_t first, std::size_t count, const SlotArrays& slots,
           const Workers& workers, const TrawlEnd& end);

// Counts all embeddings, in independent pieces of the root arcs. Finished pieces are kept, and the work of
// all pieces does not depend on the number of threads.
class Counting {
 public:
  explicit Counting(const search::NativePlan& native_plan);

  // The number of embeddings; nothing if all pieces take more work than `nodes` in total, or after `end`.
  std::optional<Wide> go_on(std::uint64_t nodes, const Workers& workers, const TrawlEnd& end);

 private:
  struct ArcChunk {
    std::optional<Wide> found;
    std::uint64_t work = 0;
  };

  const search::NativePlan& native_plan_;
  std::vector<ArcChunk> arc_chunks_;
};

}  // namespace motiflux::sample
