// Trawling (gSWORD, section 5): a sample goes a few levels, and what is left is enumerated.
//
//   slot     depth d, drawn beforehand, P(d = j) ~ 2^-j for j = least .. levels
//   sample   d levels by Alley, weight w: the product of the sizes of the sets chosen from
//   search   C embeddings extend it: the slot is worth w * C, and on average over all samples the count
//
// 64 slots have a budget of work together, and a search takes a quarter at most of what is left of it. If
// that does not do, it is given up: the sample goes one level on, and what is left, which is smaller, is
// searched with a quarter of what is left then; once nothing is, or time is up, it goes on to its end.
// Whether a search is given up depends on the slots before, on the levels so far, on the clock, and on no
// random number drawn after them: each way the slot is worth w * C on average.
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

// Slots that share a budget: most searches are over after a few steps, and leave theirs to others.
inline constexpr std::uint64_t kChunk = 64;

// What becomes of a sample whose search was given up.
enum class Unfinished : std::uint8_t {
  kDeepen = 0,  // it goes one level on and is searched again
  kSample = 1,  // it goes on to its end
  kDrop = 2,    // it is left out, as in the paper: the rest is no fair sample, and estimates are too low
};

enum class Outcome : std::uint8_t { kDead = 0, kSearched = 1, kSampled = 2, kDropped = 3 };

struct Trawling {
  std::uint64_t seed = 0;
  std::uint32_t least = 1;  // levels that are sampled at least; fewer than there are
  std::uint64_t nodes = 0;  // work for each slot of a chunk: candidates met and elements read
  Unfinished unfinished = Unfinished::kDeepen;
};

// One entry per slot.
struct SlotResults {
  double* weights;         // kUnit times what the slot is worth
  std::uint8_t* outcomes;  // an Outcome
  std::uint8_t* depths;    // levels that were sampled
  std::uint64_t* work;     // of searches
};

// When searches end early.
struct TrawlEnd {
  const std::atomic<bool>& over;
  std::optional<search::Clock::time_point> deadline;
  const std::atomic<std::uint64_t>* turns = nullptr;  // once there are more of them than `seen`
  std::uint64_t seen = 0;

  bool is_over() const {
    return over.load(std::memory_order_relaxed) ||
           (turns != nullptr && turns->load(std::memory_order_relaxed) != seen);
  }
};

// How many levels the sample of a slot goes before the first search.
std::uint32_t depth_of(std::uint32_t levels, std::uint32_t least, std::uint64_t seed, std::uint64_t slot);

// Fills the entries of slots first, first + 1, ..., where `first` begins a chunk. `problems` are the searches
// from depth 1 to levels - 1: their levels up to there are those of `graph`. Every slot has its
// worth, however early the end is; only a cancelled trawl throws.
void trawl(const CandidateGraph& graph, const std::vector<const search::NativePlan*>& native_plans,
           const Trawling& trawling, std::uint64_t first, std::size_t count, const SlotResults& results,
           const Workers& workers, const TrawlEnd& end);

// Counts all embeddings, in independent chunks of the root arcs: those that are done stay done, and what all
// take together is the same on any number of threads.
class Counting {
 public:
  explicit Counting(const search::NativePlan& native_plan);

  // The number of embeddings; nothing if all chunks take more work than `nodes` together, or at the end.
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
