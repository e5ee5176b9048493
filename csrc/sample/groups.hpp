// Groups of samples on the CPU: the work of a GPU's warp, lane by lane.
#pragma once

#include <cstdint>

#include <optional>

#include "common/parallel.hpp"
#include "motiflux/sample/graph.hpp"
#include "motiflux/sample/inherit.hpp"
#include "search/control.hpp"

namespace motiflux::sample {

enum class Estimator : std::uint8_t { kWanderJoin = 0, kAlley = 1, kTree = 2 };

struct Drawing {
  Estimator estimator = Estimator::kAlley;
  Inheritance inheritance = Inheritance::kSpread;
  std::uint64_t seed = 0;
};

// One entry per group.
struct GroupSums {
  double* weights;       // sum of the weights of valid samples
  std::uint32_t* valid;  // the number of valid samples
  std::uint32_t* work;   // candidates met and rows read: the same on every engine
};

// Draws groups first, first + 1, ... and returns the number of groups, from the first on, drawn before the
// deadline. Cancelled by the workers' flag.
std::size_t draw_groups(const CandidateGraph& graph, const Drawing& drawing, std::uint64_t first,
                        std::size_t count, const GroupSums& sums, const Workers& workers,
                        std::optional<search::Clock::time_point> deadline);

}  // namespace motiflux::sample
