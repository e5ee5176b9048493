#include "graph/row_ends.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "graph/grain.hpp"

namespace motiflux::graph {
namespace {

constexpr std::size_t kEndsGrain = 1 << 14;
constexpr std::size_t kPackedGrain = 1 << 16;

}  // namespace

std::uint64_t longest_row(std::span<const std::uint64_t> offsets, const Workers& workers) {
  std::atomic<std::uint64_t> longest{0};
  parallel_for(workers, offsets.size() - 1, kEndsGrain, [&](std::size_t begin, std::size_t end) {
    std::uint64_t here = 0;
    for (std::size_t v = begin; v < end; ++v) here = std::max(here, offsets[v + 1] - offsets[v]);
    std::uint64_t known = longest.load(std::memory_order_relaxed);
    while (known < here && !longest.compare_exchange_weak(known, here, std::memory_order_relaxed)) {
    }
  });
  return longest.load();
}

double squares_of_rows(std::span<const std::uint64_t> offsets, const Workers& workers) {
  double sum = 0;  // in one order, so that the result is the same each time
  for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
    if (v % kEndsGrain == 0) workers.check();
    const auto entries = static_cast<double>(offsets[v + 1] - offsets[v]);
    sum += entries * entries;
  }
  return sum;
}

Unwritten<std::uint64_t> offsets_above(const NeighborSpans& rows, const Workers& workers) {
  const std::size_t vertices = rows.offsets.size() - 1;
  Unwritten<std::uint64_t> above(vertices + 1);
  above.data()[0] = 0;
  parallel_rows(workers, rows.offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const std::uint32_t* last = rows.neighbors.data() + rows.offsets[v + 1];
      const std::uint32_t* greater =
          std::upper_bound(rows.neighbors.data() + rows.offsets[v], last, static_cast<std::uint32_t>(v));
      above.data()[v + 1] = static_cast<std::uint64_t>(last - greater);
    }
  });
  for (std::size_t v = 0; v < vertices; ++v) {
    if (v % kEndsGrain == 0) workers.check();
    above.data()[v + 1] += above.data()[v];
  }
  return above;
}

RowWork row_work(std::span<const std::uint64_t> offsets, std::span<const std::uint64_t> above,
                 const Workers& workers) {
  RowWork work;
  for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
    if (v % kEndsGrain == 0) workers.check();
    const auto greater = static_cast<double>(above[v + 1] - above[v]);
    const double lesser = static_cast<double>(offsets[v + 1] - offsets[v]) - greater;
    work.triangles += lesser * greater;
    work.wedges += greater * lesser + greater * (greater - 1) / 2;
  }
  return work;
}

double lesser_of_lesser(const NeighborSpans& rows, std::span<const std::uint64_t> above,
                        const Workers& workers) {
  const auto lesser = [&](std::size_t v) {
    return (rows.offsets[v + 1] - rows.offsets[v]) - (above[v + 1] - above[v]);
  };
  std::atomic<std::uint64_t> sum{0};
  parallel_rows(workers, rows.offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    std::uint64_t here = 0;
    for (std::size_t v = begin; v < end; ++v) {
      const std::uint32_t* first = rows.neighbors.data() + rows.offsets[v];
      for (const std::uint32_t* at = first; at < first + lesser(v); ++at) here += lesser(*at);
    }
    sum.fetch_add(here, std::memory_order_relaxed);
  });
  return static_cast<double>(sum.load());
}

double lengths_of_neighbors(std::span<const std::uint32_t> neighbors, std::span<const std::uint64_t> offsets,
                            const Workers& workers) {
  std::atomic<std::uint64_t> sum{0};
  parallel_for(workers, neighbors.size(), kPackedGrain, [&](std::size_t begin, std::size_t end) {
    std::uint64_t here = 0;
    for (std::size_t arc = begin; arc < end; ++arc)
      here += offsets[std::size_t{neighbors[arc]} + 1] - offsets[neighbors[arc]];
    sum.fetch_add(here, std::memory_order_relaxed);
  });
  return static_cast<double>(sum.load());
}

void pack_row_ends(const NeighborSpans& rows, std::span<const std::uint64_t> kept, std::uint64_t first,
                   std::span<std::uint32_t> packed, const Workers& workers) {
  parallel_for(workers, packed.size(), kPackedGrain, [&](std::size_t begin, std::size_t end) {
    std::uint64_t at = first + begin;
    const std::uint64_t after = first + end;
    auto row = static_cast<std::size_t>(std::upper_bound(kept.begin(), kept.end(), at) - kept.begin()) - 1;
    for (; at < after; ++row) {
      const std::uint64_t left = kept[row + 1] - at;  // entries of this row from `at` on
      if (kept[row + 1] - kept[row] > rows.offsets[row + 1] - rows.offsets[row])
        throw std::invalid_argument("more entries are left of a row than it has");
      const std::uint64_t count = std::min(left, after - at);
      std::copy_n(rows.neighbors.data() + (rows.offsets[row + 1] - left), count,
                  packed.data() + (at - first));
      at += count;
    }
  });
}

}  // namespace motiflux::graph
