// What levels of plans have in common: numbers by which different plans share what a search finds.
//
//   sets      of candidates: the same rows of the same levels, restricted and filtered in the same way
//   rows      filtered by the same classes, wherever a level reads them
//   sums      over the same row with the same leaves
//   rests     a level and all later ones that depend on earlier levels in the same way: the number of ways to
//             match them depends on the vertices of these levels, whatever pattern they are from
//
// Numbers are given out anew whenever plans or classes change, so that nothing is left of a pattern that is
// no longer watched.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "dynamic/graph.hpp"
#include "dynamic/plan.hpp"

namespace motiflux::dynamic {

class Naming {
 public:
  explicit Naming(const Graph& graph) : graph_(graph) {}

  // Whether vertices are filtered by the classes that they have neighbours of; from the next call of name()
  // on.
  void require_classes(bool require) { requires_classes_ = require; }

  // Writes Plan::needs, sets and remembered of all plans.
  void name(std::span<Plan> plans);
  // The number of different sets.
  const std::size_t& sets() const { return sets_; }

 private:
  using Name = std::vector<std::uint32_t>;
  using Numbers = std::map<Name, std::uint32_t>;

  static std::uint32_t number_of(Numbers& numbers, Name name);
  void find_needs(Plan& plan) const;
  void name_sets(Plan& plan);
  LevelSet name_set(const Plan& plan, int level);
  LevelSet whole_set(const Plan& plan, int level);
  static bool is_reused(const Plan& plan, int level);
  void name_loops(std::span<Plan> plans);
  LevelSet common_set(std::span<const Plan> plans, std::span<const std::size_t> members, int level);
  LevelSet filtered(const Step& step, const LevelSet& whole, const Needs& needs);
  Remembered name_rest(const Plan& plan, int level);
  void name_sum(const Plan& plan, int level, Remembered& found);
  Remembered::Closing name_closing(const Plan& plan, int level);
  bool is_long(const Plan& plan, int level, const Remembered& found) const;
  bool closes_soon(const Plan& plan, int level);
  bool is_in_row(const Plan& plan, std::uint32_t levels, int level, int later) const;
  const LabelSet& labels_of(const Plan& plan, int level) const;
  bool is_one_class(const Source& source) const;
  bool find_leaves(const Plan& plan, int level, Remembered& found) const;
  bool is_row(const Step& step) const;
  Name row_of(const Source& source) const;

  const Graph& graph_;
  bool requires_classes_ = true;
  Numbers set_numbers_, row_numbers_, sum_numbers_, mark_numbers_, closing_numbers_, rest_numbers_;
  std::size_t sets_ = 0;
  std::vector<std::uint32_t> rests_;  // the number of levels of each rest
};

}  // namespace motiflux::dynamic
