// The columns of the candidate table that plans need.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynamic/candidate_table.hpp"
#include "dynamic/plan.hpp"

namespace motiflux::dynamic {

// By what the vertices of levels are filtered.
enum class Filter : std::uint8_t {
  kMask = 0,   // whether they have any neighbours of the classes that later levels require (Rows::present)
  kTable = 1,  // the candidate table
  kNone = 2,
};

// A column for each query vertex of each pattern; query vertices that ask for the same share one. Writes
// Plan::columns.
std::vector<CandidateColumn> candidate_columns(std::span<Plan> plans, Relations& relations, bool directed);

}  // namespace motiflux::dynamic
