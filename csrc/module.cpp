#include <nanobind/nanobind.h>

#include "bindings.hpp"

NB_MODULE(_native, module) {
  module.doc() = "Graph building, search and text parsing for motiflux; knows arrays only.";
  motiflux::bind_graph(module);
  motiflux::bind_search(module);
  motiflux::bind_text(module);
}
