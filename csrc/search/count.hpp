// Counting on several threads.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "common/wide.hpp"
#include "search/control.hpp"
#include "search/native_plan.hpp"
#include "search/pool.hpp"

namespace motiflux::search {

// The number of embeddings, or of those found before the search stopped (control.reason()). With a limit, the
// search stops once more than `limit` are found. `sizes`, if given, receives the number of partial embeddings
// up to each level but the last. `portion`, if given, is the pool that has the items to search; afterwards,
// it has those left.
Wide count(const NativePlan& native_plan, Control& control, int threads, std::optional<std::uint64_t> limit,
           std::vector<std::uint64_t>* sizes = nullptr, Pool* portion = nullptr);

// The same on this thread alone; nothing if that takes more than about 100 us.
std::optional<Wide> count_briefly(const NativePlan& native_plan, Control& control,
                                  std::optional<std::uint64_t> limit, std::vector<std::uint64_t>& sizes);

// The work (Walker::work) that a search is expected to take, from `arcs` root arcs spread over it, or as many
// as `most` work allows; an arc stopped halfway is extrapolated. Appends to `sizes`, unless it is null, the
// partial embeddings expected up to each level: level 0 once for each arc.
double probe(const NativePlan& native_plan, std::uint32_t arcs, std::uint64_t most, std::uint64_t seed,
             std::vector<double>* sizes = nullptr);

// Adds to counts[arc] the embeddings whose first two vertices are that root arc. Throws std::overflow_error
// beyond 2^64 - 1.
void count_arcs(const NativePlan& native_plan, Control& control, int threads,
                std::span<std::uint64_t> counts);

// One of several searches in one pass (search/bundle.hpp). Its control has the reason why this search alone
// stopped.
struct Member {
  Member(const NativePlan& searched, std::optional<std::uint64_t> most, std::uint64_t arcs, int threads,
         std::optional<double> timeout_seconds)
      : native_plan(searched), limit(most), control(arcs, threads, timeout_seconds) {}

  const NativePlan& native_plan;
  std::optional<std::uint64_t> limit;
  Control control;
  Wide total;
};

// Fills the totals of `members`; `pass` holds their common work, and stopping it stops all.
void count_together(std::deque<Member>& members, Control& pass, int threads);

}  // namespace motiflux::search
