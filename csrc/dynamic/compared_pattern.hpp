// A pattern that compares attributes, as the search from one copy (dynamic/compared_search.hpp) takes it.
//
// A compared query edge is a variable whose values are copies, a compared query vertex one with a single
// value (copies/network.hpp). Other query edges only need some copy.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "copies/network.hpp"
#include "dynamic/graph.hpp"

namespace motiflux::dynamic {

struct ComparedPattern {
  static constexpr int kNone = -1;

  struct QueryVertex {
    std::optional<std::vector<Label>> labels;  // ascending; null: all
    int list = kNone;                          // of the monitor: the vertices it may be
    std::uint32_t distinct = 0;                // query vertices whose image differs,
    std::uint32_t greater = 0;                 // is greater,
    std::uint32_t smaller = 0;                 // and is smaller
    std::vector<int> variables;
  };
  struct QueryEdge {
    int source = 0, target = 0;  // query vertices
    bool either = false;         // an arc the other way serves, too
    int variable = kNone;
    std::size_t index = 0;  // of the rows by value that its copies are looked for in
    bool by_value = false;  // whether these are in the order of the first column of the variable
    // The facets that it accepts, and the labels that these have; both grow.
    bool accepts_all = false;
    std::vector<std::uint8_t> facets;
    std::vector<Label> labels;
  };
  // A query edge that must not be there, from or to any vertex if it has no source or target (kNone).
  struct Negated {
    QueryEdge edge;
    std::optional<std::vector<Label>> labels;  // of that vertex, ascending; null: all
    int list = kNone;                          // of the monitor: the vertices that it may be
    std::uint32_t besides = 0;                 // query vertices whose images it is not
    bool is_pair() const { return edge.source != kNone && edge.target != kNone; }
  };
  struct Variable {
    int edge = kNone, vertex = kNone;  // one of them
    std::vector<std::size_t> columns;  // of ComparedCopies
  };

  std::size_t slot = 0;  // its number among the patterns of the monitor
  bool listed = false;
  std::vector<QueryVertex> vertices;
  std::vector<QueryEdge> edges;
  std::vector<Negated> negated;
  std::vector<Variable> variables;
  // Has the comparisons; its variables have as many columns as those above, without values.
  copies::Network network;
};

}  // namespace motiflux::dynamic
