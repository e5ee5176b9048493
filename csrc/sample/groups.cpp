#include "sample/groups.hpp"

#include <algorithm>
#include <vector>

#include "motiflux/sample/alley.hpp"
#include "motiflux/sample/choose.hpp"
#include "motiflux/sample/state.hpp"
#include "motiflux/sample/tree.hpp"
#include "motiflux/sample/wander_join.hpp"
#include "sample/draws.hpp"
#include "sample/watch.hpp"

namespace motiflux::sample {
namespace {

// Groups per work item of a thread.
constexpr std::size_t kGroupGrain = 8;
constexpr std::uint64_t kMostWork = ~std::uint32_t{0};

template <class Policy>
class Group {
 public:
  Group(const CandidateGraph& graph, const Drawing& drawing, const Watch& watch)
      : graph_(graph), drawing_(drawing), watch_(watch) {}

  // Returns the lanes with valid samples.
  std::uint32_t draw(std::uint64_t number) {
    for (State& lane : lanes_) lane = {&graph_, first_weight<Policy>(graph_), {}};
    std::uint32_t alive = ~std::uint32_t{0};
    work_ = 0;
    for (std::uint32_t level = 0; level < graph_.levels && alive != 0; ++level) {
      std::uint32_t left = 0;
      make_ready(drawing_.seed, number * kGroup, level, keys_);
      for_each_bit(alive, [&](std::uint32_t lane) {
        const std::uint64_t more = extend<Policy>(graph_, lanes_[lane], level, keys_[lane]);
        work_ += more;
        unwatched_ += more;
        if (unwatched_ >= kCheckEvery) {
          unwatched_ = 0;
          watch_.look();
        }
        if (lanes_[lane].weight > 0) left |= 1u << lane;
      });
      alive = left;
      if (level + 1 < graph_.levels) alive = inherit(level, alive);
    }
    return alive;
  }

  std::uint64_t work() const { return work_; }

  // In the order of a warp's butterfly sum: exchanges with the lane 16, 8, ... away.
  double sum() const {
    double weights[kGroup];
    for (std::uint32_t lane = 0; lane < kGroup; ++lane) weights[lane] = lanes_[lane].weight;
    for (std::uint32_t step = kGroup / 2; step > 0; step /= 2)
      for (std::uint32_t lane = 0; lane < step; ++lane) weights[lane] += weights[lane + step];
    return weights[0];
  }

 private:
  // Returns the lanes that continue: the result of `heritage` for each lane, computed for all at once.
  std::uint32_t inherit(std::uint32_t level, std::uint32_t alive) {
    if (drawing_.inheritance == Inheritance::kOff || alive == 0 || alive == ~std::uint32_t{0}) return alive;
    std::uint32_t living[kGroup], shares[kGroup], count = 0;
    for_each_bit(alive, [&](std::uint32_t lane) { living[count++] = lane; });
    const std::uint32_t heirs = drawing_.inheritance == Inheritance::kOne ? 1 : count;
    for (std::uint32_t rank = 0; rank < count; ++rank) shares[rank] = 1;
    std::uint32_t rank = 0;
    for_each_bit(~alive, [&](std::uint32_t lane) {
      ++shares[rank];
      std::copy_n(lanes_[living[rank]].values, level + 1, lanes_[lane].values);
      if (++rank == heirs) rank = 0;
    });
    for (rank = 0; rank < count; ++rank) lanes_[living[rank]].weight /= shares[rank];
    rank = 0;
    for_each_bit(~alive, [&](std::uint32_t lane) {
      lanes_[lane].weight = lanes_[living[rank]].weight;
      if (++rank == heirs) rank = 0;
    });
    return ~std::uint32_t{0};
  }

  const CandidateGraph& graph_;
  const Drawing drawing_;
  const Watch& watch_;
  std::uint64_t work_ = 0;
  std::uint64_t unwatched_ = 0;
  State lanes_[kGroup];
  ReadyKey keys_[kGroup];
};

template <class Policy>
std::size_t draw_with(const CandidateGraph& graph, const Drawing& drawing, std::uint64_t first,
                      std::size_t count, const GroupSums& sums, const Workers& workers, const Watch& watch) {
  std::vector<std::uint8_t> done((count + kGroupGrain - 1) / kGroupGrain, 0);
  parallel_for(workers, count, kGroupGrain, [&](std::size_t begin, std::size_t end) {
    try {
      watch.look();
      Group<Policy> group(graph, drawing, watch);
      for (std::size_t i = begin; i < end; ++i) {
        sums.valid[i] = count_bits(group.draw(first + i));
        sums.weights[i] = group.sum();
        sums.work[i] = static_cast<std::uint32_t>(std::min(group.work(), kMostWork));
      }
      done[begin / kGroupGrain] = 1;
    } catch (const Late&) {
    }
  });
  const auto cut = std::find(done.begin(), done.end(), 0) - done.begin();
  return std::min(count, static_cast<std::size_t>(cut) * kGroupGrain);
}

}  // namespace

std::size_t draw_groups(const CandidateGraph& graph, const Drawing& drawing, std::uint64_t first,
                        std::size_t count, const GroupSums& sums, const Workers& workers,
                        std::optional<search::Clock::time_point> deadline) {
  const Watch watch(workers, deadline);
  switch (drawing.estimator) {
    case Estimator::kWanderJoin:
      return draw_with<WanderJoin>(graph, drawing, first, count, sums, workers, watch);
    case Estimator::kAlley:
      return draw_with<Alley>(graph, drawing, first, count, sums, workers, watch);
    case Estimator::kTree:
      return draw_with<Tree>(graph, drawing, first, count, sums, workers, watch);
  }
  return 0;
}

}  // namespace motiflux::sample
