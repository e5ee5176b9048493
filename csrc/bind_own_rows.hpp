// Bindings of the rows of a monitor, for devices that read them where they are.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "common/arrays.hpp"
#include "dynamic/graph_reader.hpp"
#include "dynamic/monitor.hpp"

namespace motiflux {

// Whether the rows of a target are runs of rows of the graph.
bool has_own_rows(const dynamic::Monitor& monitor, std::uint32_t target, int way);

// (addresses, sizes) of the rows of some vertices, or of a range of them; and (entries, longest, squares) of
// all rows.
nanobind::object places_of_own_rows(const dynamic::Monitor& monitor, std::uint32_t target, int way,
                                    const InputArray<std::uint32_t>& vertices, int threads);
nanobind::object places_in_own_rows(const dynamic::Monitor& monitor, std::uint32_t target, int way,
                                    std::uint32_t first, std::uint32_t last);
nanobind::object sums_of_own_rows(const dynamic::Monitor& monitor, std::uint32_t target, int way,
                                  int threads);

// `GraphReader` of Python, which the monitor must outlive.
nanobind::object reader_of(dynamic::Monitor& monitor);

void bind_own_rows(nanobind::module_& module);

}  // namespace motiflux
