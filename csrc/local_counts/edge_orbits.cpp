// Of each edge uv, five numbers take time: the triangles, the 4-cycles and the 4-cliques at it, and the sums
// over its triangles uvw of the degrees of w, and of the triangles at uw and vw. From them and the degrees,
// closed forms give the number of subgraphs, induced or not, in which uv has each place; subtracting from the
// densest down leaves the induced ones.
#include "local_counts/edge_orbits.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>

#include "local_counts/wedges.hpp"

namespace motiflux::local_counts {
namespace {

__extension__ using SignedCount = __int128;

constexpr std::size_t kEdgeRowArcs = 1 << 13;

// Numbers of the arcs to greater vertices.
struct EdgeSums {
  explicit EdgeSums(std::size_t arcs) : cliques(arcs, 0), degrees(arcs, 0), sides(arcs, 0) {}

  std::vector<std::uint64_t> cliques;  // 4-cliques
  std::vector<std::uint64_t> degrees;  // of the third vertices of triangles
  std::vector<std::uint64_t> sides;    // triangles at the other two edges of triangles, without this one
};

// Finds the triangles and 4-cliques whose least vertex is x.
class EdgeCliques {
 public:
  EdgeCliques(const view::Adjacency& rows, std::uint32_t vertices, std::span<const std::uint64_t> triangles,
              EdgeSums& sums, bool alone)
      : rows_(rows), triangles_(triangles), sums_(sums), alone_(alone), place_(vertices, 0) {}

  void search(std::uint32_t x, const Workers& workers) {
    const std::uint32_t* const last = rows_.end(x);
    const std::uint32_t* const first = std::upper_bound(rows_.begin(x), last, x);
    const auto size = static_cast<std::size_t>(last - first);
    if (size < 2) return;
    const auto from_x = static_cast<std::size_t>(first - rows_.neighbors);
    for (std::size_t at = 0; at < size; ++at) place_[first[at]] = static_cast<std::uint32_t>(at) + 1;
    found_.clear();
    for (std::size_t i = 0; i + 1 < size; ++i) {
      const std::uint32_t y = first[i];
      if (triangles_[from_x + i] == 0) continue;
      const std::uint32_t* const end = rows_.end(y);
      for (const std::uint32_t* z = std::upper_bound(rows_.begin(y), end, y); z != end; ++z) {
        if (place_[*z] == 0) continue;
        const std::size_t j = place_[*z] - 1;
        const auto yz = static_cast<std::size_t>(z - rows_.neighbors);
        add_triangle(from_x + i, from_x + j, yz, rows_.degree(*z), rows_.degree(y), rows_.degree(x));
        found_.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), yz});
      }
    }
    for (std::size_t at = 0; at < size; ++at) place_[first[at]] = 0;
    if (found_.size() >= 3) count_cliques(from_x, size, workers);
  }

 private:
  struct Side {
    std::uint32_t i, j;  // places of y < z among the greater neighbours of x
    std::size_t arc;     // from y to z
  };

  void add(std::uint64_t& number, std::uint64_t more) {
    if (alone_) {
      number += more;
    } else {
      std::atomic_ref(number).fetch_add(more, std::memory_order_relaxed);
    }
  }

  void add_triangle(std::size_t xy, std::size_t xz, std::size_t yz, std::uint64_t of_z, std::uint64_t of_y,
                    std::uint64_t of_x) {
    add(sums_.degrees[xy], of_z);
    add(sums_.degrees[xz], of_y);
    add(sums_.degrees[yz], of_x);
    const std::uint64_t at_xy = triangles_[xy] - 1, at_xz = triangles_[xz] - 1, at_yz = triangles_[yz] - 1;
    add(sums_.sides[xy], at_xz + at_yz);
    add(sums_.sides[xz], at_xy + at_yz);
    add(sums_.sides[yz], at_xy + at_xz);
  }

  // For each pair of members that are adjacent, the number of members adjacent to both is that of the cliques
  // at the pair with x; it is also part of those at the arcs from x.
  void count_cliques(std::size_t from_x, std::size_t size, const Workers& workers) {
    const std::size_t words = (size + 63) / 64;
    if (bits_.size() < size * words) bits_.resize(size * words, 0);
    numbers_.assign(size, 0);
    const auto flip = [&](bool on) {
      for (const Side& side : found_) {
        const std::uint64_t j = std::uint64_t{1} << (side.j % 64), i = std::uint64_t{1} << (side.i % 64);
        bits_[side.i * words + side.j / 64] = on ? bits_[side.i * words + side.j / 64] | j : 0;
        bits_[side.j * words + side.i / 64] = on ? bits_[side.j * words + side.i / 64] | i : 0;
      }
    };
    flip(true);
    std::size_t looked = 0;
    for (const Side& side : found_) {
      if ((++looked & 0xFFF) == 0) workers.check();
      const std::uint64_t *a = bits_.data() + side.i * words, *b = bits_.data() + side.j * words;
      std::uint64_t common = 0;
      for (std::size_t at = 0; at < words; ++at)
        common += static_cast<std::uint64_t>(std::popcount(a[at] & b[at]));
      if (common == 0) continue;
      numbers_[side.i] += common;
      numbers_[side.j] += common;
      add(sums_.cliques[side.arc], common);
    }
    // A clique x, i, j, k is met at ij and ik by i.
    for (std::size_t at = 0; at < size; ++at)
      if (numbers_[at] > 0) add(sums_.cliques[from_x + at], numbers_[at] / 2);
    flip(false);
  }

  const view::Adjacency& rows_;
  const std::span<const std::uint64_t> triangles_;
  EdgeSums& sums_;
  const bool alone_;
  std::vector<std::uint32_t> place_;  // of each vertex in the set, from 1; all zero between searches
  std::vector<Side> found_;
  std::vector<std::uint64_t> bits_;  // all zero between searches
  std::vector<std::uint64_t> numbers_;
};

