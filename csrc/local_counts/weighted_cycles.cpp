#include <algorithm>
#include <memory>
#include <mutex>

#include "local_counts/wedges.hpp"

namespace motiflux::local_counts {
namespace {

constexpr std::size_t kRowArcs = 1 << 14;  // arcs of a work item

// The weight of the reverse arc of each arc.
std::vector<std::uint64_t> reversed(const view::Adjacency& rows, std::uint32_t vertices,
                                    std::span<const std::uint64_t> weights, const Workers& workers) {
  std::vector<std::uint64_t> found(weights.size());
  std::vector<std::uint64_t> next(rows.offsets, rows.offsets + vertices);
  for (std::uint32_t u = 0; u < vertices; ++u) {  // rows ascend: arcs to a vertex are met in its row's order
    workers.check();
    for (std::uint64_t arc = rows.offsets[u]; arc != rows.offsets[u + 1]; ++arc)
      found[next[rows.neighbors[arc]]++] = weights[arc];
  }
  return found;
}

// Finds the 4-cycles x, m, z, m' whose vertices are less than x. A cycle counts at each vertex with the
// weights of the arcs from its two neighbours to the opposite vertex.
class Cycles {
 public:
  Cycles(const view::Adjacency& rows, std::uint32_t vertices, std::span<const std::uint64_t> there,
         std::span<const std::uint64_t> back)
      : rows_(rows), there_(there), back_(back), wedges_(vertices), found_(vertices, 0) {}

  const std::vector<Total>& found() const { return found_; }

  void search(std::uint32_t x) {
    for_each_wedge(x, [&](std::uint64_t first, std::uint64_t second, Wedges& wedges) {
      ++wedges.number;
      wedges.to_end += there_[second];
      wedges.to_start += back_[first];
      wedges.to_middle += there_[first] + back_[second];
    });
    for_each_wedge(x, [&](std::uint64_t first, std::uint64_t second, Wedges& wedges) {
      found_[rows_.neighbors[first]] += wedges.to_middle - there_[first] - back_[second];
    });
    for_each_wedge(x, [&](std::uint64_t, std::uint64_t second, Wedges& wedges) {
      if (wedges.number > 1) {
        found_[x] += Total{wedges.to_end} * (wedges.number - 1);
        found_[rows_.neighbors[second]] += Total{wedges.to_start} * (wedges.number - 1);
      }
      wedges = {};
    });
  }

 private:
  // Over the middles of the wedges from x to one vertex z, sums of the weights of arcs.
  struct Wedges {
    std::uint64_t number = 0;
    std::uint64_t to_end = 0;     // middle to z
    std::uint64_t to_start = 0;   // middle to x
    std::uint64_t to_middle = 0;  // x and z to middle
  };

  // Calls visit(arc from x, arc to z, wedges of z).
  template <class Visit>
  void for_each_wedge(std::uint32_t x, Visit&& visit) {
    for (std::uint64_t first = rows_.offsets[x]; first != rows_.offsets[x + 1]; ++first) {
      const std::uint32_t middle = rows_.neighbors[first];
      if (middle >= x) return;
      for (std::uint64_t second = rows_.offsets[middle]; second != rows_.offsets[middle + 1]; ++second) {
        const std::uint32_t z = rows_.neighbors[second];
        if (z >= x) break;
        visit(first, second, wedges_[z]);
      }
    }
  }

  const view::Adjacency& rows_;
  const std::span<const std::uint64_t> there_, back_;  // weights of arcs, and of their reverse arcs
  std::vector<Wedges> wedges_;                         // by z; all zero between searches
  std::vector<Total> found_;
};

}  // namespace

std::vector<Total> weighted_cycles(const view::Adjacency& rows, std::uint32_t vertices,
                                   std::span<const std::uint64_t> weights, const Workers& workers) {
  Total sum = 0;
  for (const std::uint64_t weight : weights) sum += weight;
  if (sum >= Total{1} << 62) throw std::overflow_error("sums of weights have 64 bits");
  const std::vector<std::uint64_t> back = reversed(rows, vertices, weights, workers);
  std::mutex mutex;
  std::vector<std::unique_ptr<Cycles>> free;
  parallel_rows(workers, std::span(rows.offsets, std::size_t{vertices} + 1), kRowArcs,
                [&](std::size_t begin, std::size_t end) {
                  std::unique_lock lock(mutex);
                  std::unique_ptr<Cycles> own;
                  if (free.empty()) {
                    own = std::make_unique<Cycles>(rows, vertices, weights, back);
                  } else {
                    own = std::move(free.back());
                    free.pop_back();
                  }
                  lock.unlock();
                  for (std::size_t x = begin; x < end; ++x) {
                    workers.check();
                    own->search(static_cast<std::uint32_t>(x));
                  }
                  lock.lock();
                  free.push_back(std::move(own));
                });
  std::vector<Total> found(vertices, 0);
  for (const auto& one : free)
    for (std::size_t vertex = 0; vertex < vertices; ++vertex) found[vertex] += one->found()[vertex];
  return found;
}

}  // namespace motiflux::local_counts
