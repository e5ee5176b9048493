// Three passes: the triangles and 4-cliques from their least vertex, which also count, for each adjacent
// pair, its common neighbours by their two kinds; the 4-cycles from their greatest vertex, by the kinds of
// its wedges to each other vertex; and the closed forms of stars, paths, paws and diamonds from these numbers
// and the degrees.
#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>

#include "census/bins.hpp"

namespace motiflux::census {
namespace {

constexpr std::size_t kTetradArcs = 1 << 13;

// What all threads read or write.
template <int K>
struct Tables {
  static constexpr std::size_t kCommon = K * K;

  Tables(const TypedRows& given, const Workers& given_workers)
      : rows(given), workers(given_workers), first_pair(std::size_t{given.vertices} + 1, 0) {
    for (std::size_t v = 0; v < rows.vertices; ++v)
      first_pair[v + 1] = first_pair[v] + (rows.offsets[v + 1] - rows.above[v]);
    common.resize(first_pair[rows.vertices] * kCommon, 0);
    ends.resize(std::size_t{rows.vertices} * K, 0);
  }

  int kind(std::uint64_t at) const { return K == 1 ? 0 : rows.kinds[at]; }
  static constexpr int back(int kind) { return K == 1 ? 0 : reversed(kind); }

  // The numbers of a pair u < v, whose entry is in the row of u: of w by kind uw times K plus kind vw.
  std::uint32_t* common_of(std::uint32_t u, std::uint64_t at) {
    return common.data() + (first_pair[u] + (at - rows.above[u])) * kCommon;
  }

  const TypedRows& rows;
  const Workers& workers;
  std::vector<std::uint64_t> first_pair;
  std::vector<std::uint32_t> common;
  std::vector<std::uint32_t> ends;  // neighbours of each vertex by kind
};

void increase(std::uint32_t& number, bool alone) {
  if (alone) {
    ++number;
  } else {
    std::atomic_ref(number).fetch_add(1, std::memory_order_relaxed);
  }
}

template <int K>
class Cliques {
 public:
  explicit Cliques(Tables<K>& tables)
      : tables_(tables),
        rows_(tables.rows),
        alone_(tables.workers.threads == 1),
        place_(rows_.vertices, 0),
        found(num_bins(K, 4), 0) {}

  void search(std::uint32_t x) {
    const std::uint64_t first = rows_.above[x];
    const auto size = static_cast<std::size_t>(rows_.offsets[x + 1] - first);
    if (size < 2) return;
    for (std::size_t at = 0; at < size; ++at)
      place_[rows_.neighbors[first + at]] = static_cast<std::uint32_t>(at) + 1;
    triangles_.clear();
    for (std::size_t i = 0; i + 1 < size; ++i) {
      const std::uint32_t y = rows_.neighbors[first + i];
      const int xy = tables_.kind(first + i);
      for (std::uint64_t at = rows_.above[y]; at != rows_.offsets[y + 1]; ++at) {
        const std::uint32_t place = place_[rows_.neighbors[at]];
        if (place == 0) continue;
        const std::uint64_t j = place - 1;
        const int xz = tables_.kind(first + j), yz = tables_.kind(at);
        increase(tables_.common_of(x, first + i)[xz * K + yz], alone_);
        increase(tables_.common_of(x, first + j)[xy * K + tables_.back(yz)], alone_);
        increase(tables_.common_of(y, at)[tables_.back(xy) * K + tables_.back(xz)], alone_);
        ++found[kFirstTriangle + static_cast<std::size_t>((xy * K + xz) * K + yz)];
        triangles_.push_back({static_cast<std::uint32_t>(i), place - 1, static_cast<std::uint8_t>(yz)});
      }
    }
    for (std::size_t at = 0; at < size; ++at) place_[rows_.neighbors[first + at]] = 0;
    if (triangles_.size() >= 3) count_cliques(first, size);
  }

 private:
  static constexpr std::size_t kFirstTriangle = first_bin(K, kTriangles);
  static constexpr std::size_t kFirstClique = first_bin(K, kCliques);

  struct Triangle {
    std::uint32_t i, j;  // places of y < z among the greater neighbours of x
    std::uint8_t yz;
  };

  // Members i < j < l that are pairwise adjacent, from a row of bits for each member: greater ones adjacent
  // to it.
  void count_cliques(std::uint64_t first, std::size_t size) {
    const std::size_t words = (size + 63) / 64;
    if (bits_.size() < size * words) bits_.resize(size * words, 0);
    if (K > 1 && kinds_.size() < size * size) kinds_.resize(size * size);
    for (const auto& [i, j, yz] : triangles_) {
      bits_[i * words + j / 64] |= std::uint64_t{1} << (j % 64);
      if constexpr (K > 1) kinds_[i * size + j] = yz;
    }
    std::size_t looked = 0;
    for (const Triangle& triangle : triangles_) {
      if ((++looked & 0xFFF) == 0) tables_.workers.check();
      count_above(triangle, first, size, words);
    }
    for (const auto& [i, j, yz] : triangles_) bits_[i * words + j / 64] = 0;
  }