SignedCount pairs_among(SignedCount number) {
  return number * (number - 1) / 2;
}

// The induced numbers of the edge uv.
std::array<SignedCount, kEdgeOrbits> orbits_of_edge(SignedCount of_u, SignedCount of_v, SignedCount ends_u,
                                                    SignedCount ends_v, SignedCount closed_u,
                                                    SignedCount closed_v, SignedCount closed,
                                                    SignedCount cycles, SignedCount degrees,
                                                    SignedCount sides, SignedCount cliques) {
  std::array<SignedCount, kEdgeOrbits> n{};
  const SignedCount a = of_u - 1, b = of_v - 1;  // other neighbours
  n[0] = a + b - 2 * closed;
  n[1] = closed;
  n[2] = ends_u + ends_v - a - b - 2 * closed;
  n[3] = a * b - closed;
  n[4] = pairs_among(a) + pairs_among(b);
  n[5] = cycles;
  n[6] = closed_u + closed_v - 2 * closed;
  n[7] = degrees - 2 * closed;
  n[8] = closed * (of_u + of_v - 4);
  n[9] = sides;
  n[10] = pairs_among(closed);
  n[11] = cliques;
  // Each subgraph has the edge in the place of sparser ones on the same vertices so often.
  n[10] -= n[11];
  n[9] -= 4 * n[11];
  n[8] -= n[9] + 4 * n[10] + 4 * n[11];
  n[7] -= n[9] + 2 * n[11];
  n[6] -= n[9] + 2 * n[11];
  n[5] -= n[9] + 2 * n[11];
  n[4] -= n[6] + n[8] + n[9] + 2 * n[10] + 2 * n[11];
  n[3] -= n[5] + n[8] + n[9] + 2 * n[10] + 2 * n[11];
  n[2] -= 2 * n[5] + 2 * n[6] + 2 * n[7] + 3 * n[9] + 4 * n[11];
  return n;
}

}  // namespace

Orbits orbits_of_edges(const view::Adjacency& rows, std::uint32_t vertices, const Workers& workers) {
  const std::uint64_t arcs = rows.offsets[vertices];
  if (Total{arcs} * vertices >= Total{1} << 62)
    throw std::overflow_error("the graph is too large for orbits");
  const std::vector<std::uint64_t> triangles = triangles_of_arcs(rows, vertices, workers);
  const std::vector<std::uint64_t> cycles = four_cycles_of_arcs(rows, vertices, workers);
  EdgeSums sums(arcs);
  const std::span offsets(rows.offsets, std::size_t{vertices} + 1);
  std::mutex mutex;
  std::vector<std::unique_ptr<EdgeCliques>> free;
  parallel_rows(workers, offsets, kEdgeRowArcs, [&](std::size_t begin, std::size_t end) {
    std::unique_lock lock(mutex);
    std::unique_ptr<EdgeCliques> search;
    if (!free.empty()) {
      search = std::move(free.back());
      free.pop_back();
    }
    lock.unlock();
    if (!search)
      search = std::make_unique<EdgeCliques>(rows, vertices, triangles, sums, workers.threads == 1);
    for (std::size_t x = begin; x < end; ++x) {
      workers.check();
      search->search(static_cast<std::uint32_t>(x), workers);
    }
    lock.lock();
    free.push_back(std::move(search));
  });
  std::vector<std::uint64_t> closed(vertices, 0), ends(vertices, 0);
  parallel_rows(workers, offsets, kEdgeRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      for (std::uint64_t arc = rows.offsets[v]; arc != rows.offsets[v + 1]; ++arc) {
        closed[v] += triangles[arc];
        ends[v] += rows.degree(rows.neighbors[arc]) - 1;
      }
      closed[v] /= 2;
    }
  });
  Orbits found{zeros<std::uint64_t>(arcs * kEdgeOrbits, workers), {}};
  parallel_rows(workers, offsets, kEdgeRowArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      workers.check();
      const auto u = static_cast<std::uint32_t>(at);
      for (std::uint64_t arc = rows.offsets[at]; arc != rows.offsets[at + 1]; ++arc) {
        const std::uint32_t v = rows.neighbors[arc];
        if (v < u) continue;
        const auto numbers = orbits_of_edge(
            static_cast<SignedCount>(rows.degree(u)), static_cast<SignedCount>(rows.degree(v)),
            static_cast<SignedCount>(ends[u]), static_cast<SignedCount>(ends[v]),
            static_cast<SignedCount>(closed[u]), static_cast<SignedCount>(closed[v]),
            static_cast<SignedCount>(triangles[arc]), static_cast<SignedCount>(cycles[arc]),
            static_cast<SignedCount>(sums.degrees[arc]), static_cast<SignedCount>(sums.sides[arc]),
            static_cast<SignedCount>(sums.cliques[arc]));
        for (std::size_t orbit = 0; orbit < kEdgeOrbits; ++orbit) {
          if (numbers[orbit] < 0) throw std::logic_error("a negative number of induced subgraphs");
          const auto number = static_cast<Total>(numbers[orbit]);
          found.words[arc * kEdgeOrbits + orbit] = static_cast<std::uint64_t>(number);
          if (const Total high = number >> 64 << 64; high != 0) {
            const std::scoped_lock lock(mutex);
            found.above.emplace_back(arc * kEdgeOrbits + orbit, high);
          }
        }
      }
    }
  });
  return found;
}

}  // namespace motiflux::local_counts
