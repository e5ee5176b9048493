#include <nanobind/nanobind.h>

#include "bindings.hpp"

NB_MODULE(_native, module) {
  module.doc() =
      "Graph building and drawing, search, text parsing and rings for motiflux; knows arrays and memory "
      "only.";
  // A daemon thread that the interpreter ends keeps its objects: no user could change that.
  nanobind::set_leak_warnings(false);
  motiflux::bind_candidates(module);
  motiflux::bind_census(module);
  motiflux::bind_compared(module);
  motiflux::bind_copies(module);
  motiflux::bind_dynamic(module);
  motiflux::bind_edge_copies(module);
  motiflux::bind_feed(module);
  motiflux::bind_feed_queue(module);
  motiflux::bind_found(module);
  motiflux::bind_generate(module);
  motiflux::bind_graph(module);
  motiflux::bind_local_counts(module);
  motiflux::bind_names(module);
  motiflux::bind_numbering(module);
  motiflux::bind_part(module);
  motiflux::bind_pcsr(module);
  motiflux::bind_records(module);
  motiflux::bind_related(module);
  motiflux::bind_ring(module);
  motiflux::bind_rows(module);
  motiflux::bind_runs(module);
  motiflux::bind_sample(module);
  motiflux::bind_search(module);
  motiflux::bind_streaming(module);
  motiflux::bind_table(module);
  motiflux::bind_text(module);
  motiflux::bind_updates(module);
}
