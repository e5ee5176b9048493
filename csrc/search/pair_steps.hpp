// The steps of a search from pair to pair (search/pair_walker.hpp): what each edge is judged by.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "copies/allowed.hpp"
#include "copies/ranges.hpp"
#include "motiflux/view/plan.hpp"
#include "search/native_plan.hpp"

namespace motiflux::search {

// One side of a comparison.
struct PairSide {
  enum class Of : std::uint8_t {
    kEdge,    // a column of the edge of the step
    kChoice,  // a value of the copies chosen before
    kVertex,  // an attribute of the vertex at a level
  };
  Of of = Of::kEdge;
  std::size_t at = 0;                    // column, place in a choice, or level
  const std::int64_t* values = nullptr;  // of a vertex
};

struct PairCheck {
  const copies::Comparison* comparison = nullptr;
  PairSide left;
  PairSide right;
};

// A check of a column of the edge of the step by a value that is known before.
struct PairTest {
  PairCheck check;
  copies::SoughtSide sought;
  PairSide known;
  int filter = -1;  // the filter of its column; -1: the main one
};

// What copies of a step have to satisfy in another column than the main one.
struct PairFilter {
  const std::int64_t* values = nullptr;
  copies::Interval interval{};
  bool floats = false;
};

// A value of a choice that later steps look at: of two choices that differ in nothing else, they accept all
// copies for one that they accept for the other.
struct PairPreference {
  std::size_t at = 0;
  bool floats = false;
  bool greater = false;  // whether greater values are better
};

struct PairStep {
  int variable = 0;
  int side = 0;         // the end that is matched before
  int center = 0;       // its level
  int other = 0;        // that of the other end
  bool closes = false;  // both ends are matched before
  const copies::CopyIndex* rows = nullptr;
  std::vector<const std::int64_t*> columns;  // values of copies, by place in rows or, if it closes, in pairs
  std::vector<char> floats;                  // by column
  std::size_t first = 0;                     // the place of the first column in a choice
  bool spanned = false;

  std::vector<PairTest> tests;       // own columns, by what is known before
  std::vector<PairFilter> filters;   // of these columns, with all values
  std::vector<PairCheck> joint;      // own columns and the new vertex, by each other and what is known
  std::vector<PairCheck> of_vertex;  // the new vertex, by vertices known before and itself
  std::vector<const std::uint8_t*> missing;  // of the attributes of the new vertex
  std::vector<PairPreference> preferences;   // of steps after this one
  bool keeps_all = false;                    // whether each choice is better than others in one of them
};

struct PairSteps {
  PairSteps(const NativePlan& native_plan, const CopyWalk& walk);

  std::vector<PairStep> steps;
  // The first vertex, which no step reaches.
  std::vector<PairCheck> of_first;
  std::vector<const std::uint8_t*> missing_first;
  std::size_t width = 0;   // values of a choice: columns of edges in order, then the least and greatest
  std::size_t lowest = 0;  // main value, if there is a span
  std::size_t highest = 0;
  bool two_leaves = false;  // the last two edges are counted without being matched
  // Levels whose vertex must be another one, a smaller one, a greater one, by level.
  std::array<std::uint32_t, view::kMaxLevels> distinct{};
  std::array<std::uint32_t, view::kMaxLevels> smaller{};
  std::array<std::uint32_t, view::kMaxLevels> greater{};

 private:
  void order_levels(const NativePlan& native_plan);
  void add_checks(const copies::Compared& compared, PairStep& step);
  static void add_test(PairStep& step, const PairCheck& check);
  void add_preferences(const copies::Compared& compared);
  bool are_apart(const copies::Compared& compared) const;

  std::vector<int>
      step_of_;  // by variable: of an edge, its step; of a vertex, the step that reaches it, or -1
  std::vector<char> placed_;  // by variable: matched by the steps so far
};

}  // namespace motiflux::search
