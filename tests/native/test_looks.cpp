// Orbits of edges look often enough whether they are to stop: at each vertex of a loop over the neighbours of
// a hub, and while large arrays are cleared.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "common/parallel.hpp"
#include "common/zeros.hpp"
#include "local_counts/five/edges.hpp"
#include "local_counts/five/triangles.hpp"
#include "local_counts/five/walks.hpp"

namespace motiflux {
namespace {

namespace five = local_counts::five;

constexpr std::uint32_t kRim = 2000;

// A ring of kRim vertices, and a hub that is joined to all of them.
struct Wheel {
  Wheel() {
    offsets.push_back(0);
    for (std::uint32_t v = 0; v < kRim; ++v) {
      const std::uint32_t before = (v + kRim - 1) % kRim, after = (v + 1) % kRim;
      for (const std::uint32_t u : {std::min(before, after), std::max(before, after), kRim})
        neighbors.push_back(u);
      offsets.push_back(neighbors.size());
    }
    for (std::uint32_t v = 0; v < kRim; ++v) neighbors.push_back(v);
    offsets.push_back(neighbors.size());
    rows.offsets = offsets.data();
    rows.neighbors = neighbors.data();
  }

  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> neighbors;
  view::Adjacency rows{};
};

// Counts looks in place of Workers.
struct Looks {
  std::size_t* looks;
  void check() const { ++*looks; }
};

template <class Work>
bool is_cancelled(Work&& work) {
  try {
    work();
  } catch (const Cancelled&) {
    return true;
  }
  return false;
}

void large_arrays_are_cleared_until_work_is_to_stop() {
  constexpr std::size_t kSize = (std::size_t{1} << 20) + 3;
  std::atomic<bool> stop{false};
  for (const int threads : {1, 3}) {
    const Workers workers{threads, &stop};
    const auto cleared = zeros<std::uint64_t>(kSize, workers);
    CHECK(cleared.size() == kSize);
    for (const std::uint64_t one : cleared) CHECK(one == 0);
    stop = true;
    CHECK(is_cancelled([&] { zeros<std::uint64_t>(kSize, workers); }));
    stop = false;
  }
}

// Its wedges, the vertices beyond each of its neighbours, their steps, and those of its neighbours.
void walks_from_a_hub_look_in_each_of_their_four_loops() {
  const Wheel wheel;
  const five::Triangles triangles(wheel.rows, kRim + 1, Workers{});
  five::Walks<std::uint64_t> walks(triangles);
  std::size_t looks = 0;
  std::uint64_t steps = 0;
  walks.search_edges(kRim, Looks{&looks}, [&](std::uint64_t, std::uint64_t number) { steps += number; });
  CHECK(looks >= 4 * std::size_t{kRim});
  CHECK(steps > 0);
  looks = 0;
  walks.search(kRim, Looks{&looks}, [&](std::uint32_t, std::uint64_t number) { steps += number; });
  CHECK(looks >= 2 * std::size_t{kRim});
}

void sums_of_edges_stop() {
  const Wheel wheel;
  std::atomic<bool> stop{false};
  const auto sums = five::sums_of_edges(wheel.rows, kRim + 1, Workers{1, &stop});
  CHECK(sums.size() == 2 * std::size_t{kRim} * five::kEdgeSums);
  stop = true;
  CHECK(is_cancelled([&] { five::sums_of_edges(wheel.rows, kRim + 1, Workers{1, &stop}); }));
}

}  // namespace
}  // namespace motiflux

int main() {
  motiflux::large_arrays_are_cleared_until_work_is_to_stop();
  motiflux::walks_from_a_hub_look_in_each_of_their_four_loops();
  motiflux::sums_of_edges_stop();
}
