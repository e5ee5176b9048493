#pragma once

#include <nanobind/nanobind.h>

namespace motiflux {

namespace search {
struct Problem;
}

// What a Problem of Python holds, as long as that is there.
const search::Problem& problem_of(nanobind::handle problem);

void bind_candidates(nanobind::module_& module);
void bind_dynamic(nanobind::module_& module);
void bind_generate(nanobind::module_& module);
void bind_graph(nanobind::module_& module);
void bind_local(nanobind::module_& module);
void bind_names(nanobind::module_& module);
void bind_ring(nanobind::module_& module);
void bind_rows(nanobind::module_& module);
void bind_sample(nanobind::module_& module);
void bind_search(nanobind::module_& module);
void bind_table(nanobind::module_& module);
void bind_text(nanobind::module_& module);
void bind_updates(nanobind::module_& module);

}  // namespace motiflux