  void count_above(const Triangle& triangle, std::uint64_t first, std::size_t size, std::size_t words) {
    const auto [i, j, yz] = triangle;
    const std::uint64_t *a = bits_.data() + i * words, *b = bits_.data() + j * words;
    const int xy = tables_.kind(first + i), xz = tables_.kind(first + j);
    for (std::size_t word = j / 64; word < words; ++word) {
      std::uint64_t both = a[word] & b[word];
      if constexpr (K == 1) {
        found[kFirstClique] += static_cast<std::uint64_t>(std::popcount(both));
      } else {
        for (; both != 0; both &= both - 1) {
          const std::size_t l = 64 * word + static_cast<std::size_t>(std::countr_zero(both));
          const int xw = tables_.kind(first + l), yw = kinds_[i * size + l], zw = kinds_[j * size + l];
          const int digits = ((((xy * K + xz) * K + xw) * K + yz) * K + yw) * K + zw;
          ++found[kFirstClique + static_cast<std::size_t>(digits)];
        }
      }
    }
  }

  Tables<K>& tables_;
  const TypedRows& rows_;
  const bool alone_;
  std::vector<std::uint32_t> place_;  // of each vertex in the set, from 1; all zero between searches
  std::vector<Triangle> triangles_;   // with x
  std::vector<std::uint64_t> bits_;   // all zero between searches
  std::vector<std::uint8_t> kinds_;   // of members i < j that are adjacent

 public:
  Bins found;
};

template <int K>
class Cycles {
 public:
  explicit Cycles(Tables<K>& tables)
      : rows_(tables.rows),
        tables_(tables),
        wedges_(std::size_t{rows_.vertices} * K * K, 0),
        found(num_bins(K, 4), 0) {}

  void search(std::uint32_t x) {
    touched_.clear();
    for (std::uint64_t at = rows_.offsets[x]; at != rows_.above[x]; ++at) {
      const std::uint32_t y = rows_.neighbors[at];
      const int xy = tables_.kind(at);
      if (((at - rows_.offsets[x]) & 0xFF) == 0) tables_.workers.check();
      for (std::uint64_t to = rows_.offsets[y]; to != rows_.offsets[y + 1]; ++to) {
        const std::uint32_t z = rows_.neighbors[to];
        if (z >= x) break;
        std::uint32_t* const of_z = wedges_.data() + std::size_t{z} * (K * K);
        if (total(of_z) == 0) touched_.push_back(z);
        ++of_z[xy * K + tables_.back(tables_.kind(to))];
      }
    }
    for (const std::uint32_t z : touched_) add_pairs(wedges_.data() + std::size_t{z} * (K * K));
  }

 private:
  static std::uint32_t total(const std::uint32_t* numbers) {
    std::uint32_t sum = 0;
    for (int at = 0; at < K * K; ++at) sum |= numbers[at];
    return sum;
  }

  void add_pairs(std::uint32_t* numbers) {
    for (int i = 0; i < K * K; ++i) {
      const std::uint64_t one = numbers[i];
      if (one == 0) continue;
      Total* const into = found.data() + first_bin(K, kCycles) + i * (K * K);
      into[i] += Total{one} * (one - 1) / 2;
      for (int j = i + 1; j < K * K; ++j) into[j] += Total{one} * numbers[j];
      numbers[i] = 0;
    }
  }

  const TypedRows& rows_;
  Tables<K>& tables_;
  std::vector<std::uint32_t> wedges_;  // from x to each vertex; all zero between searches
  std::vector<std::uint32_t> touched_;

 public:
  Bins found;
};

// The closed forms of one vertex u, and of its pairs with greater vertices.
template <int K>
class ClosedForms {
 public:
  explicit ClosedForms(Tables<K>& tables) : tables_(tables), rows_(tables.rows), found(num_bins(K, 4), 0) {}

  void search(std::uint32_t u) {
    add_stars(u);
    for (std::uint64_t at = rows_.above[u]; at != rows_.offsets[u + 1]; ++at) {
      const std::uint32_t v = rows_.neighbors[at];
      const int uv = tables_.kind(at);
      const std::uint32_t* const common = tables_.common_of(u, at);
      ++bin(kPairs)[uv];
      add_paths(u, v, uv, common);
      for (int both = 0; both < K * K; ++both) {
        if (common[both] == 0) continue;
        const int uw = both / K, vw = both % K;
        add_paws(u, uv, uw, vw, common[both]);
        add_paws(v, tables_.back(uv), vw, uw, common[both]);
        add_diamonds(uv, both, common);
      }
    }
  }

 private:
  Total* bin(int shape) { return found.data() + first_bin(K, shape); }
  const std::uint32_t* ends(std::uint32_t v) const { return tables_.ends.data() + std::size_t{v} * K; }

