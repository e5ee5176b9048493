// What a search needs: a plan and the adjacency it runs over.
//
// A search deals in data vertices, or, over a candidate space, in positions: the values of level l are then
// positions in the candidate set of its query vertex, and so are the entries of rows that lead to it.
#pragma once

#include <cstdint>
#include <vector>

#include "motiflux/view/adjacency.hpp"
#include "motiflux/view/plan.hpp"
#include "search/tail.hpp"
#include "sets/intersect.hpp"

namespace motiflux::search {

struct Problem {
  view::Plan plan{};
  std::vector<view::Adjacency> slots;
  view::Adjacency out{};  // every arc, for degree bounds and for induced matching
  view::Adjacency in{};
  std::uint32_t vertices = 0;  // values of every level are below this
  std::uint32_t roots = 0;     // values of level 0 are below this
  // Over a candidate space: the data vertices of each level's set, and at [level * levels + earlier] where
  // the set of an earlier level lies in it (candidates::places), if `level` compares itself with that one.
  std::vector<const std::uint32_t*> members;
  std::vector<std::uint32_t> sizes;  // of the sets
  std::vector<const std::uint32_t*> places;
  Tail tail;  // counting only
  sets::Policy sets;

  // Rows of the first source of level 1: its arcs are the units of work.
  const view::Adjacency& root() const { return slots[plan.args.slots[plan.shape.steps[1].first_source]]; }
  std::uint64_t root_arcs() const { return root().offsets[roots]; }
};

}  // namespace motiflux::search
