// The ids of vertices as Python has them.
#pragma once

#include <cstddef>
#include <mutex>

#include "dynamic/vertex_ids.hpp"

namespace motiflux {

struct PyVertexIds {
  PyVertexIds(std::size_t fewest, std::size_t most) : ids(fewest), most(most) {}

  dynamic::VertexIds ids;
  std::size_t most;  // vertices
  // Results of earlier calls may be read by other threads while ids are added.
  std::mutex mutex;
};

}  // namespace motiflux
