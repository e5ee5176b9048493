// Estimates of the rows that a search for the matches of a run opens (dynamic/accesses.hpp).
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "bind_run.hpp"
#include "dynamic/accesses.hpp"

namespace motiflux {

// The rows, the most often opened first: arrays of the numbers of their names, vertices and estimates.
struct PyAccesses {
  nanobind::object names, vertices, times;
  dynamic::Accesses facts;  // without rows
};

// `names`: (target, way) of all rows that plans read.
PyAccesses estimate_accesses(const dynamic::Monitor& monitor, dynamic::AccessEstimator& estimator, PyRun& run,
                             const std::vector<std::pair<std::uint32_t, int>>& names,
                             const dynamic::AccessOptions& options);

void bind_accesses(nanobind::module_& module);

}  // namespace motiflux
