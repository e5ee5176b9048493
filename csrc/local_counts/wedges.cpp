#include "local_counts/wedges.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>

namespace motiflux::local_counts {
namespace {

constexpr std::size_t kWedgeArcs = 1 << 14;  // arcs of the ends per work item

using Counts = std::vector<std::uint32_t>;

// A pool of tables, one per working thread; all zero while no thread uses them.
class Tables {
 public:
  Tables(std::size_t number, std::uint32_t vertices) : number_(number), vertices_(vertices) {}

  std::vector<Counts> take() {
    {
      const std::scoped_lock lock(mutex_);
      if (!free_.empty()) {
        std::vector<Counts> tables = std::move(free_.back());
        free_.pop_back();
        return tables;
      }
    }
    return std::vector<Counts>(number_, Counts(vertices_, 0));
  }

  void give(std::vector<Counts>&& tables) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(tables));
  }

 private:
  std::size_t number_;
  std::uint32_t vertices_;
  std::mutex mutex_;
  std::vector<std::vector<Counts>> free_;
};

// Calls visit(z's position in rows.second) for each wedge x - middle - z.
template <class Visit>
void for_each_wedge(const WedgeRows& rows, std::uint32_t x, Below below, Visit&& visit) {
  const std::uint32_t most = below == Below::kAll ? UINT32_MAX : x;
  for (const std::uint32_t* middle = rows.first.begin(x); middle != rows.first.end(x); ++middle) {
    if (below == Below::kBoth && *middle >= x) break;
    const std::uint32_t* const end = rows.second.end(*middle);
    for (const std::uint32_t* z = rows.second.begin(*middle); z != end && *z < most; ++z) visit(z);
  }
}

Total choices(std::uint64_t among, int middles) {
  Total result = 1;
  for (int taken = 0; taken < middles; ++taken) {
    if (among <= static_cast<std::uint64_t>(taken)) return 0;
    if (__builtin_mul_overflow(result, Total{among - static_cast<std::uint64_t>(taken)}, &result))
      throw std::overflow_error("the count exceeds 2^128 - 1");
  }
  return result;
}

// The sum over z for one x; leaves the tables, one per kind, zero.
Total of_end(std::span<const Middles> kinds, std::uint32_t x, Below below, std::vector<Counts>& tables) {
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    Counts& table = tables[kind];
    for_each_wedge(kinds[kind].rows, x, below, [&](const std::uint32_t* z) { ++table[*z]; });
    table[x] = 0;  // the wedge returns to x
  }
  Total sum = 0;
  const bool pairs = kinds.size() == 1 && kinds[0].number == 2;
  for_each_wedge(kinds[0].rows, x, below, [&](const std::uint32_t* z) {
    const std::uint64_t among = tables[0][*z];
    if (among == 0) return;
    tables[0][*z] = 0;
    if (pairs) {
      sum += Total{among} * (among - 1);  // of fewer than 2^40 wedges: below 2^72
      return;
    }
    Total product = choices(among, kinds[0].number);
    for (std::size_t kind = 1; kind < kinds.size(); ++kind) {
      if (__builtin_mul_overflow(product, choices(tables[kind][*z], kinds[kind].number), &product))
        throw std::overflow_error("the count exceeds 2^128 - 1");
    }
    add_checked(sum, product);
  });
  for (std::size_t kind = 1; kind < kinds.size(); ++kind)
    for_each_wedge(kinds[kind].rows, x, below, [&](const std::uint32_t* z) { tables[kind][*z] = 0; });
  return sum;
}

// Adds to a number to which other threads may add at the same time.
class Adder {
 public:
  explicit Adder(const Workers& workers) : alone_(workers.threads == 1) {}

  void operator()(std::uint64_t& count, std::uint64_t more) const {
    if (alone_) {
      count += more;
    } else {
      std::atomic_ref(count).fetch_add(more, std::memory_order_relaxed);
    }
  }

 private:
  bool alone_;
};

// Sets both arcs of each edge to merge() of their numbers. Rows ascend, so the reverse arcs to u are met in
// the order of u.
template <class Merge>
void for_each_edge(const view::Adjacency& rows, std::uint32_t vertices, const Workers& workers,
                   std::vector<std::uint64_t>& counts, Merge&& merge) {
  std::vector<std::uint64_t> next(rows.offsets, rows.offsets + vertices);
  for (std::uint32_t u = 0; u < vertices; ++u) {
    workers.check();
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc) {
      const std::uint64_t back = next[rows.neighbors[arc]]++;
      if (rows.neighbors[arc] < u) counts[arc] = counts[back] = merge(counts[arc], counts[back]);
    }
  }
}

