// One inserted or deleted edge.
#pragma once

#include <vector>

#include "common/large_pages.hpp"
#include "dynamic/graph.hpp"

namespace motiflux::dynamic {

struct Update {
  Edge edge;
  bool inserts = true;
};

// Not cleared by resize().
using Updates = std::vector<Update, UnclearedPages<Update>>;

}  // namespace motiflux::dynamic
