// Several searches of a graph's rows in one pass: levels that their plans have in common are walked once.
//
//   levels 0..1        shared by all           Node
//   level 2            shared by some          `- Node
//   levels 3, ...      each its own            |  `- Walker, Walker
//                                              `- Walker
//
// A node walks shared levels. Its branches continue from each partial embedding that it finds. Degree bounds
// need not agree: a node takes the smallest, and branches check their own. Where the next level of two
// branches has the same set, the one that only counts it takes it from the one that enumerates it.
#pragma once

#include <memory>
#include <span>

#include "search/walker.hpp"

namespace motiflux::search {

// Levels that all of `problems` have in common and go beyond, degree bounds aside.
int shared_levels(std::span<const NativePlan* const> native_plans);

class Bundle {
 public:
  // `visitors` get the counts of `problems`, which are not over candidate spaces and share two levels.
  Bundle(std::span<const NativePlan* const> native_plans, std::span<Visitor* const> visitors);
  ~Bundle();

  // Searches the embeddings of `item`; false once all visitors have had enough.
  bool search(const WorkItem& item);
  std::uint64_t arcs_done() const;

  // Gives threads that wait at `pool` some of the shared levels.
  void share(Pool& pool);

 private:
  class Node;
  std::unique_ptr<Node> root_;
};

}  // namespace motiflux::search
