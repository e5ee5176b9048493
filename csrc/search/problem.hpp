// What a search needs: a plan and the adjacency it runs over.
#pragma once

#include <cstdint>
#include <vector>

#include "motiflux/view/adjacency.hpp"
#include "motiflux/view/plan.hpp"
#include "sets/intersect.hpp"

namespace motiflux::search {

struct Problem {
  view::Plan plan{};
  std::vector<view::Adjacency> slots;
  view::Adjacency out{};  // every arc, for degree bounds and for induced matching
  view::Adjacency in{};
  std::uint32_t vertices = 0;
  sets::Method method = sets::Method::kAuto;

  // Rows of the first source of level 1: its arcs are the units of work.
  const view::Adjacency& root() const { return slots[plan.args.slots[plan.shape.steps[1].first_source]]; }
  std::uint64_t root_arcs() const { return root().offsets[vertices]; }
};

}  // namespace motiflux::search