// Calls use(x, tables) for each x, with tables that are zero before and after.
template <class Use>
void for_each_end(const WedgeRows& rows, std::size_t tables, const Workers& workers, Use&& use) {
  Tables pool(tables, rows.vertices);
  const std::span offsets(rows.first.offsets, std::size_t{rows.vertices} + 1);
  parallel_rows(workers, offsets, kWedgeArcs, [&](std::size_t begin, std::size_t end) {
    std::vector<Counts> own = pool.take();
    for (std::size_t x = begin; x < end; ++x) {
      workers.check();  // one end has at most as many wedges as there are arcs; a range has far more
      use(static_cast<std::uint32_t>(x), own);
    }
    pool.give(std::move(own));
  });
}

}  // namespace

Total wedge_total(std::span<const Middles> kinds, Below below, const Workers& workers) {
  Total total = 0;
  std::mutex mutex;
  Tables pool(kinds.size(), kinds[0].rows.vertices);
  const std::span offsets(kinds[0].rows.first.offsets, std::size_t{kinds[0].rows.vertices} + 1);
  parallel_rows(workers, offsets, kWedgeArcs, [&](std::size_t begin, std::size_t end) {
    std::vector<Counts> tables = pool.take();
    Total sum = 0;
    for (std::size_t x = begin; x < end; ++x) {
      workers.check();
      add_checked(sum, of_end(kinds, static_cast<std::uint32_t>(x), below, tables));
    }
    pool.give(std::move(tables));
    const std::scoped_lock lock(mutex);
    add_checked(total, sum);
  });
  return total;
}

std::vector<Total> wedges_of_ends(std::span<const Middles> kinds, const Workers& workers) {
  std::vector<Total> result(kinds[0].rows.vertices, 0);
  for_each_end(kinds[0].rows, kinds.size(), workers, [&](std::uint32_t x, std::vector<Counts>& tables) {
    result[x] = of_end(kinds, x, Below::kAll, tables);
  });
  return result;
}

std::vector<std::uint64_t> four_cycles_of_arcs(const view::Adjacency& rows, std::uint32_t vertices,
                                               const Workers& workers) {
  const std::uint64_t arcs = rows.offsets[vertices];
  std::vector<std::uint64_t> found(arcs, 0);
  const WedgeRows both{rows, rows, vertices};
  const Adder add(workers);
  // Each cycle is found from its greatest vertex x, at both of its middles, and is added to the arcs from x
  // to the middle and from the middle to z.
  for_each_end(both, 1, workers, [&](std::uint32_t x, std::vector<Counts>& tables) {
    Counts& table = tables[0];
    for_each_wedge(both, x, Below::kBoth, [&](const std::uint32_t* z) { ++table[*z]; });
    for (const std::uint32_t* middle = rows.begin(x); middle != rows.end(x) && *middle < x; ++middle) {
      std::uint64_t sum = 0;
      const std::uint32_t* const end = rows.end(*middle);
      for (const std::uint32_t* z = rows.begin(*middle); z != end && *z < x; ++z) {
        const std::uint64_t others = table[*z] - 1;
        sum += others;
        add(found[static_cast<std::size_t>(z - rows.neighbors)], others);
      }
      add(found[static_cast<std::size_t>(middle - rows.neighbors)], sum);
    }
    for_each_wedge(both, x, Below::kBoth, [&](const std::uint32_t* z) { table[*z] = 0; });
  });
  for_each_edge(rows, vertices, workers, found,
                [](std::uint64_t one, std::uint64_t other) { return one + other; });
  return found;
}

std::vector<std::uint64_t> triangles_of_arcs(const view::Adjacency& rows, std::uint32_t vertices,
                                             const Workers& workers) {
  std::vector<std::uint64_t> found(rows.offsets[vertices], 0);
  const Adder add(workers);
  // Each triangle is found from its greatest vertex x, and is added to its arcs to lesser vertices.
  for_each_end({rows, rows, vertices}, 1, workers, [&](std::uint32_t x, std::vector<Counts>& tables) {
    Counts& place = tables[0];
    const std::uint32_t* const first = rows.begin(x);
    const std::uint32_t* const last = std::lower_bound(first, rows.end(x), x);
    std::uint64_t* const from_x = found.data() + rows.offsets[x];
    for (const std::uint32_t* y = first; y != last; ++y)
      place[*y] = static_cast<std::uint32_t>(y - first) + 1;
    for (const std::uint32_t* y = first; y != last; ++y) {
      std::uint64_t closed = 0;
      for (const std::uint32_t* z = rows.begin(*y); z != rows.end(*y) && *z < *y; ++z) {
        const std::uint32_t at = place[*z];
        if (at == 0) continue;
        ++closed;
        add(from_x[at - 1], 1);
        add(found[static_cast<std::size_t>(z - rows.neighbors)], 1);
      }
      if (closed > 0) add(from_x[y - first], closed);
    }
    for (const std::uint32_t* y = first; y != last; ++y) place[*y] = 0;
  });
  for_each_edge(rows, vertices, workers, found,
                [](std::uint64_t one, std::uint64_t other) { return one + other; });
  return found;
}

}  // namespace motiflux::local_counts
