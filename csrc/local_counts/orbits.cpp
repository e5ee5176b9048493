// Four numbers of each vertex v take time: the triangles at its edges, the 4-cycles and 4-cliques through v,
// and the diamonds in which v is an end of the missing edge. From them and the degrees, closed forms give the
// number of subgraphs, induced or not, in which v has each place. An induced subgraph contains a known number
// of those with fewer edges, so subtracting from the densest down leaves the induced ones.
#include "local_counts/orbits.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>

#include "local_counts/search_all.hpp"
#include "local_counts/wedges.hpp"
#include "sets/routines.hpp"

namespace motiflux::local_counts {
namespace {

__extension__ using Signed = __int128;

// Numbers of each vertex.
struct Places {
  explicit Places(std::uint32_t vertices)
      : cliques(vertices, 0),
        apart(vertices, 0),
        cycles(vertices, 0),
        triangles(vertices, 0),
        ends(vertices, 0) {}

  std::vector<std::uint64_t> cliques;    // 4-cliques
  std::vector<std::uint64_t> apart;      // diamonds in which it is an end of the missing edge
  std::vector<std::uint64_t> cycles;     // 4-cycles
  std::vector<std::uint64_t> triangles;  // triangles
  std::vector<std::uint64_t> ends;       // sum over neighbours of their degrees, each without one
};

struct Pair {
  std::uint32_t first;
  std::uint32_t second;
};

// For each pair of members of a set that are adjacent, adds the number of members adjacent to both to the
// numbers of the two; returns the sum.
__attribute__((always_inline)) inline std::uint64_t count_common_in(std::span<const Pair> pairs,
                                                                    const std::uint64_t* bits,
                                                                    std::size_t words,
                                                                    std::uint64_t* numbers) {
  std::uint64_t total = 0;
  for (const Pair& pair : pairs) {
    const std::uint64_t *a = bits + pair.first * words, *b = bits + pair.second * words;
    std::uint64_t common = 0;
    for (std::size_t at = 0; at < words; ++at)
      common += static_cast<std::uint64_t>(std::popcount(a[at] & b[at]));
    numbers[pair.first] += common;
    numbers[pair.second] += common;
    total += common;
  }
  return total;
}

std::uint64_t count_common_plain(std::span<const Pair> pairs, const std::uint64_t* bits, std::size_t words,
                                 std::uint64_t* numbers) {
  return count_common_in(pairs, bits, words, numbers);
}

#ifdef MOTIFLUX_X86_SIMD
__attribute__((target("avx2,bmi,bmi2,popcnt"))) std::uint64_t count_common_avx2(std::span<const Pair> pairs,
                                                                                const std::uint64_t* bits,
                                                                                std::size_t words,
                                                                                std::uint64_t* numbers) {
  return count_common_in(pairs, bits, words, numbers);
}
#endif

using CountCommon = std::uint64_t (*)(std::span<const Pair>, const std::uint64_t*, std::size_t,
                                      std::uint64_t*);

CountCommon count_common() {
#ifdef MOTIFLUX_X86_SIMD
  if (sets::runs_here(sets::Simd::kAvx2)) return &count_common_avx2;
#endif
  return &count_common_plain;
}

// Finds the triangles and 4-cliques of each vertex with greater vertices.
class Cliques {
 public:
  Cliques(const view::Adjacency& rows, std::uint32_t vertices, std::span<const std::uint64_t> triangles,
          Places& places, bool alone)
      : rows_(rows), triangles_(triangles), places_(places), alone_(alone), place_(vertices, 0) {}

  void search(std::uint32_t x) {
    const std::uint32_t* const last = rows_.end(x);
    const std::uint32_t* const first = std::upper_bound(rows_.begin(x), last, x);
    const auto size = static_cast<std::size_t>(last - first);
    if (size < 2) return;
    const std::uint64_t* const of_x = triangles_.data() + (first - rows_.neighbors);
    for (std::size_t at = 0; at < size; ++at) place_[first[at]] = static_cast<std::uint32_t>(at) + 1;
    pairs_.clear();
    std::uint64_t own = 0;
    for (std::size_t i = 0; i + 1 < size; ++i) {
      const std::uint32_t y = first[i];
      const std::uint32_t* const end = rows_.end(y);
      std::uint64_t apart = 0;
      if (of_x[i] == 0) continue;
      for (const std::uint32_t* z = std::upper_bound(rows_.begin(y), end, y); z != end; ++z) {
        const std::uint32_t place = place_[*z];
        if (place == 0) continue;
        const std::size_t j = place - 1;
        pairs_.push_back({static_cast<std::uint32_t>(i), place - 1});
        own += triangles_[static_cast<std::size_t>(z - rows_.neighbors)] - 1;
        apart += of_x[j] - 1;
        add(places_.apart[*z], of_x[i] - 1, alone_);
      }
      if (apart > 0) add(places_.apart[y], apart, alone_);
    }
    for (std::size_t at = 0; at < size; ++at) place_[first[at]] = 0;
    if (own > 0) add(places_.apart[x], own, alone_);
    if (pairs_.size() >= 3) count_cliques(x, first, size);
  }

