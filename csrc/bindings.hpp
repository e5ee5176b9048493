#pragma once

#include <nanobind/nanobind.h>

namespace motiflux {

class OwnedComparisons;
namespace dynamic {
class Copies;
class Monitor;
}  // namespace dynamic
namespace search {
struct NativePlan;
}

// The plan in Python's NativePlan, valid as long as that object exists.
const search::NativePlan& native_plan_of(nanobind::handle native_plan);
// Those in Python's Comparisons, likewise.
const OwnedComparisons& comparisons_of(nanobind::handle comparisons);
// That of Python's Monitor, likewise.
dynamic::Monitor& native_monitor_of(nanobind::handle monitor);
// Those in Python's Copies, likewise.
dynamic::Copies& native_copies_of(nanobind::handle copies);

void bind_candidates(nanobind::module_& module);
void bind_census(nanobind::module_& module);
void bind_compared(nanobind::module_& module);
void bind_copies(nanobind::module_& module);
void bind_dynamic(nanobind::module_& module);
void bind_edge_copies(nanobind::module_& module);
void bind_feed(nanobind::module_& module);
void bind_feed_queue(nanobind::module_& module);
void bind_found(nanobind::module_& module);
void bind_generate(nanobind::module_& module);
void bind_graph(nanobind::module_& module);
void bind_local_counts(nanobind::module_& module);
void bind_names(nanobind::module_& module);
void bind_numbering(nanobind::module_& module);
void bind_part(nanobind::module_& module);
void bind_pcsr(nanobind::module_& module);
void bind_records(nanobind::module_& module);
void bind_related(nanobind::module_& module);
void bind_ring(nanobind::module_& module);
void bind_rows(nanobind::module_& module);
void bind_runs(nanobind::module_& module);
void bind_sample(nanobind::module_& module);
void bind_search(nanobind::module_& module);
void bind_streaming(nanobind::module_& module);
void bind_table(nanobind::module_& module);
void bind_text(nanobind::module_& module);
void bind_updates(nanobind::module_& module);

}  // namespace motiflux