  void add_stars(std::uint32_t u) {
    const std::uint32_t* const d = ends(u);
    const auto choose = [&](int kind, std::uint64_t taken) -> Total {
      const std::uint64_t among = d[kind];
      return taken == 1      ? among
             : among < taken ? 0
             : taken == 2    ? Total{among} * (among - 1) / 2
                             : Total{among} * (among - 1) / 2 * (among - 2) / 3;
    };
    for (int i = 0; i < K; ++i) {
      bin(kWedges)[i * K + i] += choose(i, 2);
      bin(kStars)[(i * K + i) * K + i] += choose(i, 3);
      for (int j = i + 1; j < K; ++j) {
        bin(kWedges)[i * K + j] += choose(i, 1) * choose(j, 1);
        bin(kStars)[(i * K + i) * K + j] += choose(i, 2) * choose(j, 1);
        bin(kStars)[(i * K + j) * K + j] += choose(i, 1) * choose(j, 2);
      }
    }
    if constexpr (K == 3) bin(kStars)[(0 * K + 1) * K + 2] += Total{d[0]} * d[1] * d[2];
  }

  // All paths w-u-v-x, less those whose ends are one vertex.
  void add_paths(std::uint32_t u, std::uint32_t v, int uv, const std::uint32_t* common) {
    const int vu = tables_.back(uv);
    for (int a = 0; a < K; ++a)
      for (int b = 0; b < K; ++b)
        bin(kPaths)[(uv * K + a) * K + b] +=
            Total{ends(u)[a] - std::uint32_t{a == uv}} * (ends(v)[b] - std::uint32_t{b == vu}) -
            common[a * K + b];
  }

  // The triangles of u, v, w of these kinds with each further neighbour of u.
  void add_paws(std::uint32_t u, int uv, int uw, int vw, std::uint64_t triangles) {
    Total* const into = bin(kPaws) + ((uv * K + uw) * K + vw) * K;
    for (int tail = 0; tail < K; ++tail) {
      const std::uint64_t others =
          std::uint64_t{ends(u)[tail]} - std::uint64_t{tail == uv} - std::uint64_t{tail == uw};
      into[tail] += Total{triangles} * others;
    }
  }

  void add_diamonds(int uv, int both, const std::uint32_t* common) {
    Total* const into = bin(kDiamonds) + (uv * K * K + both) * (K * K);
    const std::uint64_t one = common[both];
    into[both] += Total{one} * (one - 1) / 2;
    for (int other = both + 1; other < K * K; ++other) into[other] += Total{one} * common[other];
  }

  Tables<K>& tables_;
  const TypedRows& rows_;

 public:
  Bins found;
};

// Searches all vertices, each thread with its own searcher, and adds what they found to the bins.
template <int K, template <int> class Searcher>
void search_all(Tables<K>& tables, Bins& bins) {
  std::mutex mutex;
  std::vector<std::unique_ptr<Searcher<K>>> free;
  parallel_rows(tables.workers, tables.rows.offsets, kTetradArcs, [&](std::size_t begin, std::size_t end) {
    std::unique_lock lock(mutex);
    std::unique_ptr<Searcher<K>> searcher;
    if (!free.empty()) {
      searcher = std::move(free.back());
      free.pop_back();
    }
    lock.unlock();
    if (!searcher) searcher = std::make_unique<Searcher<K>>(tables);
    for (std::size_t x = begin; x < end; ++x) {
      tables.workers.check();
      searcher->search(static_cast<std::uint32_t>(x));
    }
    lock.lock();
    free.push_back(std::move(searcher));
  });
  for (const auto& searcher : free)
    for (std::size_t at = 0; at < bins.size(); ++at) bins[at] += searcher->found[at];
}

template <int K>
Bins tetrads(const TypedRows& rows, const Workers& workers) {
  Bins bins(num_bins(K, 4), 0);
  Tables<K> tables(rows, workers);
  parallel_rows(workers, rows.offsets, kTetradArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v)
      for (std::uint64_t at = rows.offsets[v]; at != rows.offsets[v + 1]; ++at)
        ++tables.ends[v * K + static_cast<std::size_t>(tables.kind(at))];
  });
  search_all<K, Cliques>(tables, bins);
  search_all<K, Cycles>(tables, bins);
  search_all<K, ClosedForms>(tables, bins);
  return bins;
}

}  // namespace

Bins count_tetrads(const TypedRows& rows, int kinds, const Workers& workers) {
  return kinds == 1 ? tetrads<1>(rows, workers) : tetrads<3>(rows, workers);
}

Bins count_bins(const view::Adjacency& forward, const view::Adjacency& reverse, std::uint32_t vertices,
                int kinds, int size, const Workers& workers) {
  if (size == 3) return count_triads(forward, reverse, vertices, kinds, workers);
  return count_tetrads(typed_rows(forward, reverse, vertices, workers), kinds, workers);
}

}  // namespace motiflux::census