 private:
  void count_cliques(std::uint32_t x, const std::uint32_t* members, std::size_t size) {
    const std::size_t words = (size + 63) / 64;
    if (bits_.size() < size * words) bits_.resize(size * words, 0);
    numbers_.assign(size, 0);
    for (const auto& [i, j] : pairs_) {
      bits_[i * words + j / 64] |= std::uint64_t{1} << (j % 64);
      bits_[j * words + i / 64] |= std::uint64_t{1} << (i % 64);
    }
    // Each clique of x with i, j, k is found at the pairs ij, ik and jk.
    const std::uint64_t found = count_common_(pairs_, bits_.data(), words, numbers_.data());
    for (const auto& [i, j] : pairs_) {
      bits_[i * words + j / 64] = 0;
      bits_[j * words + i / 64] = 0;
    }
    if (found == 0) return;
    add(places_.cliques[x], found / 3, alone_);
    for (std::size_t at = 0; at < size; ++at)
      if (numbers_[at] > 0) add(places_.cliques[members[at]], numbers_[at] / 2, alone_);
  }

  const view::Adjacency& rows_;
  const std::span<const std::uint64_t> triangles_;
  Places& places_;
  const bool alone_;
  const CountCommon count_common_ = count_common();
  std::vector<std::uint32_t> place_;  // of each vertex in the set, from 1; all zero between searches
  std::vector<Pair> pairs_;           // of the set that are adjacent
  std::vector<std::uint64_t> bits_;   // a row per member: members adjacent to it; all zero between searches
  std::vector<std::uint64_t> numbers_;
};

// Finds the 4-cycles of each vertex whose other vertices are less.
class Cycles {
 public:
  Cycles(const view::Adjacency& rows, std::uint32_t vertices, Places& places, bool alone)
      : rows_(rows), places_(places), alone_(alone), wedges_(vertices, 0) {}

  void search(std::uint32_t x) {
    for_each_middle(x, [&](const std::uint32_t*, const std::uint32_t* z, const std::uint32_t* end) {
      for (; z != end && *z < x; ++z) ++wedges_[*z];
    });
    for_each_middle(x, [&](const std::uint32_t* middle, const std::uint32_t* z, const std::uint32_t* end) {
      std::uint64_t sum = 0;
      for (; z != end && *z < x; ++z) sum += wedges_[*z] - 1;
      if (sum > 0) add(places_.cycles[*middle], sum, alone_);
    });
    std::uint64_t own = 0;
    for_each_middle(x, [&](const std::uint32_t*, const std::uint32_t* z, const std::uint32_t* end) {
      for (; z != end && *z < x; ++z) {
        const std::uint64_t wedges = wedges_[*z];
        wedges_[*z] = 0;
        if (wedges < 2) continue;
        const std::uint64_t pairs = wedges * (wedges - 1) / 2;
        own += pairs;
        add(places_.cycles[*z], pairs, alone_);
      }
    });
    if (own > 0) add(places_.cycles[x], own, alone_);
  }

 private:
  template <class Use>
  void for_each_middle(std::uint32_t x, Use&& use) {
    for (const std::uint32_t* middle = rows_.begin(x); middle != rows_.end(x) && *middle < x; ++middle)
      use(middle, rows_.begin(*middle), rows_.end(*middle));
  }

  const view::Adjacency& rows_;
  Places& places_;
  const bool alone_;
  std::vector<std::uint32_t> wedges_;  // from x to each vertex; all zero between searches
};

Signed choose(std::uint64_t among, int taken) {
  if (among < static_cast<std::uint64_t>(taken)) return 0;
  Signed result = 1;
  for (int at = 0; at < taken; ++at)
    result = result * static_cast<Signed>(among - static_cast<std::uint64_t>(at)) / (at + 1);
  return result;
}

// The orbits of one vertex.
class VertexOrbits {
 public:
  VertexOrbits(const view::Adjacency& rows, std::span<const std::uint64_t> triangles, const Places& places,
               std::uint32_t v)
      : rows_(rows), triangles_(triangles), places_(places), v_(v) {
    count_all();
    subtract();
  }

  const Signed& operator[](std::size_t orbit) const { return numbers_[orbit]; }

