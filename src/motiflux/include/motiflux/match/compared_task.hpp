// The arguments of a search whose plan compares attributes (compared/network.hpp).
#pragma once

#include "motiflux/compared/network.hpp"
#include "motiflux/match/task.hpp"

namespace motiflux::match {

template <class Plan>
struct ComparedArgs {
  Plan plan;
  Task task;
  compared::Network network;
};

}  // namespace motiflux::match
