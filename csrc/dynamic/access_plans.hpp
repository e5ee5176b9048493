// Which rows a search on a device opens, by plan.
//
// A level's set is made from the rows of its sources. A search (motiflux/match/search.hpp) opens these
//
//   of a level that is walked   once for each vertex of the last level that the set depends on, its anchor,
//                               unless no search below that vertex comes to the level before
//   of levels that are counted  once for each vertex of the level before the first of them: part by part,
//                               until a part has too few candidates
//
// A set that is looked at by one lane and then by the whole group counts once, as does one that a group makes
// again after it took over a part of a search.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dynamic/candidate_table.hpp"
#include "dynamic/plan.hpp"
#include "dynamic/union_rows.hpp"

namespace motiflux::dynamic {

struct OpenedRow {
  std::uint16_t name;  // of rows
  std::uint16_t level;
  bool hidden;  // Source::before_change
  bool operator==(const OpenedRow&) const = default;
};

// How the set of a level is made.
struct AccessStep {
  std::vector<OpenedRow> opened;
  std::vector<OpenedRow> sets;  // also those behind Step::reuse
  std::vector<int> lists;       // of vertices that contain each candidate
  std::uint32_t after = 0, before = 0, distinct = 0;
  std::uint32_t column = kNoNumber;  // of the candidate table
};

struct AccessPlan {
  struct Part {
    std::size_t level;   // any of its levels
    std::size_t levels;  // how many vertices it needs
  };

  std::vector<AccessStep> steps;                    // by level
  std::vector<std::vector<std::size_t>> opened_at;  // by anchor: the levels that are walked, ascending
  std::size_t counted_from = 0;                     // the first level that is counted; 0: all are walked
  std::vector<Part> parts;
  std::size_t deepest = 0;  // the last level at whose vertices rows are opened; 0: none are, ever

  std::size_t levels() const { return steps.size(); }
};

// `names`: of all rows that the plan reads. Throws std::invalid_argument if one is missing.
AccessPlan access_plan(const Plan& plan, bool listed, std::span<const RowName> names);

// Numbers of the names of rows that candidates of walked levels are taken from.
std::vector<bool> walked_names(std::span<const AccessPlan> plans, std::size_t names);

}  // namespace motiflux::dynamic