 private:
  // The subgraphs, induced or not.
  void count_all() {
    const auto degree = static_cast<Signed>(rows_.degree(v_));
    const auto closed = static_cast<Signed>(places_.triangles[v_]);
    Signed through = 0, leaf = 0, pendant = 0, beside = 0, spine = 0;
    for (const std::uint32_t* u = rows_.begin(v_); u != rows_.end(v_); ++u) {
      const std::uint64_t others = rows_.degree(*u) - 1;
      const std::uint64_t common = triangles_[static_cast<std::size_t>(u - rows_.neighbors)];
      through += static_cast<Signed>(places_.ends[*u]);
      leaf += choose(others, 2);
      pendant += static_cast<Signed>(places_.triangles[*u] - common);
      if (common == 0) continue;
      beside += static_cast<Signed>(common) * static_cast<Signed>(others - 1);
      spine += choose(common, 2);
    }
    const auto ends = static_cast<Signed>(places_.ends[v_]);
    numbers_[0] = degree;
    numbers_[1] = ends - 2 * closed;
    numbers_[2] = choose(rows_.degree(v_), 2) - closed;
    numbers_[3] = closed;
    numbers_[4] = through - degree * (degree - 1) - 2 * closed;
    numbers_[5] = (degree - 1) * ends - 2 * closed;
    numbers_[6] = leaf;
    numbers_[7] = choose(rows_.degree(v_), 3);
    numbers_[8] = static_cast<Signed>(places_.cycles[v_]);
    numbers_[9] = pendant;
    numbers_[10] = beside;
    numbers_[11] = closed * (degree - 2);
    numbers_[12] = static_cast<Signed>(places_.apart[v_]);
    numbers_[13] = spine;
    numbers_[14] = static_cast<Signed>(places_.cliques[v_]);
    if (degree == 0) numbers_[5] = 0;
    if (closed == 0) numbers_[11] = 0;
  }

  // Leaves the induced ones: each has v in the place of other subgraphs of the same vertices so often.
  void subtract() {
    Signed* n = numbers_;
    n[13] -= 3 * n[14];
    n[12] -= 3 * n[14];
    n[11] -= 2 * n[13] + 3 * n[14];
    n[10] -= 2 * n[12] + 2 * n[13] + 6 * n[14];
    n[9] -= 2 * n[12] + 3 * n[14];
    n[8] -= n[12] + n[13] + 3 * n[14];
    n[7] -= n[11] + n[13] + n[14];
    n[6] -= n[9] + n[10] + 2 * n[12] + n[13] + 3 * n[14];
    n[5] -= 2 * n[8] + n[10] + 2 * n[11] + 2 * n[12] + 4 * n[13] + 6 * n[14];
    n[4] -= 2 * n[8] + 2 * n[9] + n[10] + 4 * n[12] + 2 * n[13] + 6 * n[14];
  }

  const view::Adjacency& rows_;
  const std::span<const std::uint64_t> triangles_;
  const Places& places_;
  const std::uint32_t v_;
  Signed numbers_[kOrbits];
};

}  // namespace

Orbits orbits_of_vertices(const view::Adjacency& rows, std::uint32_t vertices, const Workers& workers) {
  const std::uint64_t arcs = rows.offsets[vertices];
  if (Total{arcs} * vertices >= Total{1} << 62)
    throw std::overflow_error("the graph is too large for orbits");
  const bool alone = workers.threads == 1;
  const std::vector<std::uint64_t> triangles = triangles_of_arcs(rows, vertices, workers);
  Places places(vertices);
  search_all(rows, vertices, workers,
             [&] { return std::make_unique<Cliques>(rows, vertices, triangles, places, alone); });
  search_all(rows, vertices, workers,
             [&] { return std::make_unique<Cycles>(rows, vertices, places, alone); });
  const std::span offsets(rows.offsets, std::size_t{vertices} + 1);
  parallel_rows(workers, offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      std::uint64_t closed = 0, ends = 0;
      for (std::uint64_t arc = rows.offsets[v]; arc != rows.offsets[v + 1]; ++arc) {
        closed += triangles[arc];
        ends += rows.degree(rows.neighbors[arc]) - 1;
      }
      places.triangles[v] = closed / 2;
      places.ends[v] = ends;
    }
  });
  Orbits found{Uncleared<std::uint64_t>(std::size_t{vertices} * kOrbits), {}};
  std::mutex mutex;
  parallel_rows(workers, offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      workers.check();
      const VertexOrbits orbits(rows, triangles, places, static_cast<std::uint32_t>(v));
      for (std::size_t orbit = 0; orbit < kOrbits; ++orbit) {
        if (orbits[orbit] < 0) throw std::logic_error("a negative number of induced subgraphs");
        const auto number = static_cast<Total>(orbits[orbit]);
        found.words[v * kOrbits + orbit] = static_cast<std::uint64_t>(number);
        if (const Total high = number >> 64 << 64; high != 0) {
          const std::scoped_lock lock(mutex);
          found.above.emplace_back(v * kOrbits + orbit, high);
        }
      }
    }
  });
  return found;
}

}  // namespace motiflux::local_counts
