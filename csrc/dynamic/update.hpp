// One inserted or deleted edge.
#pragma once

#include "dynamic/graph.hpp"

namespace motiflux::dynamic {

struct Update {
  Edge edge;
  bool inserts = true;
};

}  // namespace motiflux::dynamic
