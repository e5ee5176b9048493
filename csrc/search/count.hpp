// Counting on several threads.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/total.hpp"
#include "search/control.hpp"
#include "search/problem.hpp"

namespace motiflux::search {

using motiflux::Total;

// Embeddings found before the end or before control.reason(). With a limit, the search stops once more
// than `limit` are known. Throws std::overflow_error beyond 2^128 - 1.
// `sizes`, if given, gets the number of partial embeddings up to each level but the last.
Total count(const Problem& problem, Control& control, int threads, std::optional<std::uint64_t> limit,
            std::vector<std::uint64_t>* sizes = nullptr);

// One of several searches in one pass (search/bundle.hpp). Its control says why it, alone, stopped.
struct Member {
  Member(const Problem& searched, std::optional<std::uint64_t> most, std::uint64_t arcs, int threads,
         std::optional<double> timeout_seconds)
      : problem(searched), limit(most), control(arcs, threads, timeout_seconds) {}

  const Problem& problem;
  std::optional<std::uint64_t> limit;
  Control control;
  Total total = 0;
};

// Fills the totals of `members`, whose work is that of `pass`; a stop of `pass` is a stop of all.
void count_together(std::deque<Member>& members, Control& pass, int threads);

}  // namespace motiflux::search
