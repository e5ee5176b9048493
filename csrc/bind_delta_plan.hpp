// From the Python form of delta plans to the native one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "dynamic/monitor.hpp"

namespace motiflux::delta_plan {

using Codes = std::optional<std::vector<dynamic::Label>>;
using Levels = std::vector<int>;
using Pair = std::tuple<int, std::uint32_t>;  // way, relation
using Source =
    std::tuple<int, int, std::uint32_t, std::uint32_t, bool>;  // level, way, target, relation, before
using Step = std::tuple<std::vector<Source>, int, int, std::uint32_t, std::uint32_t, std::uint32_t, int>;
using Component = std::tuple<Levels, Levels, Levels>;  // levels, sets, chains
using Tail = std::tuple<int, std::vector<Component>>;
using Image = std::tuple<std::uint8_t, std::vector<std::uint8_t>>;  // vertex, moves
using Orbit = std::tuple<std::uint8_t, std::vector<Image>>;         // point, images
// row cost, replaces, symmetries, sums, injective
using Choice = std::tuple<double, bool, std::uint64_t, bool, bool>;
using SharedStep = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;        // after, before, distinct
using Shared = std::optional<std::tuple<std::uint32_t, std::vector<SharedStep>>>;  // group, from level 2
using Absent = std::tuple<int, int, int, std::uint32_t, bool>;  // level, earlier one, way, relation, before
// Level, the level at which it is judged, way, target, relation, levels that may be there, before, list.
using Bare = std::tuple<int, int, int, std::uint32_t, std::uint32_t, std::uint32_t, bool, int>;
using Joined = std::tuple<int, int, int, std::uint32_t>;  // two levels, way, relation
// Other cases, each with the edges that are there and those that are not; levels whose vertices ascend.
using Cases = std::tuple<std::vector<std::tuple<std::vector<Joined>, std::vector<Joined>>>,
                         std::vector<std::array<std::uint8_t, 2>>>;
// Whether the plan is inverse, the edges that must not be there, within the pair, at later levels and to any
// vertex, the level of the pair that is in no match (-1: none), and the other cases.
using Negated = std::tuple<bool, std::vector<Pair>, std::vector<Absent>, std::vector<Bare>, int, Cases>;
using Tallied = std::vector<std::tuple<int, std::uint64_t>>;  // level, weight
using Plan = std::tuple<std::vector<Pair>, Codes, Codes, std::vector<Step>, Tail,
                        std::vector<std::vector<std::uint8_t>>, std::uint64_t, Choice, std::vector<Orbit>,
                        Shared, std::optional<Negated>, Tallied>;

}  // namespace motiflux::delta_plan

namespace motiflux {

using PyPlan = delta_plan::Plan;

// Plans of one pattern, or of one place of it. One that replaces its last levels follows the one it replaces.
// Throws what `require` throws, of bind_checks.hpp, for a malformed plan.
std::vector<dynamic::Plan> plans_of(const std::vector<PyPlan>& given);

}  // namespace motiflux
