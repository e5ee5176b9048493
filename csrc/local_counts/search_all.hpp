// Searches from all vertices on several threads, which add to the same numbers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "common/total.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

inline constexpr std::size_t kRowArcs = 1 << 14;  // arcs of a work item

// Adds to numbers to which other threads may add.
inline void add(std::uint64_t& number, std::uint64_t more, bool alone) {
  if (alone) {
    number += more;
  } else {
    std::atomic_ref(number).fetch_add(more, std::memory_order_relaxed);
  }
}

// The same of 128 bits: on one thread alone.
inline void add(Total& number, Total more, bool) {
  number += more;
}

// Searches all vertices, each thread with a searcher that make() returns.
template <class Make>
void search_all(const view::Adjacency& rows, std::uint32_t vertices, const Workers& workers, Make&& make) {
  using Searcher = decltype(make());
  std::mutex mutex;
  std::vector<Searcher> free;
  const std::span offsets(rows.offsets, std::size_t{vertices} + 1);
  parallel_rows(workers, offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    std::unique_lock lock(mutex);
    Searcher searcher = free.empty() ? make() : std::move(free.back());
    if (!free.empty()) free.pop_back();
    lock.unlock();
    for (std::size_t x = begin; x < end; ++x) {
      workers.check();
      searcher->search(static_cast<std::uint32_t>(x));
    }
    lock.lock();
    free.push_back(std::move(searcher));
  });
}

}  // namespace motiflux::local_counts
