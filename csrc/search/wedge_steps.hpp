// The steps of a search by wedges (search/wedge_walker.hpp): in which order edges are matched, and which
// copies are left to each of them.
//
// The comparisons within the core, and those within the wedge, form forests. Each edge has the copies that
// go with some copies of the edges below it in its tree. These are neighbours in the order of values, as a
// comparison by order depends on the least or the greatest copy left below alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "copies/ranges.hpp"
#include "search/native_plan.hpp"

namespace motiflux::search {

// The copies of one edge that a comparison allows, by the best copy of another edge.
struct WedgeTest {
  const copies::Comparison* comparison = nullptr;
  int other = 0;            // the variable below
  bool own_left = false;    // whether the comparison has the variable above at its left
  bool other_last = false;  // whether the greatest copy below is the best one, else the least
  bool front = false;       // whether the comparison excludes small values
};

struct WedgeNarrowing {
  int variable = 0;
  std::vector<WedgeTest> tests{};
};

struct WedgeStep {
  int variable = 0;
  int center = 0;                       // the level that is matched before
  int other = 0;                        // the one that the edge leads to
  bool closes = false;                  // both are matched before
  std::vector<WedgeTest> tests{};       // by edges below that are matched before
  std::vector<WedgeNarrowing> above{};  // edges matched before that are narrowed by this one, upwards
};

struct WedgeSteps {
  // The plan has a copy walk by wedges. Throws std::invalid_argument where this search does not apply.
  explicit WedgeSteps(const NativePlan& native_plan);

  std::vector<WedgeStep> core;
  std::array<WedgeStep, 2> wedge;
  int start = 0;   // the levels that the wedge joins: the first one,
  int end = 0;     // another one of the core,
  int middle = 0;  // and the last one
  // The comparison between the wedge and the core, by the best copies of both.
  const copies::Comparison* between = nullptr;
  int wedge_variable = 0;
  int core_variable = 0;
  bool wedge_left = false;
  bool wedge_last = false;
  bool core_last = false;
  std::array<std::uint32_t, view::kMaxLevels>
      distinct{};                           // by level: levels whose vertex must be another one
  std::vector<const std::int64_t*> values;  // main values of copies, by variable
  std::vector<char> floats;                 // whether these are doubles

 private:
  void order_edges(const NativePlan& native_plan);
  void find_between(const copies::Network& network);
  void narrow(const copies::Network& network);

  std::vector<int> step_of_;  // by variable: core first, then the wedge
};

}  // namespace motiflux::search
