// Several searches over a graph's rows in one pass: levels that their plans share are enumerated once.
//
//   levels 0..1        shared by all           Node
//   level 2            shared by some          `- Node
//   levels 3, ...      one plan each            |  `- Walker, Walker
//                                              `- Walker
//
// A node enumerates shared levels. Its branches continue from each partial embedding that it finds. Degree
// bounds may differ: a node applies the smallest, and branches check their own. Where the next level of two
// branches has the same set, the branch that only counts it takes it from the branch that enumerates it.
#pragma once

#include <memory>
#include <span>

#include "search/walker.hpp"

namespace motiflux::search {

// The number of levels that all of `native_plans` share and go beyond, degree bounds aside.
int shared_levels(std::span<const NativePlan* const> native_plans);

class Bundle {
 public:
  // `visitors` receive the counts of `native_plans`, which search rows (no candidate space) and share two
  // levels.
  Bundle(std::span<const NativePlan* const> native_plans, std::span<Visitor* const> visitors);
  ~Bundle();

  // Searches the embeddings of `item`; false once all visitors have stopped.
  bool search(const WorkItem& item);
  std::uint64_t arcs_done() const;

  // Gives threads that wait at `pool` some of the shared levels.
  void share(Pool& pool);

 private:
  class Node;
  std::unique_ptr<Node> root_;
};

}  // namespace motiflux::search
