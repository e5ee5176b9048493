#include "census/triad_orbits.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace motiflux::census {
namespace {

constexpr std::size_t kOrbitArcs = 1 << 14;

// Adds the triangles whose least vertex is x.
class Triangles {
 public:
  Triangles(const TypedRows& rows, const TriadOrbits& orbits, std::vector<std::uint64_t>& numbers, bool alone)
      : rows_(rows), orbits_(orbits), numbers_(numbers), alone_(alone), marks_(rows.vertices, 0) {}

  void search(std::uint32_t x) {
    const std::uint64_t first = rows_.above[x], last = rows_.offsets[x + 1];
    if (last - first < 2) return;
    for (std::uint64_t at = first; at != last; ++at)
      marks_[rows_.neighbors[at]] = static_cast<std::uint8_t>(rows_.kinds[at] + 1);
    for (std::uint64_t at = first; at != last; ++at) {
      const std::uint32_t y = rows_.neighbors[at];
      for (std::uint64_t to = rows_.above[y]; to != rows_.offsets[y + 1]; ++to) {
        const std::uint32_t z = rows_.neighbors[to];
        if (marks_[z] == 0) continue;
        const int code = (rows_.kinds[at] * 3 + (marks_[z] - 1)) * 3 + rows_.kinds[to];
        const std::uint32_t* const orbit = orbits_.triangles.data() + 3 * code;
        add(x, orbit[0]);
        add(y, orbit[1]);
        add(z, orbit[2]);
      }
    }
    for (std::uint64_t at = first; at != last; ++at) marks_[rows_.neighbors[at]] = 0;
  }

 private:
  void add(std::uint32_t v, std::uint32_t orbit) {
    std::uint64_t& number = numbers_[v * orbits_.orbits + orbit];
    if (alone_) {
      ++number;
    } else {
      std::atomic_ref(number).fetch_add(1, std::memory_order_relaxed);
    }
  }

  const TypedRows& rows_;
  const TriadOrbits& orbits_;
  std::vector<std::uint64_t>& numbers_;
  const bool alone_;
  std::vector<std::uint8_t> marks_;
};

std::array<std::uint64_t, 3> ends_of(const TypedRows& rows, std::uint32_t v) {
  std::array<std::uint64_t, 3> ends{};
  for (std::uint64_t at = rows.offsets[v]; at != rows.offsets[v + 1]; ++at) ++ends[rows.kinds[at]];
  return ends;
}

}  // namespace

std::vector<std::uint64_t> triad_orbits(const TypedRows& rows, const TriadOrbits& orbits,
                                        const Workers& workers) {
  std::vector<std::uint64_t> numbers(std::size_t{rows.vertices} * orbits.orbits, 0);
  std::mutex mutex;
  std::vector<std::unique_ptr<Triangles>> free;
  parallel_rows(workers, rows.offsets, kOrbitArcs, [&](std::size_t begin, std::size_t end) {
    std::unique_lock lock(mutex);
    std::unique_ptr<Triangles> search;
    if (!free.empty()) {
      search = std::move(free.back());
      free.pop_back();
    }
    lock.unlock();
    if (!search) search = std::make_unique<Triangles>(rows, orbits, numbers, workers.threads == 1);
    for (std::size_t x = begin; x < end; ++x) {
      workers.check();
      search->search(static_cast<std::uint32_t>(x));
    }
    lock.lock();
    free.push_back(std::move(search));
  });
  std::vector<std::array<std::uint64_t, 3>> ends(rows.vertices);
  parallel_rows(workers, rows.offsets, kOrbitArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) ends[v] = ends_of(rows, static_cast<std::uint32_t>(v));
  });
  parallel_rows(workers, rows.offsets, kOrbitArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      workers.check();
      std::uint64_t* const own = numbers.data() + v * orbits.orbits;
      for (int i = 0; i < 3; ++i) {
        const std::uint64_t one = ends[v][static_cast<std::size_t>(i)];
        if (one == 0) continue;
        own[orbits.pairs[static_cast<std::size_t>(i)]] += one;
        own[orbits.middles[static_cast<std::size_t>(4 * i)]] += one * (one - 1) / 2;
        for (int j = i + 1; j < 3; ++j)
          own[orbits.middles[static_cast<std::size_t>(3 * i + j)]] +=
              one * ends[v][static_cast<std::size_t>(j)];
      }
      for (std::uint64_t at = rows.offsets[v]; at != rows.offsets[v + 1]; ++at) {
        const int kind = rows.kinds[at];
        for (int next = 0; next < 3; ++next)
          own[orbits.ends[static_cast<std::size_t>(3 * kind + next)]] +=
              ends[rows.neighbors[at]][static_cast<std::size_t>(next)] - (next == reversed(kind));
      }
      // Orbits of wedges contain none of wedges, those of triangles no triangles: the order does not matter.
      for (std::size_t sparse = 0; sparse < orbits.orbits; ++sparse) {
        const std::uint32_t* const times = orbits.contained.data() + sparse * orbits.orbits;
        for (std::size_t dense = 0; dense < orbits.orbits; ++dense)
          if (times[dense] != 0) own[sparse] -= times[dense] * own[dense];
      }
    }
  });
  return numbers;
}

}  // namespace motiflux::census
